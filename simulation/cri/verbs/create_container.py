"""CreateContainer: a container in a ready sandbox, from an image that is here, under a name nobody has."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import CreateContainerRequest, CreateContainerResponse
from simulation.cri.events import CREATED
from simulation.cri.image_names import full_name
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord, CriRefusal
from simulation.cri.views import is_ready


def create_container(runtime: Runtime, request: CreateContainerRequest) -> CreateContainerResponse:
    state = runtime.state
    sandbox = state.sandboxes[request.pod_sandbox_id]
    if not is_ready(sandbox):
        raise CriRefusal(StatusCode.NOT_FOUND, f"the sandbox {sandbox.id!r} has no process")
    config = request.config
    if config is None or config.metadata is None or not config.metadata.name:
        raise CriRefusal(StatusCode.INVALID_ARGUMENT, "the container has no config with a name in its metadata")
    pod, metadata = sandbox.config.metadata, config.metadata
    assert pod is not None
    name = f"{metadata.name}_{pod.name}_{pod.namespace}_{pod.uid}_{metadata.attempt}"
    holder = state.names.get(name)
    if holder is not None:
        raise CriRefusal(StatusCode.UNKNOWN, f"the container name {name!r} is reserved for {holder!r}")
    wanted = config.image.image if config.image else ""
    image = state.images.get(wanted) or (state.image(full_name(wanted)) if wanted else None)
    if image is None:
        raise CriRefusal(StatusCode.NOT_FOUND, f"the image {wanted!r} is not here")
    record = ContainerRecord(
        id=runtime.new_id(),
        name=name,
        sandbox=sandbox,
        config=config,
        behaviour=sandbox.behaviour.of(metadata.name),
        image=image,
        attempt=metadata.attempt,
        created_at=runtime.wall_ns(),
        resources=config.linux.resources if config.linux else None,
        log_path=_log_path(sandbox.config.log_directory, config.log_path),
    )
    state.add_container(record)
    runtime.events.publish(CREATED, record.id, sandbox)
    return CreateContainerResponse(container_id=record.id)


def _log_path(directory: str, path: str) -> str:
    """Empty where it has no log."""
    return f"{directory.rstrip('/')}/{path}" if directory and path else ""
