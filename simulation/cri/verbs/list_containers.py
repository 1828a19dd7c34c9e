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
    """The same answer as before when everything is asked for and nothing has changed."""
    if request.filter is not None:
        return ListContainersResponse(containers=_select(runtime, request.filter))
    version, known = runtime.lists.get("ListContainers", (-1, None))
    if version != runtime.state.version:
        known = ListContainersResponse(containers=_select(runtime, None))
        runtime.lists["ListContainers"] = (runtime.state.version, known)
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
    return tuple([container_brief(record) for record in found])
