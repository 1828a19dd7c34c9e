"""The ports that a service has on every node: which it keeps, which it gives up, and which are new.

The rules are upstream's (`pkg/registry/core/service`). A service has them if its type says so, and a load balancer that
keeps traffic local has one more, for its health checks. Pure but for `draw`, which names a free port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulation.apiserver.status import Json, invalid_value

FIRST, LAST = 30000, 32767
CHECK = "healthCheckNodePort"
_TAKEN = "provided port is already allocated"
_OUTSIDE = f"provided port is not in the valid range. The range of valid ports is {FIRST}-{LAST}"


def has_ports(spec: Json) -> bool:
    """Whether the ports of the service get ports of the nodes."""
    kind = spec.get("type")
    return kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False)


def has_check(spec: Json) -> bool:
    """Whether the service gets a port for health checks."""
    return bool(spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local")


def numbers_of(spec: Json) -> set[int]:
    """All ports of nodes that the service has."""
    return {number for number in (*_numbers(spec), spec.get(CHECK)) if number}


def kept(was: Json, spec: Json) -> Json:
    """The spec with the ports that it had before and does not name.

    Those that it no longer needs go.
    """
    if has_ports(was) and has_ports(spec):
        spec = _with_known(was, spec)
    elif has_ports(was) and _numbers(was) == _numbers(spec):
        bare = [{name: part for name, part in port.items() if name != "nodePort"} for port in spec.get("ports") or ()]
        spec = {**spec, "ports": bare} if bare else spec
    if has_check(was) and has_check(spec):
        return spec if spec.get(CHECK) or CHECK not in was else {**spec, CHECK: was[CHECK]}
    if has_check(was) and spec.get(CHECK) == was.get(CHECK):
        return {name: part for name, part in spec.items() if name != CHECK}
    return spec


def _with_known(was: Json, spec: Json) -> Json:
    """Ports are known by their names."""
    used = set(_numbers(was)) & set(_numbers(spec)) - {0}
    known = {port.get("name", ""): port.get("nodePort") or 0 for port in was.get("ports") or ()}
    ports = []
    for port in spec.get("ports") or ():
        number = known.get(port.get("name", ""), 0)
        ports.append(
            {**port, "nodePort": number} if number and number not in used and not port.get("nodePort") else port
        )
    return {**spec, "ports": ports} if ports else spec


def with_new(was: Json | None, spec: Json, draw: Callable[[], int]) -> Json:
    """The spec with a drawn port wherever it needs one and has none."""
    if has_ports(spec) and spec.get("ports"):
        by_port: dict[int, int] = {}
        if was is None:  # Ports of a new service that differ in their protocols share a number.
            by_port = {port["port"]: port["nodePort"] for port in reversed(spec["ports"]) if port.get("nodePort")}
        ports = []
        for port in spec["ports"]:
            number = port.get("nodePort") or by_port.get(port["port"]) or draw()
            if was is None:
                by_port.setdefault(port["port"], number)
            ports.append(port if port.get("nodePort") else {**port, "nodePort": number})
        spec = {**spec, "ports": ports}
    if has_check(spec) and not spec.get(CHECK) and (was is None or not has_check(was)):
        spec = {**spec, CHECK: draw()}
    return spec


def faults(was: Json | None, spec: Json, taken: set[int]) -> Iterator[tuple[str, str, str]]:
    """The causes for ports that the service names and cannot have. `taken`: those of other services."""
    claimed = set() if was is None else set(_numbers(was))
    by_port: dict[int, int] = {}
    for at, (port, number) in enumerate(zip(spec.get("ports") or (), _numbers(spec), strict=True)):
        is_shared = number in claimed if was is not None else by_port.get(port["port"]) == number
        if not number or is_shared:
            continue
        why = _TAKEN if number in taken | claimed else "" if FIRST <= number <= LAST else _OUTSIDE
        if why:
            yield invalid_value(f"spec.ports[{at}].nodePort", number, why)
        claimed.add(number)
        by_port.setdefault(port["port"], number)


def _numbers(spec: Json) -> list[int]:
    return [port.get("nodePort") or 0 for port in spec.get("ports") or ()]
