"""The verbs about one sandbox, from RunPodSandbox to its removal, and their list.

RunPodSandbox reads the pod's behaviour.
"""

from __future__ import annotations

import msgspec

from runtime.cri import messages as cri
from runtime.cri.errors import StatusCode
from simulation.cri.behaviour import BehaviourError, PodBehaviour, parse_behaviour
from simulation.cri.container_life import kill
from simulation.cri.events import CREATED, DELETED, STARTED, STOPPED
from simulation.cri.runtime import Runtime
from simulation.cri.state import POD_UID_LABEL, CriRefusal, SandboxRecord
from simulation.cri.verbs.containers import forget
from simulation.cri.views import container_status, is_ready, sandbox_brief, sandbox_status


def run_pod_sandbox(runtime: Runtime, request: cri.RunPodSandboxRequest) -> cri.RunPodSandboxResponse:
    config = request.config
    if config is None or config.metadata is None:
        raise CriRefusal(StatusCode.UNKNOWN, "the sandbox has no config with metadata")
    metadata = config.metadata
    name = f"{metadata.name}_{metadata.namespace}_{metadata.uid}_{metadata.attempt}"
    holder = runtime.state.names.get(name)
    if holder is not None:
        raise CriRefusal(StatusCode.UNKNOWN, f"the sandbox name {name!r} is reserved for {holder!r}")
    if request.runtime_handler and request.runtime_handler not in runtime.settings.runtime_handlers:
        raise CriRefusal(StatusCode.UNKNOWN, f"no runtime for {request.runtime_handler!r} is configured")
    behaviour = read_behaviour(config)
    host_network = _on_host_network(config)
    address = ""
    if not host_network:
        if not runtime.network_ready:
            raise CriRefusal(StatusCode.UNKNOWN, "the pod network is not ready")
        address = runtime.take_address()
        if not address:
            raise CriRefusal(StatusCode.UNKNOWN, f"no address is left in {runtime.pod_cidr}")
    record = SandboxRecord(
        id=runtime.new_id(),
        name=name,
        config=config,
        behaviour=behaviour,
        runtime_handler=request.runtime_handler,
        created_at=runtime.wall_ns(),
        ip=address,
        network=runtime.pod_cidr,
        pod_uid=config.labels.get(POD_UID_LABEL) or metadata.uid,
        host_network=host_network,
        pid=runtime.new_pid(),
        state=cri.PodSandboxState.SANDBOX_READY,
    )
    runtime.state.add_sandbox(record)
    lost_after = behaviour.pod.sandbox_lost_after
    if lost_after is not None:
        record.lost_timer = runtime.after(lost_after, lambda: lose_sandbox(runtime, record))
    runtime.events.publish(CREATED, record.id, record)
    runtime.events.publish(STARTED, record.id, record)
    return cri.RunPodSandboxResponse(pod_sandbox_id=record.id)


def read_behaviour(config: cri.PodSandboxConfig) -> PodBehaviour:
    """The behaviour in the annotations of a pod. Refuses with INVALID_ARGUMENT and every reason."""
    try:
        return parse_behaviour(config.annotations)
    except BehaviourError as error:
        raise CriRefusal(StatusCode.INVALID_ARGUMENT, f"the pod cannot be simulated: {error}") from None


def _on_host_network(config: cri.PodSandboxConfig) -> bool:
    context = config.linux.security_context if config.linux else None
    options = context.namespace_options if context else None
    return options is not None and options.network == cri.NamespaceMode.NODE


def stop_pod_sandbox(runtime: Runtime, request: cri.StopPodSandboxRequest) -> cri.StopPodSandboxResponse:
    """Kill every process of the pod and take its network down. Stopping again is no error."""
    _stop(runtime, runtime.state.sandboxes[request.pod_sandbox_id])
    return cri.StopPodSandboxResponse()


def _stop(runtime: Runtime, record: SandboxRecord) -> None:
    for container in record.containers.values():
        kill(runtime, container)
    runtime.free_address(record)
    lose_sandbox(runtime, record)


def lose_sandbox(runtime: Runtime, record: SandboxRecord) -> None:
    """The sandbox's own process is gone; containers may go on, as they do in containerd."""
    if record.lost_timer is not None:
        record.lost_timer.cancel()
        record.lost_timer = None
    if is_ready(record):
        record.state = cri.PodSandboxState.SANDBOX_NOTREADY
        runtime.state.changed(record)
        runtime.events.publish(STOPPED, record.id, record)


def remove_pod_sandbox(runtime: Runtime, request: cri.RemovePodSandboxRequest) -> cri.RemovePodSandboxResponse:
    """Remove the sandbox with all its containers, by force where they run. Removing again is no error."""
    try:
        record = runtime.state.sandboxes[request.pod_sandbox_id]
    except CriRefusal:
        return cri.RemovePodSandboxResponse()
    _stop(runtime, record)
    for container in tuple(record.containers.values()):
        forget(runtime, container)
    runtime.state.drop_sandbox(record)
    runtime.events.publish(DELETED, record.id, record)
    return cri.RemovePodSandboxResponse()


def list_pod_sandbox(runtime: Runtime, request: cri.ListPodSandboxRequest) -> cri.ListPodSandboxResponse:
    """The same answer as before when everything is asked for and nothing has changed."""

    def answer() -> cri.ListPodSandboxResponse:
        return cri.ListPodSandboxResponse(items=select_sandboxes(runtime, request))

    return answer() if request.filter is not None else runtime.listed("ListPodSandbox", answer)


def select_sandboxes(
    runtime: Runtime, request: cri.ListPodSandboxRequest | cri.StreamPodSandboxesRequest
) -> tuple[cri.PodSandbox, ...]:
    wanted = request.filter
    if wanted is None:
        return tuple([record.brief or sandbox_brief(record) for record in runtime.state.sandboxes.values()])
    found = runtime.state.select_sandboxes(wanted.id, wanted.label_selector)
    if wanted.state is not None:
        state = wanted.state.state
        found = [record for record in found if record.state == state]
    return tuple([record.brief or sandbox_brief(record) for record in found])


def pod_sandbox_status(runtime: Runtime, request: cri.PodSandboxStatusRequest) -> cri.PodSandboxStatusResponse:
    """One sandbox in full, with its containers."""
    record = runtime.state.sandboxes[request.pod_sandbox_id]
    return cri.PodSandboxStatusResponse(
        status=sandbox_status(record),
        info={"info": _info(record)} if request.verbose else {},
        containers_statuses=tuple([container_status(container) for container in record.containers.values()]),
        timestamp=runtime.wall_ns(),
    )


def _info(record: SandboxRecord) -> str:
    info = {
        "pid": record.pid,
        "processStatus": "running" if record.network_up else "deleted",
        "netNamespaceClosed": not record.network_up,
        "runtimeHandler": record.runtime_handler,
        "runtimeType": "simulated",
        "config": record.config,
    }
    return msgspec.json.encode(info).decode()


def update_pod_sandbox_resources(
    runtime: Runtime, request: cri.UpdatePodSandboxResourcesRequest
) -> cri.UpdatePodSandboxResourcesResponse:
    """Only take note: the containers' own resources are what counts here. An unknown sandbox is refused."""
    record = runtime.state.sandboxes[request.pod_sandbox_id]
    linux = msgspec.structs.replace(
        record.config.linux or cri.LinuxPodSandboxConfig(), overhead=request.overhead, resources=request.resources
    )
    record.config = msgspec.structs.replace(record.config, linux=linux)
    return cri.UpdatePodSandboxResourcesResponse()
