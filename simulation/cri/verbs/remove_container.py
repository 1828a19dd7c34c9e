"""RemoveContainer: gone, by force when it still runs. Removing again is no error."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import RemoveContainerRequest, RemoveContainerResponse
from simulation.cri.container_life import kill
from simulation.cri.events import DELETED
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord, CriRefusal

_DONE = RemoveContainerResponse()


def remove_container(runtime: Runtime, request: RemoveContainerRequest) -> RemoveContainerResponse:
    try:
        record = runtime.state.containers[request.container_id]
    except CriRefusal:
        return _DONE
    if record.starting:
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is being started and cannot be removed")
    kill(runtime, record)
    forget(runtime, record)
    return _DONE


def forget(runtime: Runtime, record: ContainerRecord) -> None:
    """A container that does not run is no more."""
    runtime.state.drop_container(record)
    runtime.events.publish(DELETED, record.id, record.sandbox)
