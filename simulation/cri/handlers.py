"""The handler of each verb, and the pod or container that a call is about.

Complete: checked against `ALL_VERBS` on import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.cri import messages as cri
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
from simulation.cri.verbs import commands, configuration, containers, images, sandboxes, stats

Handler = Callable[[Runtime, Any], Any]
Subject = tuple[str, str, ContainerBehaviour]
"""Pod UID, name of the container (empty for the pod as a whole), and its behaviour."""


def _list_of(response: type[Any], select: Handler) -> Handler:
    """Answers with all that `select` finds."""
    (field,) = response.__struct_fields__
    return lambda runtime, request: response(**{field: select(runtime, request)})


HANDLERS: Mapping[str, Handler] = {
    "Version": configuration.version,
    "RunPodSandbox": sandboxes.run_pod_sandbox,
    "StopPodSandbox": sandboxes.stop_pod_sandbox,
    "RemovePodSandbox": sandboxes.remove_pod_sandbox,
    "PodSandboxStatus": sandboxes.pod_sandbox_status,
    "ListPodSandbox": sandboxes.list_pod_sandbox,
    "CreateContainer": containers.create_container,
    "StartContainer": containers.start_container,
    "StopContainer": containers.stop_container,
    "RemoveContainer": containers.remove_container,
    "ListContainers": containers.list_containers,
    "ContainerStatus": containers.container_status,
    "UpdateContainerResources": containers.update_container_resources,
    "ReopenContainerLog": containers.reopen_container_log,
    "ExecSync": commands.exec_sync,
    "Exec": commands.prepare_exec,
    "Attach": commands.attach,
    "PortForward": commands.port_forward,
    "ContainerStats": stats.container_stats,
    "ListContainerStats": _list_of(cri.ListContainerStatsResponse, stats.select_container_stats),
    "PodSandboxStats": stats.pod_sandbox_stats,
    "ListPodSandboxStats": _list_of(cri.ListPodSandboxStatsResponse, stats.select_pod_sandbox_stats),
    "UpdateRuntimeConfig": configuration.update_runtime_config,
    "Status": configuration.status,
    "CheckpointContainer": containers.checkpoint_container,
    "ListMetricDescriptors": stats.list_metric_descriptors,
    "ListPodSandboxMetrics": _list_of(cri.ListPodSandboxMetricsResponse, stats.select_pod_sandbox_metrics),
    "RuntimeConfig": configuration.runtime_config,
    "UpdatePodSandboxResources": sandboxes.update_pod_sandbox_resources,
    "ListImages": _list_of(cri.ListImagesResponse, images.select_images),
    "ImageStatus": images.image_status,
    "PullImage": images.pull_image,
    "RemoveImage": images.remove_image,
    "ImageFsInfo": images.image_fs_info,
}

LISTS: Mapping[str, Callable[[Runtime, Any], tuple[Any, ...]]] = {
    "StreamPodSandboxes": sandboxes.select_sandboxes,
    "StreamContainers": containers.select_containers,
    "StreamContainerStats": stats.select_container_stats,
    "StreamPodSandboxStats": stats.select_pod_sandbox_stats,
    "StreamPodSandboxMetrics": stats.select_pod_sandbox_metrics,
    "StreamImages": images.select_images,
}
"""The items of each streaming list; `SimulatedCri.stream` sends them in parts."""

assert HANDLERS.keys() == {verb.name for verb in ALL_VERBS if not verb.streaming}
assert {*LISTS, GET_CONTAINER_EVENTS.name} == {verb.name for verb in ALL_VERBS if verb.streaming}


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


NEWCOMERS = {"RunPodSandbox": _of_new_sandbox, "PullImage": _of_pull}
"""Calls that may be about a pod, before the runtime knows whether the pod disturbs them."""

SUBJECTS: Mapping[str, Callable[[RuntimeState, Any], Subject | None]] = {
    **dict.fromkeys(CONTAINER_CALLS, _of_container),
    **dict.fromkeys(POD_CALLS, _of_sandbox),
    "CreateContainer": _of_new_container,
    **NEWCOMERS,
}
"""Finds the subject of a call, for verbs that pods can disturb. None: no pod disturbs it."""
