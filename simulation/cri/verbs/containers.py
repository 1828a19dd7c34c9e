"""The verbs about one container, from its creation to its removal, and the list of containers."""

from __future__ import annotations

from typing import NoReturn

import msgspec

from actors.kernel.promise import Promise
from runtime.cri import messages as cri
from runtime.cri.errors import StatusCode
from simulation.cri.behaviour import at
from simulation.cri.container_life import ask_to_stop, begin, kill, open_log, when_stopped
from simulation.cri.events import CREATED, DELETED
from simulation.cri.image_names import full_name
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord, CriRefusal
from simulation.cri.views import container_brief, is_ready, is_running
from simulation.cri.views import container_status as full_status

_SECOND_NS = 10**9


def create_container(runtime: Runtime, request: cri.CreateContainerRequest) -> cri.CreateContainerResponse:
    """Create a container. Refused without a ready sandbox, a present image and an unused name."""
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
    return cri.CreateContainerResponse(container_id=record.id)


def _log_path(directory: str, path: str) -> str:
    """Empty where it has no log."""
    return f"{directory.rstrip('/')}/{path}" if directory and path else ""


def start_container(
    runtime: Runtime, request: cri.StartContainerRequest
) -> cri.StartContainerResponse | Promise[cri.StartContainerResponse]:
    """Start the process of a container that was created and never started."""
    record = runtime.state.containers[request.container_id]
    if record.state != cri.ContainerState.CONTAINER_CREATED:
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is in state {record.state.name}")
    if record.starting:
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is being started already")
    if not is_ready(record.sandbox):
        raise CriRefusal(StatusCode.UNKNOWN, f"the sandbox {record.sandbox.id!r} of the container is not running")
    delay_ns = at(record.behaviour.start_delay, record.attempt)
    if not delay_ns:
        begin(runtime, record)
        return cri.StartContainerResponse()
    record.starting = True
    promise: Promise[cri.StartContainerResponse] = Promise()
    runtime.after(delay_ns, lambda: _begin_late(runtime, record, promise))
    return promise


def _begin_late(runtime: Runtime, record: ContainerRecord, promise: Promise[cri.StartContainerResponse]) -> None:
    record.starting = False
    if record.id not in runtime.state.containers or not is_ready(record.sandbox):
        error = CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} lost its sandbox while it was started")
        runtime.refuse(promise, error)
        return
    begin(runtime, record)
    runtime.answer(promise, cri.StartContainerResponse())


def stop_container(
    runtime: Runtime, request: cri.StopContainerRequest
) -> cri.StopContainerResponse | Promise[cri.StopContainerResponse]:
    """Send the stop signal, and kill when the time is up.

    A container that does not run is stopped already.
    """
    record = runtime.state.containers[request.container_id]
    if is_running(record):
        if request.timeout <= 0:
            kill(runtime, record)
        else:
            ask_to_stop(runtime, record)
    if not is_running(record):
        return cri.StopContainerResponse()
    promise = when_stopped(record)
    timer = runtime.after(request.timeout * _SECOND_NS, lambda: _time_is_up(runtime, record, promise))
    promise.add_done_callback(lambda _: timer.cancel())
    return promise


def _time_is_up(runtime: Runtime, record: ContainerRecord, promise: Promise[cri.StopContainerResponse]) -> None:
    """Kill the container, unless its caller gave up: then the next StopContainer kills it."""
    if not promise.done():
        kill(runtime, record)


def remove_container(runtime: Runtime, request: cri.RemoveContainerRequest) -> cri.RemoveContainerResponse:
    """Remove it, by force when it still runs. Removing again is no error."""
    try:
        record = runtime.state.containers[request.container_id]
    except CriRefusal:
        return cri.RemoveContainerResponse()
    if record.starting:
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is being started and cannot be removed")
    kill(runtime, record)
    forget(runtime, record)
    return cri.RemoveContainerResponse()


def forget(runtime: Runtime, record: ContainerRecord) -> None:
    """Drop a container that does not run, and tell its followers."""
    runtime.state.drop_container(record)
    runtime.events.publish(DELETED, record.id, record.sandbox)


def list_containers(runtime: Runtime, request: cri.ListContainersRequest) -> cri.ListContainersResponse:
    """The same answer as before when all, or all in one state, are asked for and nothing has changed."""

    def answer() -> cri.ListContainersResponse:
        return cri.ListContainersResponse(containers=select_containers(runtime, request))

    wanted = request.filter
    if wanted is not None and (wanted.id or wanted.pod_sandbox_id or wanted.label_selector):
        return answer()
    state = None if wanted is None else wanted.state
    return runtime.listed("ListContainers" if state is None else f"ListContainers {state.state}", answer)


def select_containers(
    runtime: Runtime, request: cri.ListContainersRequest | cri.StreamContainersRequest
) -> tuple[cri.Container, ...]:
    wanted = request.filter
    if wanted is None:
        return tuple([record.brief or container_brief(record) for record in runtime.state.containers.values()])
    found = runtime.state.select_containers(wanted.id, wanted.pod_sandbox_id, wanted.label_selector)
    if wanted.state is not None:
        state = wanted.state.state
        found = [record for record in found if record.state == state]
    return tuple([record.brief or container_brief(record) for record in found])


def container_status(runtime: Runtime, request: cri.ContainerStatusRequest) -> cri.ContainerStatusResponse:
    """One container in full, and on request what the runtime keeps about it."""
    record = runtime.state.containers[request.container_id]
    if request.verbose:
        return cri.ContainerStatusResponse(status=full_status(record), info={"info": _info(record)})
    return cri.ContainerStatusResponse(status=record.status or full_status(record))


def _info(record: ContainerRecord) -> str:
    info = {
        "sandboxID": record.sandbox.id,
        "pid": record.pid,
        "removing": False,
        "snapshotKey": record.id,
        "runtimeType": "simulated",
        "config": record.config,
    }
    return msgspec.json.encode(info).decode()


def update_container_resources(
    runtime: Runtime, request: cri.UpdateContainerResourcesRequest
) -> cri.UpdateContainerResourcesResponse:
    """Replace the numbers that are given; zero and empty are not given, and leave what is in force."""
    record = runtime.state.containers[request.container_id]
    if request.linux is not None:
        given = {field: value for field in request.linux.__struct_fields__ if (value := getattr(request.linux, field))}
        record.resources = msgspec.structs.replace(record.resources or cri.LinuxContainerResources(), **given)
        runtime.state.changed(record)
    return cri.UpdateContainerResourcesResponse()


def reopen_container_log(runtime: Runtime, request: cri.ReopenContainerLogRequest) -> cri.ReopenContainerLogResponse:
    """Write output to a fresh file at the log's path from now on."""
    record = runtime.state.containers[request.container_id]
    if not is_running(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is not running")
    open_log(runtime, record)
    return cri.ReopenContainerLogResponse()


def checkpoint_container(runtime: Runtime, request: cri.CheckpointContainerRequest) -> NoReturn:
    """Refuse, as containerd 1.6 does; there is no process whose memory could be written."""
    raise CriRefusal(StatusCode.UNIMPLEMENTED, "simulated containers have no memory to write down")
