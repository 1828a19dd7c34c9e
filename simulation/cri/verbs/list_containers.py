"""ListContainers and StreamContainers: containers in brief, by id, sandbox, state and labels."""

from __future__ import annotations

from collections.abc import Callable

from runtime.cri.messages import (
    Container,
    ContainerFilter,
    ListContainersRequest,
    ListContainersResponse,
    StreamContainersRequest,
    StreamContainersResponse,
)
from simulation.cri.runtime import Runtime
from simulation.cri.verbs.parts import parts_of
from simulation.cri.views import container_brief


def list_containers(runtime: Runtime, request: ListContainersRequest) -> ListContainersResponse:
    """The same answer as before when all, or all in one state, are asked for and nothing has changed."""
    wanted = request.filter
    if wanted is not None and (wanted.id or wanted.pod_sandbox_id or wanted.label_selector):
        return ListContainersResponse(containers=_select(runtime, wanted))
    state = None if wanted is None else wanted.state
    key = "ListContainers" if state is None else f"ListContainers {state.state}"
    version, known = runtime.lists.get(key, (-1, None))
    if version != runtime.state.version:
        known = ListContainersResponse(containers=_select(runtime, wanted))
        runtime.lists[key] = (runtime.state.version, known)
    answer: ListContainersResponse = known
    return answer


def stream_containers(
    runtime: Runtime, request: StreamContainersRequest, on_item: Callable[[StreamContainersResponse], None]
) -> None:
    for part in parts_of(_select(runtime, request.filter)):
        runtime.later(on_item, StreamContainersResponse(containers=part))


def _select(runtime: Runtime, wanted: ContainerFilter | None) -> tuple[Container, ...]:
    if wanted is None:
        return tuple([record.brief or container_brief(record) for record in runtime.state.containers.values()])
    found = runtime.state.select_containers(wanted.id, wanted.pod_sandbox_id, wanted.label_selector)
    if wanted.state is not None:
        state = wanted.state.state
        found = [record for record in found if record.state == state]
    return tuple([record.brief or container_brief(record) for record in found])
