"""Every verb of runtime.v1 as a typed value: what to send, what comes back, whether one answer or a stream of them.

A verb is data, so that one client, one server, one fault injector and one trace treat all of them alike:
`cri.call(LIST_CONTAINERS, ListContainersRequest())` gives a `Pending[ListContainersResponse]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from runtime.cri.messages import (
    AttachRequest,
    AttachResponse,
    CheckpointContainerRequest,
    CheckpointContainerResponse,
    ContainerEventResponse,
    ContainerStatsRequest,
    ContainerStatsResponse,
    ContainerStatusRequest,
    ContainerStatusResponse,
    CreateContainerRequest,
    CreateContainerResponse,
    ExecRequest,
    ExecResponse,
    ExecSyncRequest,
    ExecSyncResponse,
    GetEventsRequest,
    ImageFsInfoRequest,
    ImageFsInfoResponse,
    ImageStatusRequest,
    ImageStatusResponse,
    ListContainersRequest,
    ListContainersResponse,
    ListContainerStatsRequest,
    ListContainerStatsResponse,
    ListImagesRequest,
    ListImagesResponse,
    ListMetricDescriptorsRequest,
    ListMetricDescriptorsResponse,
    ListPodSandboxMetricsRequest,
    ListPodSandboxMetricsResponse,
    ListPodSandboxRequest,
    ListPodSandboxResponse,
    ListPodSandboxStatsRequest,
    ListPodSandboxStatsResponse,
    PodSandboxStatsRequest,
    PodSandboxStatsResponse,
    PodSandboxStatusRequest,
    PodSandboxStatusResponse,
    PortForwardRequest,
    PortForwardResponse,
    PullImageRequest,
    PullImageResponse,
    RemoveContainerRequest,
    RemoveContainerResponse,
    RemoveImageRequest,
    RemoveImageResponse,
    RemovePodSandboxRequest,
    RemovePodSandboxResponse,
    ReopenContainerLogRequest,
    ReopenContainerLogResponse,
    RunPodSandboxRequest,
    RunPodSandboxResponse,
    RuntimeConfigRequest,
    RuntimeConfigResponse,
    StartContainerRequest,
    StartContainerResponse,
    StatusRequest,
    StatusResponse,
    StopContainerRequest,
    StopContainerResponse,
    StopPodSandboxRequest,
    StopPodSandboxResponse,
    StreamContainersRequest,
    StreamContainersResponse,
    StreamContainerStatsRequest,
    StreamContainerStatsResponse,
    StreamImagesRequest,
    StreamImagesResponse,
    StreamPodSandboxesRequest,
    StreamPodSandboxesResponse,
    StreamPodSandboxMetricsRequest,
    StreamPodSandboxMetricsResponse,
    StreamPodSandboxStatsRequest,
    StreamPodSandboxStatsResponse,
    UpdateContainerResourcesRequest,
    UpdateContainerResourcesResponse,
    UpdatePodSandboxResourcesRequest,
    UpdatePodSandboxResourcesResponse,
    UpdateRuntimeConfigRequest,
    UpdateRuntimeConfigResponse,
    VersionRequest,
    VersionResponse,
)
from runtime.cri.messages.base import Message

Req = TypeVar("Req", bound=Message)
Res = TypeVar("Res", bound=Message)

RUNTIME_SERVICE = "runtime.v1.RuntimeService"
IMAGE_SERVICE = "runtime.v1.ImageService"


@dataclass(frozen=True, slots=True)
class Verb(Generic[Req, Res]):
    """One method of one service. `streaming`: the answer is a series of `response`, taken with `Cri.stream`."""

    service: str
    name: str
    request: type[Req]
    response: type[Res]
    streaming: bool = False

    @property
    def path(self) -> str:
        """The method's name on the wire, `/runtime.v1.RuntimeService/Version`."""
        return f"/{self.service}/{self.name}"

    def __str__(self) -> str:
        return self.name


VERSION = Verb(RUNTIME_SERVICE, "Version", VersionRequest, VersionResponse)
RUN_POD_SANDBOX = Verb(RUNTIME_SERVICE, "RunPodSandbox", RunPodSandboxRequest, RunPodSandboxResponse)
STOP_POD_SANDBOX = Verb(RUNTIME_SERVICE, "StopPodSandbox", StopPodSandboxRequest, StopPodSandboxResponse)
REMOVE_POD_SANDBOX = Verb(RUNTIME_SERVICE, "RemovePodSandbox", RemovePodSandboxRequest, RemovePodSandboxResponse)
POD_SANDBOX_STATUS = Verb(RUNTIME_SERVICE, "PodSandboxStatus", PodSandboxStatusRequest, PodSandboxStatusResponse)
LIST_POD_SANDBOX = Verb(RUNTIME_SERVICE, "ListPodSandbox", ListPodSandboxRequest, ListPodSandboxResponse)
STREAM_POD_SANDBOXES = Verb(
    RUNTIME_SERVICE, "StreamPodSandboxes", StreamPodSandboxesRequest, StreamPodSandboxesResponse, streaming=True
)
CREATE_CONTAINER = Verb(RUNTIME_SERVICE, "CreateContainer", CreateContainerRequest, CreateContainerResponse)
START_CONTAINER = Verb(RUNTIME_SERVICE, "StartContainer", StartContainerRequest, StartContainerResponse)
STOP_CONTAINER = Verb(RUNTIME_SERVICE, "StopContainer", StopContainerRequest, StopContainerResponse)
REMOVE_CONTAINER = Verb(RUNTIME_SERVICE, "RemoveContainer", RemoveContainerRequest, RemoveContainerResponse)
LIST_CONTAINERS = Verb(RUNTIME_SERVICE, "ListContainers", ListContainersRequest, ListContainersResponse)
STREAM_CONTAINERS = Verb(
    RUNTIME_SERVICE, "StreamContainers", StreamContainersRequest, StreamContainersResponse, streaming=True
)
CONTAINER_STATUS = Verb(RUNTIME_SERVICE, "ContainerStatus", ContainerStatusRequest, ContainerStatusResponse)
UPDATE_CONTAINER_RESOURCES = Verb(
    RUNTIME_SERVICE, "UpdateContainerResources", UpdateContainerResourcesRequest, UpdateContainerResourcesResponse
)
REOPEN_CONTAINER_LOG = Verb(
    RUNTIME_SERVICE, "ReopenContainerLog", ReopenContainerLogRequest, ReopenContainerLogResponse
)
EXEC_SYNC = Verb(RUNTIME_SERVICE, "ExecSync", ExecSyncRequest, ExecSyncResponse)
EXEC = Verb(RUNTIME_SERVICE, "Exec", ExecRequest, ExecResponse)
ATTACH = Verb(RUNTIME_SERVICE, "Attach", AttachRequest, AttachResponse)
PORT_FORWARD = Verb(RUNTIME_SERVICE, "PortForward", PortForwardRequest, PortForwardResponse)
CONTAINER_STATS = Verb(RUNTIME_SERVICE, "ContainerStats", ContainerStatsRequest, ContainerStatsResponse)
LIST_CONTAINER_STATS = Verb(
    RUNTIME_SERVICE, "ListContainerStats", ListContainerStatsRequest, ListContainerStatsResponse
)
STREAM_CONTAINER_STATS = Verb(
    RUNTIME_SERVICE, "StreamContainerStats", StreamContainerStatsRequest, StreamContainerStatsResponse, streaming=True
)
POD_SANDBOX_STATS = Verb(RUNTIME_SERVICE, "PodSandboxStats", PodSandboxStatsRequest, PodSandboxStatsResponse)
LIST_POD_SANDBOX_STATS = Verb(
    RUNTIME_SERVICE, "ListPodSandboxStats", ListPodSandboxStatsRequest, ListPodSandboxStatsResponse
)
STREAM_POD_SANDBOX_STATS = Verb(
    RUNTIME_SERVICE,
    "StreamPodSandboxStats",
    StreamPodSandboxStatsRequest,
    StreamPodSandboxStatsResponse,
    streaming=True,
)
UPDATE_RUNTIME_CONFIG = Verb(
    RUNTIME_SERVICE, "UpdateRuntimeConfig", UpdateRuntimeConfigRequest, UpdateRuntimeConfigResponse
)
STATUS = Verb(RUNTIME_SERVICE, "Status", StatusRequest, StatusResponse)
CHECKPOINT_CONTAINER = Verb(
    RUNTIME_SERVICE, "CheckpointContainer", CheckpointContainerRequest, CheckpointContainerResponse
)
GET_CONTAINER_EVENTS = Verb(
    RUNTIME_SERVICE, "GetContainerEvents", GetEventsRequest, ContainerEventResponse, streaming=True
)
LIST_METRIC_DESCRIPTORS = Verb(
    RUNTIME_SERVICE, "ListMetricDescriptors", ListMetricDescriptorsRequest, ListMetricDescriptorsResponse
)
LIST_POD_SANDBOX_METRICS = Verb(
    RUNTIME_SERVICE, "ListPodSandboxMetrics", ListPodSandboxMetricsRequest, ListPodSandboxMetricsResponse
)
STREAM_POD_SANDBOX_METRICS = Verb(
    RUNTIME_SERVICE,
    "StreamPodSandboxMetrics",
    StreamPodSandboxMetricsRequest,
    StreamPodSandboxMetricsResponse,
    streaming=True,
)
RUNTIME_CONFIG = Verb(RUNTIME_SERVICE, "RuntimeConfig", RuntimeConfigRequest, RuntimeConfigResponse)
UPDATE_POD_SANDBOX_RESOURCES = Verb(
    RUNTIME_SERVICE, "UpdatePodSandboxResources", UpdatePodSandboxResourcesRequest, UpdatePodSandboxResourcesResponse
)

LIST_IMAGES = Verb(IMAGE_SERVICE, "ListImages", ListImagesRequest, ListImagesResponse)
STREAM_IMAGES = Verb(IMAGE_SERVICE, "StreamImages", StreamImagesRequest, StreamImagesResponse, streaming=True)
IMAGE_STATUS = Verb(IMAGE_SERVICE, "ImageStatus", ImageStatusRequest, ImageStatusResponse)
PULL_IMAGE = Verb(IMAGE_SERVICE, "PullImage", PullImageRequest, PullImageResponse)
REMOVE_IMAGE = Verb(IMAGE_SERVICE, "RemoveImage", RemoveImageRequest, RemoveImageResponse)
IMAGE_FS_INFO = Verb(IMAGE_SERVICE, "ImageFsInfo", ImageFsInfoRequest, ImageFsInfoResponse)

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
