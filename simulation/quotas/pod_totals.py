"""The requests or limits of all containers of a pod together, as LimitRanges and quotas count them.

Init containers run before the others, together with the sidecars before them; the larger sum counts. What a pod itself
says of cpu, memory and huge pages replaces the sum. `config.pods.requests` is the same for an agent, in bare numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from simulation.quotas.resource_lists import Amounts, added, greater, read

Json: TypeAlias = Mapping[str, Any]
HUGE_PAGES = "hugepages-"
_OF_PODS = ("cpu", "memory")


def pod_total(spec: Json, which: str) -> Amounts:
    """The sum of `which` ("requests" or "limits"), without overhead."""
    return _total(spec, which, lambda container: container_amounts(container, which))


def total_in_use(pod: Json, which: str) -> Amounts:
    """The sum of a pod that may be in the middle of a resize, with its overhead.

    Until its agent has changed a container, the larger amount counts; an infeasible resize does not count.
    """
    spec, status = pod["spec"], pod.get("status") or {}
    conditions = status.get("conditions") or ()
    infeasible = any(one.get("type") == "PodResizePending" and one.get("reason") == "Infeasible" for one in conditions)
    states = {
        one["name"]: one
        for field in ("containerStatuses", "initContainerStatuses")
        for one in status.get(field) or ()
        if one.get("resources") is not None
    }

    def amounts_of(container: Json) -> Amounts:
        amounts, state = container_amounts(container, which), states.get(container["name"])
        if state is None:
            return amounts
        actual = container_amounts(state, which)
        if which == "requests":
            actual = greater(actual, read(state.get("allocatedResources")))
        return actual if infeasible else greater(amounts, actual)

    total, overhead = _total(spec, which, amounts_of), read(spec.get("overhead"))
    if which == "limits":
        overhead = {name: amount for name, amount in overhead.items() if name in total}
    return added(total, overhead)


def has_own_resources(spec: Json) -> bool:
    """Whether the pod as a whole asks for resources."""
    own = spec.get("resources") or {}
    return any(_is_of_pods(name) for which in ("requests", "limits") for name in own.get(which) or ())


def container_amounts(container: Json, which: str) -> Amounts:
    """What a container, or its status, says in its `requests` or `limits`."""
    return read((container.get("resources") or {}).get(which))


def _total(spec: Json, which: str, amounts_of: Callable[[Json], Amounts]) -> Amounts:
    total: Amounts = {}
    for container in spec.get("containers") or ():
        total = added(total, amounts_of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        amounts = amounts_of(container)
        if container.get("restartPolicy") == "Always":
            total = added(total, amounts)
            sidecars = added(sidecars, amounts)
            peak = greater(peak, sidecars)
        else:
            peak = greater(peak, added(amounts, sidecars))
    own = read((spec.get("resources") or {}).get(which))
    return {**greater(total, peak), **{name: amount for name, amount in own.items() if _is_of_pods(name)}}


def _is_of_pods(name: str) -> bool:
    """Whether a pod as a whole may ask for that resource."""
    return name in _OF_PODS or name.startswith(HUGE_PAGES)
