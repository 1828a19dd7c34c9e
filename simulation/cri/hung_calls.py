"""Calls to a simulated runtime that never return: of one verb, about one pod, or about whatever comes.

A call hangs as that of a sick runtime does: nothing is done, nobody answers, and its caller gives up at the deadline.
Event streams are no calls; they fall silent by the faults of the world (`EventFaultPlan`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec

from actors.kernel.promise import Promise
from simulation.cri.simulated_cri import DoVerb, SimulatedCri
from simulation.cri.state import POD_UID_LABEL, RuntimeState


class _Hang(msgspec.Struct, eq=False):
    """`pod` or `image`: what a call must be about; both empty: any call. `left`: how many more, None: all."""

    verb: str
    pod: str
    image: str
    left: int | None


class HungCalls:
    """See the module.

    Put before a runtime, for as long as it runs. `told`: called with each verb that hangs.
    """

    def __init__(self, cri: SimulatedCri, told: Callable[[str], object] = lambda verb: None) -> None:
        self._state = cri.state
        self._hangs: list[_Hang] = []
        self._told = told
        self.hung: Counter[str] = Counter()
        """By verb: how many calls have hung."""
        cri.intercept(self._meet)

    def hang(self, verb: str, *, pod: str = "", image: str = "", times: int | None = None) -> None:
        """Let calls of this verb hang: those about the pod of that name or about that image.

        Without either, the next `times`, whatever they are about. None: all of them.
        """
        self._hangs.append(_Hang(verb, pod, image, times))

    def heal(self) -> None:
        """No more calls hang. Those that do are given up by their callers."""
        self._hangs.clear()

    def _meet(self, verb: str, request: Any, do: DoVerb) -> Any:
        for hang in self._hangs:
            if hang.verb == verb and hang.left != 0 and self._is_meant(hang, request):
                hang.left = None if hang.left is None else hang.left - 1
                self.hung[verb] += 1
                self._told(verb)
                return Promise()
        return do(verb, request)

    def _is_meant(self, hang: _Hang, request: Any) -> bool:
        if not hang.pod and not hang.image:
            return True
        image = getattr(request, "image", None)
        if hang.image and image is not None and image.image == hang.image:
            return True
        return bool(hang.pod) and pod_of(self._state, request) == hang.pod


def pod_of(state: RuntimeState, request: Any) -> str:
    """The name of the pod that a call is about; empty: about none, or more than one."""
    container = state.containers.get(getattr(request, "container_id", ""))
    if container is not None:
        return _name(container.sandbox.config)
    chosen = getattr(request, "filter", None)
    sandbox_id = getattr(request, "pod_sandbox_id", "") or getattr(chosen, "pod_sandbox_id", "")
    if sandbox_id in state.sandboxes:
        return _name(state.sandboxes[sandbox_id].config)
    for field in ("sandbox_config", "config"):
        config = getattr(request, field, None)
        if config is not None and hasattr(config, "hostname"):  # the config of a container has none
            return _name(config)
    uid = (getattr(chosen, "label_selector", None) or {}).get(POD_UID_LABEL, "")
    return next((_name(each.config) for each in state.sandboxes.values() if uid and each.pod_uid == uid), "")


def _name(config: Any) -> str:
    return "" if config.metadata is None else str(config.metadata.name)
