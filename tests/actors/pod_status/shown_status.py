"""Computing and reading the status of a pod in tests."""

from __future__ import annotations

from typing import Any

from actors.model.observed import ObservedPod
from actors.pod_status.api_status import StatusNodeView, compute_pod_status
from actors.pod_status.container_statuses import ContainerWaiting
from config.objects import ContainerStatus, Pod, PodStatus, ResourceRequirements
from tests.actors.pod_pictures import EXITED, NOW_NS, picture, pod, seen

NODE = StatusNodeView(("192.0.2.1",), "containerd")
FULL = ResourceRequirements(limits={"cpu": "1", "memory": "64Mi"}, requests={"cpu": "100m", "memory": "32Mi"})
LOOP = {"a": ContainerWaiting("CrashLoopBackOff", "back-off 10s")}


def show(the_pod: Pod, observed: ObservedPod | None, previous: PodStatus | None = None, **more: Any) -> PodStatus:
    more.setdefault("wall_ns", NOW_NS)
    more.setdefault("node", NODE)
    return compute_pod_status(the_pod, observed, previous=previous, **more)


def only(status: PodStatus) -> ContainerStatus:
    [container_status] = status.container_statuses
    return container_status


def state_of(status: ContainerStatus) -> str:
    """`running`, `waiting Reason` or `terminated 1`."""
    state = status.state
    assert state is not None
    if state.running is not None:
        return "running"
    if state.terminated is not None:
        return f"terminated {state.terminated.exit_code}"
    assert state.waiting is not None
    return f"waiting {state.waiting.reason or ''}".strip()


def last_of(status: ContainerStatus) -> int | None:
    last = status.last_state
    return last.terminated.exit_code if last is not None and last.terminated is not None else None


RAN = show(pod("a"), picture(seen("a", attempt=2)))
SHOWN_ENDED = show(pod("a"), picture(seen("a", EXITED, attempt=2, exit_code=3)))


def conditions(status: PodStatus) -> dict[str, tuple[str, str | None]]:
    return {each.type: (each.status, each.reason) for each in status.conditions}
