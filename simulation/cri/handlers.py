"""Which function serves which verb, and whom a call is about. Complete: checked against `ALL_VERBS` on import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.cri.verbs import ALL_VERBS, GET_CONTAINER_EVENTS
from simulation.cri.behaviour import (
    CONTAINER_CALLS,
    POD_CALLS,
    PREFIX,
    BehaviourError,
    ContainerBehaviour,
    parse_behaviour,
)
from simulation.cri.behaviour_values import CallKind
from simulation.cri.runtime import Runtime
from simulation.cri.state import RuntimeState
from simulation.cri.verbs.attach import prepare_attach
from simulation.cri.verbs.checkpoint_container import checkpoint_container
from simulation.cri.verbs.container_stats import container_stats
from simulation.cri.verbs.container_status import container_status
from simulation.cri.verbs.create_container import create_container
from simulation.cri.verbs.exec import prepare_exec
from simulation.cri.verbs.exec_sync import exec_sync
from simulation.cri.verbs.image_fs_info import image_fs_info
from simulation.cri.verbs.image_status import image_status
from simulation.cri.verbs.list_container_stats import list_container_stats, stream_container_stats
from simulation.cri.verbs.list_containers import list_containers, stream_containers
from simulation.cri.verbs.list_images import list_images, stream_images
from simulation.cri.verbs.list_metric_descriptors import list_metric_descriptors
from simulation.cri.verbs.list_pod_sandbox import list_pod_sandbox, stream_pod_sandboxes
from simulation.cri.verbs.list_pod_sandbox_metrics import list_pod_sandbox_metrics, stream_pod_sandbox_metrics
from simulation.cri.verbs.list_pod_sandbox_stats import list_pod_sandbox_stats, stream_pod_sandbox_stats
from simulation.cri.verbs.pod_sandbox_stats import pod_sandbox_stats
from simulation.cri.verbs.pod_sandbox_status import pod_sandbox_status
from simulation.cri.verbs.port_forward import prepare_port_forward
from simulation.cri.verbs.pull_image import pull_image
from simulation.cri.verbs.remove_container import remove_container
from simulation.cri.verbs.remove_image import remove_image
from simulation.cri.verbs.remove_pod_sandbox import remove_pod_sandbox
from simulation.cri.verbs.reopen_container_log import reopen_container_log
from simulation.cri.verbs.run_pod_sandbox import run_pod_sandbox
from simulation.cri.verbs.runtime_config import runtime_config
from simulation.cri.verbs.start_container import start_container
from simulation.cri.verbs.status import status
from simulation.cri.verbs.stop_container import stop_container
from simulation.cri.verbs.stop_pod_sandbox import stop_pod_sandbox
from simulation.cri.verbs.update_container_resources import update_container_resources
from simulation.cri.verbs.update_pod_sandbox_resources import update_pod_sandbox_resources
from simulation.cri.verbs.update_runtime_config import update_runtime_config
from simulation.cri.verbs.version import version

Handler = Callable[[Runtime, Any], Any]
StreamHandler = Callable[[Runtime, Any, Callable[[Any], None]], None]
Subject = tuple[str, str, ContainerBehaviour]
"""Pod UID, name of the container (empty for the pod as a whole), and its behaviour."""

HANDLERS: Mapping[str, Handler] = {
    "Version": version,
    "RunPodSandbox": run_pod_sandbox,
    "StopPodSandbox": stop_pod_sandbox,
    "RemovePodSandbox": remove_pod_sandbox,
    "PodSandboxStatus": pod_sandbox_status,
    "ListPodSandbox": list_pod_sandbox,
    "CreateContainer": create_container,
    "StartContainer": start_container,
    "StopContainer": stop_container,
    "RemoveContainer": remove_container,
    "ListContainers": list_containers,
    "ContainerStatus": container_status,
    "UpdateContainerResources": update_container_resources,
    "ReopenContainerLog": reopen_container_log,
    "ExecSync": exec_sync,
    "Exec": prepare_exec,
    "Attach": prepare_attach,
    "PortForward": prepare_port_forward,
    "ContainerStats": container_stats,
    "ListContainerStats": list_container_stats,
    "PodSandboxStats": pod_sandbox_stats,
    "ListPodSandboxStats": list_pod_sandbox_stats,
    "UpdateRuntimeConfig": update_runtime_config,
    "Status": status,
    "CheckpointContainer": checkpoint_container,
    "ListMetricDescriptors": list_metric_descriptors,
    "ListPodSandboxMetrics": list_pod_sandbox_metrics,
    "RuntimeConfig": runtime_config,
    "UpdatePodSandboxResources": update_pod_sandbox_resources,
    "ListImages": list_images,
    "ImageStatus": image_status,
    "PullImage": pull_image,
    "RemoveImage": remove_image,
    "ImageFsInfo": image_fs_info,
}

STREAM_HANDLERS: Mapping[str, StreamHandler] = {
    "StreamPodSandboxes": stream_pod_sandboxes,
    "StreamContainers": stream_containers,
    "StreamContainerStats": stream_container_stats,
    "StreamPodSandboxStats": stream_pod_sandbox_stats,
    "StreamPodSandboxMetrics": stream_pod_sandbox_metrics,
    "StreamImages": stream_images,
}

assert HANDLERS.keys() == {verb.name for verb in ALL_VERBS if not verb.streaming}
assert {*STREAM_HANDLERS, GET_CONTAINER_EVENTS.name} == {verb.name for verb in ALL_VERBS if verb.streaming}


_RULE_KEYS = tuple(PREFIX + kind.value for kind in CallKind)


def _of_container(state: RuntimeState, request: Any) -> Subject | None:
    record = state.containers.get(request.container_id)
    if record is None or not record.behaviour.disturbs_calls:
        return None
    assert record.config.metadata is not None
    return record.sandbox.pod_uid, record.config.metadata.name, record.behaviour


def _of_new_container(state: RuntimeState, request: Any) -> Subject | None:
    sandbox = state.sandboxes.get(request.pod_sandbox_id)
    metadata = request.config.metadata if request.config else None
    if sandbox is None or metadata is None:
        return None
    behaviour = sandbox.behaviour.of(metadata.name)
    return (sandbox.pod_uid, metadata.name, behaviour) if behaviour.disturbs_calls else None


def _of_sandbox(state: RuntimeState, request: Any) -> Subject | None:
    sandbox = state.sandboxes.get(request.pod_sandbox_id)
    if sandbox is None or not sandbox.behaviour.pod.disturbs_calls:
        return None
    return sandbox.pod_uid, "", sandbox.behaviour.pod


def _of_new_sandbox(state: RuntimeState, request: Any, config: Any = None) -> Subject | None:
    config = config or request.config
    if config is None or config.metadata is None:
        return None
    for key in config.annotations:
        if key.startswith(_RULE_KEYS):
            break
    else:
        return None
    try:
        behaviour = parse_behaviour(config.annotations).pod
    except BehaviourError:
        return None  # the verb itself says why
    return (config.metadata.uid, "", behaviour) if behaviour.disturbs_calls else None


def _of_pull(state: RuntimeState, request: Any) -> Subject | None:
    return _of_new_sandbox(state, request, request.sandbox_config) if request.sandbox_config else None


SUBJECTS: Mapping[str, Callable[[RuntimeState, Any], Subject | None]] = {
    "CreateContainer": _of_new_container,
    "StartContainer": _of_container,
    "StopContainer": _of_container,
    "RemoveContainer": _of_container,
    "ContainerStatus": _of_container,
    "UpdateContainerResources": _of_container,
    "ReopenContainerLog": _of_container,
    "ExecSync": _of_container,
    "Exec": _of_container,
    "Attach": _of_container,
    "ContainerStats": _of_container,
    "CheckpointContainer": _of_container,
    "RunPodSandbox": _of_new_sandbox,
    "StopPodSandbox": _of_sandbox,
    "RemovePodSandbox": _of_sandbox,
    "PodSandboxStatus": _of_sandbox,
    "PortForward": _of_sandbox,
    "PodSandboxStats": _of_sandbox,
    "UpdatePodSandboxResources": _of_sandbox,
    "PullImage": _of_pull,
}
"""How to find whom a call is about, for the verbs that pods can disturb. None: nobody disturbs it."""

assert SUBJECTS.keys() == CONTAINER_CALLS | POD_CALLS

NEWCOMERS = {"RunPodSandbox": _of_new_sandbox, "PullImage": _of_pull}
"""Those of them that may be about a pod of which the runtime does not know yet whether it disturbs them."""
