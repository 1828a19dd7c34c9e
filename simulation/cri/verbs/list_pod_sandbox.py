"""ListPodSandbox and StreamPodSandboxes: sandboxes in brief, by id, state and labels."""

from __future__ import annotations

from collections.abc import Callable

from runtime.cri.messages import (
    ListPodSandboxRequest,
    ListPodSandboxResponse,
    PodSandbox,
    PodSandboxFilter,
    StreamPodSandboxesRequest,
    StreamPodSandboxesResponse,
)
from simulation.cri.runtime import Runtime
from simulation.cri.verbs.parts import parts_of
from simulation.cri.views import sandbox_brief


def list_pod_sandbox(runtime: Runtime, request: ListPodSandboxRequest) -> ListPodSandboxResponse:
    """The same answer as before when everything is asked for and nothing has changed."""
    if request.filter is not None:
        return ListPodSandboxResponse(items=_select(runtime, request.filter))
    version, known = runtime.lists.get("ListPodSandbox", (-1, None))
    if version != runtime.state.version:
        known = ListPodSandboxResponse(items=_select(runtime, None))
        runtime.lists["ListPodSandbox"] = (runtime.state.version, known)
    answer: ListPodSandboxResponse = known
    return answer


def stream_pod_sandboxes(
    runtime: Runtime, request: StreamPodSandboxesRequest, on_item: Callable[[StreamPodSandboxesResponse], None]
) -> None:
    for part in parts_of(_select(runtime, request.filter)):
        runtime.later(on_item, StreamPodSandboxesResponse(pod_sandboxes=part))


def _select(runtime: Runtime, wanted: PodSandboxFilter | None) -> tuple[PodSandbox, ...]:
    if wanted is None:
        return tuple([record.brief or sandbox_brief(record) for record in runtime.state.sandboxes.values()])
    found = runtime.state.select_sandboxes(wanted.id, wanted.label_selector)
    if wanted.state is not None:
        state = wanted.state.state
        found = [record for record in found if record.state == state]
    return tuple([record.brief or sandbox_brief(record) for record in found])
