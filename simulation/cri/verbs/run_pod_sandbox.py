"""RunPodSandbox: the place where a pod lives, with its address. Here the pod's behaviour is read."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import (
    NamespaceMode,
    PodSandboxConfig,
    PodSandboxState,
    RunPodSandboxRequest,
    RunPodSandboxResponse,
)
from simulation.cri.behaviour import BehaviourError, PodBehaviour, parse_behaviour
from simulation.cri.events import CREATED, STARTED
from simulation.cri.runtime import Runtime
from simulation.cri.state import POD_UID_LABEL, CriRefusal, SandboxRecord
from simulation.cri.verbs.stop_pod_sandbox import lose_sandbox


def run_pod_sandbox(runtime: Runtime, request: RunPodSandboxRequest) -> RunPodSandboxResponse:
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
        state=PodSandboxState.SANDBOX_READY,
    )
    runtime.state.add_sandbox(record)
    lost_after = behaviour.pod.sandbox_lost_after
    if lost_after is not None:
        record.lost_timer = runtime.after(lost_after, lambda: lose_sandbox(runtime, record))
    runtime.events.publish(CREATED, record.id, record)
    runtime.events.publish(STARTED, record.id, record)
    return RunPodSandboxResponse(pod_sandbox_id=record.id)


def read_behaviour(config: PodSandboxConfig) -> PodBehaviour:
    """The behaviour in the annotations of a pod. Refuses with INVALID_ARGUMENT and every reason."""
    try:
        return parse_behaviour(config.annotations)
    except BehaviourError as error:
        raise CriRefusal(StatusCode.INVALID_ARGUMENT, f"the pod cannot be simulated: {error}") from None


def _on_host_network(config: PodSandboxConfig) -> bool:
    context = config.linux.security_context if config.linux else None
    options = context.namespace_options if context else None
    return options is not None and options.network == NamespaceMode.NODE
