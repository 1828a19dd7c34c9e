"""The methods of runtime.v1 as verbs.

Generated from `runtime/cri/v1/api.proto` by `python -m tools.protos`: do not edit.
"""

from __future__ import annotations

from typing import Any

from runtime.cri.base import Verb
from runtime.cri.v1 import messages

RUNTIME_SERVICE = "runtime.v1.RuntimeService"
IMAGE_SERVICE = "runtime.v1.ImageService"

# The versions of runtime and interface; the first call of every caller.
VERSION = Verb(
    RUNTIME_SERVICE, "Version",
    messages.VersionRequest,
    messages.VersionResponse,
)

# Makes and starts a sandbox.
RUN_POD_SANDBOX = Verb(
    RUNTIME_SERVICE, "RunPodSandbox",
    messages.RunPodSandboxRequest,
    messages.RunPodSandboxResponse,
)

# Ends a sandbox: containers first, network last. Called again after a failure.
STOP_POD_SANDBOX = Verb(
    RUNTIME_SERVICE, "StopPodSandbox",
    messages.StopPodSandboxRequest,
    messages.StopPodSandboxResponse,
)

# Removes a sandbox and its containers, by force if need be.
REMOVE_POD_SANDBOX = Verb(
    RUNTIME_SERVICE, "RemovePodSandbox",
    messages.RemovePodSandboxRequest,
    messages.RemovePodSandboxResponse,
)

# One sandbox in full; NOT_FOUND when there is none.
POD_SANDBOX_STATUS = Verb(
    RUNTIME_SERVICE, "PodSandboxStatus",
    messages.PodSandboxStatusRequest,
    messages.PodSandboxStatusResponse,
)

# Sandboxes in brief.
LIST_POD_SANDBOX = Verb(
    RUNTIME_SERVICE, "ListPodSandbox",
    messages.ListPodSandboxRequest,
    messages.ListPodSandboxResponse,
)

# The same in parts, for lists beyond the size limit of one message.
STREAM_POD_SANDBOXES = Verb(
    RUNTIME_SERVICE, "StreamPodSandboxes",
    messages.StreamPodSandboxesRequest,
    messages.StreamPodSandboxesResponse,
    streaming=True,
)

# Makes a container in a running sandbox.
CREATE_CONTAINER = Verb(
    RUNTIME_SERVICE, "CreateContainer",
    messages.CreateContainerRequest,
    messages.CreateContainerResponse,
)

# Starts a container.
START_CONTAINER = Verb(
    RUNTIME_SERVICE, "StartContainer",
    messages.StartContainerRequest,
    messages.StartContainerResponse,
)

# Ends a container, with a grace period.
STOP_CONTAINER = Verb(
    RUNTIME_SERVICE, "StopContainer",
    messages.StopContainerRequest,
    messages.StopContainerResponse,
)

# Removes a container, by force if need be.
REMOVE_CONTAINER = Verb(
    RUNTIME_SERVICE, "RemoveContainer",
    messages.RemoveContainerRequest,
    messages.RemoveContainerResponse,
)

# Containers in brief.
LIST_CONTAINERS = Verb(
    RUNTIME_SERVICE, "ListContainers",
    messages.ListContainersRequest,
    messages.ListContainersResponse,
)

# The same in parts, for lists beyond the size limit of one message.
STREAM_CONTAINERS = Verb(
    RUNTIME_SERVICE, "StreamContainers",
    messages.StreamContainersRequest,
    messages.StreamContainersResponse,
    streaming=True,
)

# One container in full; NOT_FOUND when there is none.
CONTAINER_STATUS = Verb(
    RUNTIME_SERVICE, "ContainerStatus",
    messages.ContainerStatusRequest,
    messages.ContainerStatusResponse,
)

# New limits for a living container, all of them together or none.
UPDATE_CONTAINER_RESOURCES = Verb(
    RUNTIME_SERVICE, "UpdateContainerResources",
    messages.UpdateContainerResourcesRequest,
    messages.UpdateContainerResourcesResponse,
)

# A fresh log file after a rotation.
REOPEN_CONTAINER_LOG = Verb(
    RUNTIME_SERVICE, "ReopenContainerLog",
    messages.ReopenContainerLogRequest,
    messages.ReopenContainerLogResponse,
)

# Runs a command to its end.
EXEC_SYNC = Verb(
    RUNTIME_SERVICE, "ExecSync",
    messages.ExecSyncRequest,
    messages.ExecSyncResponse,
)

# Address of a session with a new command.
EXEC = Verb(
    RUNTIME_SERVICE, "Exec",
    messages.ExecRequest,
    messages.ExecResponse,
)

# Address of a session with the first process.
ATTACH = Verb(
    RUNTIME_SERVICE, "Attach",
    messages.AttachRequest,
    messages.AttachResponse,
)

# Address of a session that forwards ports.
PORT_FORWARD = Verb(
    RUNTIME_SERVICE, "PortForward",
    messages.PortForwardRequest,
    messages.PortForwardResponse,
)

# Stats of one container; NOT_FOUND when there is none.
CONTAINER_STATS = Verb(
    RUNTIME_SERVICE, "ContainerStats",
    messages.ContainerStatsRequest,
    messages.ContainerStatsResponse,
)

# Stats of all running containers that meet the filter.
LIST_CONTAINER_STATS = Verb(
    RUNTIME_SERVICE, "ListContainerStats",
    messages.ListContainerStatsRequest,
    messages.ListContainerStatsResponse,
)

# The same in parts.
STREAM_CONTAINER_STATS = Verb(
    RUNTIME_SERVICE, "StreamContainerStats",
    messages.StreamContainerStatsRequest,
    messages.StreamContainerStatsResponse,
    streaming=True,
)

# Stats of one sandbox; NOT_FOUND when there is none.
POD_SANDBOX_STATS = Verb(
    RUNTIME_SERVICE, "PodSandboxStats",
    messages.PodSandboxStatsRequest,
    messages.PodSandboxStatsResponse,
)

# Stats of all sandboxes that meet the filter.
LIST_POD_SANDBOX_STATS = Verb(
    RUNTIME_SERVICE, "ListPodSandboxStats",
    messages.ListPodSandboxStatsRequest,
    messages.ListPodSandboxStatsResponse,
)

# The same in parts.
STREAM_POD_SANDBOX_STATS = Verb(
    RUNTIME_SERVICE, "StreamPodSandboxStats",
    messages.StreamPodSandboxStatsRequest,
    messages.StreamPodSandboxStatsResponse,
    streaming=True,
)

# Settings from the node agent.
UPDATE_RUNTIME_CONFIG = Verb(
    RUNTIME_SERVICE, "UpdateRuntimeConfig",
    messages.UpdateRuntimeConfigRequest,
    messages.UpdateRuntimeConfigResponse,
)

# Conditions and abilities of the runtime.
STATUS = Verb(
    RUNTIME_SERVICE, "Status",
    messages.StatusRequest,
    messages.StatusResponse,
)

# Writes a container's state into an archive.
CHECKPOINT_CONTAINER = Verb(
    RUNTIME_SERVICE, "CheckpointContainer",
    messages.CheckpointContainerRequest,
    messages.CheckpointContainerResponse,
)

# Container events from now on, until the caller leaves. Events may be lost: they are hints.
GET_CONTAINER_EVENTS = Verb(
    RUNTIME_SERVICE, "GetContainerEvents",
    messages.GetEventsRequest,
    messages.ContainerEventResponse,
    streaming=True,
)

# What ListPodSandboxMetrics will report; stays the same while the runtime runs.
LIST_METRIC_DESCRIPTORS = Verb(
    RUNTIME_SERVICE, "ListMetricDescriptors",
    messages.ListMetricDescriptorsRequest,
    messages.ListMetricDescriptorsResponse,
)

# Readings of the metrics of all sandboxes.
LIST_POD_SANDBOX_METRICS = Verb(
    RUNTIME_SERVICE, "ListPodSandboxMetrics",
    messages.ListPodSandboxMetricsRequest,
    messages.ListPodSandboxMetricsResponse,
)

# The same in parts.
STREAM_POD_SANDBOX_METRICS = Verb(
    RUNTIME_SERVICE, "StreamPodSandboxMetrics",
    messages.StreamPodSandboxMetricsRequest,
    messages.StreamPodSandboxMetricsResponse,
    streaming=True,
)

# Settings the node agent must follow, such as the cgroup driver.
RUNTIME_CONFIG = Verb(
    RUNTIME_SERVICE, "RuntimeConfig",
    messages.RuntimeConfigRequest,
    messages.RuntimeConfigResponse,
)

# New totals of a sandbox, told after or before its containers are changed.
UPDATE_POD_SANDBOX_RESOURCES = Verb(
    RUNTIME_SERVICE, "UpdatePodSandboxResources",
    messages.UpdatePodSandboxResourcesRequest,
    messages.UpdatePodSandboxResourcesResponse,
)

# Images on the node.
LIST_IMAGES = Verb(
    IMAGE_SERVICE, "ListImages",
    messages.ListImagesRequest,
    messages.ListImagesResponse,
)

# The same in parts, for lists beyond the size limit of one message.
STREAM_IMAGES = Verb(
    IMAGE_SERVICE, "StreamImages",
    messages.StreamImagesRequest,
    messages.StreamImagesResponse,
    streaming=True,
)

# One image; an empty answer, not an error, when it is not there.
IMAGE_STATUS = Verb(
    IMAGE_SERVICE, "ImageStatus",
    messages.ImageStatusRequest,
    messages.ImageStatusResponse,
)

# Brings an image onto the node; takes as long as it takes.
PULL_IMAGE = Verb(
    IMAGE_SERVICE, "PullImage",
    messages.PullImageRequest,
    messages.PullImageResponse,
)

# Removes an image.
REMOVE_IMAGE = Verb(
    IMAGE_SERVICE, "RemoveImage",
    messages.RemoveImageRequest,
    messages.RemoveImageResponse,
)

# The file systems of images and writable layers.
IMAGE_FS_INFO = Verb(
    IMAGE_SERVICE, "ImageFsInfo",
    messages.ImageFsInfoRequest,
    messages.ImageFsInfoResponse,
)

ALL_VERBS: tuple[Verb[Any, Any], ...] = (
    VERSION,
    RUN_POD_SANDBOX,
    STOP_POD_SANDBOX,
    REMOVE_POD_SANDBOX,
    POD_SANDBOX_STATUS,
    LIST_POD_SANDBOX,
    STREAM_POD_SANDBOXES,
    CREATE_CONTAINER,
    START_CONTAINER,
    STOP_CONTAINER,
    REMOVE_CONTAINER,
    LIST_CONTAINERS,
    STREAM_CONTAINERS,
    CONTAINER_STATUS,
    UPDATE_CONTAINER_RESOURCES,
    REOPEN_CONTAINER_LOG,
    EXEC_SYNC,
    EXEC,
    ATTACH,
    PORT_FORWARD,
    CONTAINER_STATS,
    LIST_CONTAINER_STATS,
    STREAM_CONTAINER_STATS,
    POD_SANDBOX_STATS,
    LIST_POD_SANDBOX_STATS,
    STREAM_POD_SANDBOX_STATS,
    UPDATE_RUNTIME_CONFIG,
    STATUS,
    CHECKPOINT_CONTAINER,
    GET_CONTAINER_EVENTS,
    LIST_METRIC_DESCRIPTORS,
    LIST_POD_SANDBOX_METRICS,
    STREAM_POD_SANDBOX_METRICS,
    RUNTIME_CONFIG,
    UPDATE_POD_SANDBOX_RESOURCES,
    LIST_IMAGES,
    STREAM_IMAGES,
    IMAGE_STATUS,
    PULL_IMAGE,
    REMOVE_IMAGE,
    IMAGE_FS_INFO,
)

__all__ = [
    "ALL_VERBS",
    "ATTACH",
    "CHECKPOINT_CONTAINER",
    "CONTAINER_STATS",
    "CONTAINER_STATUS",
    "CREATE_CONTAINER",
    "EXEC",
    "EXEC_SYNC",
    "GET_CONTAINER_EVENTS",
    "IMAGE_FS_INFO",
    "IMAGE_SERVICE",
    "IMAGE_STATUS",
    "LIST_CONTAINERS",
    "LIST_CONTAINER_STATS",
    "LIST_IMAGES",
    "LIST_METRIC_DESCRIPTORS",
    "LIST_POD_SANDBOX",
    "LIST_POD_SANDBOX_METRICS",
    "LIST_POD_SANDBOX_STATS",
    "POD_SANDBOX_STATS",
    "POD_SANDBOX_STATUS",
    "PORT_FORWARD",
    "PULL_IMAGE",
    "REMOVE_CONTAINER",
    "REMOVE_IMAGE",
    "REMOVE_POD_SANDBOX",
    "REOPEN_CONTAINER_LOG",
    "RUNTIME_CONFIG",
    "RUNTIME_SERVICE",
    "RUN_POD_SANDBOX",
    "START_CONTAINER",
    "STATUS",
    "STOP_CONTAINER",
    "STOP_POD_SANDBOX",
    "STREAM_CONTAINERS",
    "STREAM_CONTAINER_STATS",
    "STREAM_IMAGES",
    "STREAM_POD_SANDBOXES",
    "STREAM_POD_SANDBOX_METRICS",
    "STREAM_POD_SANDBOX_STATS",
    "UPDATE_CONTAINER_RESOURCES",
    "UPDATE_POD_SANDBOX_RESOURCES",
    "UPDATE_RUNTIME_CONFIG",
    "VERSION",
]
