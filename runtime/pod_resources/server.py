"""`PodResourcesServer`: the pod resources API, v1 and v1alpha1, at `pod-resources/kubelet.sock`.

Monitoring agents and schedulers that know NUMA nodes read it. Nothing can be changed through it, and nobody is
authenticated: whoever may enter the directory (mode 0750) may ask. That is how a kubelet serves it.

All calls together may be 100 a second, and 10 at once. The others fail with RESOURCE_EXHAUSTED, in a kubelet's words.
A call whose answer is not known yet waits for it for some seconds, then fails with UNAVAILABLE. A kubelet would answer
that there are no pods.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from runtime.api.token_bucket import TokenBucket
from runtime.cri.transport import SIZE_OPTIONS, grpc
from runtime.files.directories import make_directories
from runtime.io.daemon_threads import DaemonThreads
from runtime.metrics import shares as names
from runtime.metrics.families import Family
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.pod_resources.capability import (
    ClaimHoldings,
    DevicesOnNodes,
    MemoryOnNodes,
    PodHoldings,
    PodResourcesSource,
)
from runtime.pod_resources.v1 import pod_resources_pb2 as v1
from runtime.pod_resources.v1alpha1 import pod_resources_pb2 as v1alpha1

SOCKET = "pod-resources/kubelet.sock"
DIRECTORY_MODE = 0o750
SOCKET_MODE = 0o755
"""As a kubelet's with the usual umask. The directory keeps others out."""
CALLS_PER_SECOND = 100
CALLS_AT_ONCE = 10
THREADS = 2
PATH_LIMIT_BYTES = 105
"""Linux takes 107 bytes as the address of a socket, and the socket is made beside its place first."""
LIMITED = "rejected by rate limit"
_COUNTED: Mapping[str, tuple[Family, Family]] = {
    "List": (names.LIST_CALLS, names.LIST_ERRORS),
    "Get": (names.GET_CALLS, names.GET_ERRORS),
    "GetAllocatableResources": (names.ALLOCATABLE_CALLS, names.ALLOCATABLE_ERRORS),
}
"""By method: calls, and those that failed. Calls beyond the limit are not counted, as with a kubelet."""
PATIENCE_NS = 10_000_000_000
"""How long a call waits for an agent that is beginning. Clients ask once, and few ask again."""
LOOK_AGAIN_SECONDS = 0.1
UNKNOWN = "what pods have is not known now: the agent is beginning, or busy; ask again"


class PodResourcesError(Exception):
    """The socket cannot be served; the text says why."""


class _UnknownError(Exception):
    """The source does not know the answer now."""


class _NoSuchPodError(Exception):
    """There is no such pod, or it has ended."""


class PodResourcesServer:
    """Serves `source` below `root_directory`, from `start` until `close`.

    `now_ns`: a clock that never goes back, for the limit of calls and for waits. `pause`: waits for so many seconds.
    """

    def __init__(
        self,
        root_directory: str,
        source: PodResourcesSource,
        now_ns: Callable[[], int] = time.monotonic_ns,
        meters: Meters = UNMEASURED,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = os.path.join(os.path.abspath(root_directory), SOCKET)
        self._source = source
        self._now_ns = now_ns
        self._pause = pause
        self._meters = meters
        self._bucket = TokenBucket(CALLS_PER_SECOND, CALLS_AT_ONCE)
        self._lock = threading.Lock()
        self._server: Any = None
        self._inode: int | None = None

    def start(self) -> None:
        """Listen. A socket that an earlier agent left is replaced. Raises PodResourcesError."""
        if len(os.fsencode(self.path)) > PATH_LIMIT_BYTES:
            raise PodResourcesError(f"{self.path} is longer than {PATH_LIMIT_BYTES} bytes; shorten the root directory")
        server = grpc.server(DaemonThreads(THREADS, "pod-resources"), options=SIZE_OPTIONS)
        server.add_generic_rpc_handlers(self._handlers())
        # Made beside its place, so that the old socket is replaced in one step.
        fresh = f"{self.path}~"
        try:
            make_directories(os.path.dirname(self.path), DIRECTORY_MODE)
            with suppress(FileNotFoundError):
                os.unlink(fresh)
            server.add_insecure_port(f"unix:{fresh}")
            server.start()
            os.chmod(fresh, SOCKET_MODE)
            os.rename(fresh, self.path)
            self._inode = os.stat(self.path).st_ino
        except (OSError, RuntimeError) as error:
            server.stop(None)
            raise PodResourcesError(f"{self.path} cannot be served: {error}") from None
        self._server = server

    def close(self) -> None:
        """Stop serving, and remove the socket unless another process has replaced it."""
        server, self._server = self._server, None
        if server is None:
            return
        server.stop(None).wait()
        with suppress(OSError):
            if os.stat(self.path).st_ino == self._inode:
                os.unlink(self.path)

    # --- calls ------------------------------------------------------------------------------------------------------

    def _handlers(self) -> tuple[Any, ...]:
        methods: dict[str, dict[str, tuple[Any, Callable[[Any], Any]]]] = {
            "v1": {
                "List": (v1.ListPodResourcesRequest, self._list),
                "GetAllocatableResources": (v1.AllocatableResourcesRequest, self._allocatable),
                "Get": (v1.GetPodResourcesRequest, self._get),
            },
            "v1alpha1": {"List": (v1alpha1.ListPodResourcesRequest, self._list_devices)},
        }
        return tuple(
            grpc.method_handlers_generic_handler(
                f"{version}.PodResourcesLister",
                {name: self._method(version, name, *of_it) for name, of_it in of_version.items()},
            )
            for version, of_version in methods.items()
        )

    def _method(self, version: str, name: str, request_type: Any, answer: Callable[[Any], Any]) -> Any:
        calls, errors = _COUNTED[name]

        def called(request: Any, context: Any) -> Any:
            with self._lock:
                allowed = self._bucket.take(self._now_ns())
            if not allowed:
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, LIMITED)
            self._meters.count(names.CALLS, version)
            self._meters.count(calls, version)
            try:
                return self._answer(answer, request, context)
            except _UnknownError:
                self._meters.count(errors, version)
                context.abort(grpc.StatusCode.UNAVAILABLE, UNKNOWN)
            except _NoSuchPodError as error:
                self._meters.count(errors, version)
                context.abort(grpc.StatusCode.UNKNOWN, str(error))  # the code of a kubelet's plain error

        return grpc.unary_unary_rpc_method_handler(
            called,
            request_deserializer=request_type.FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    def _answer(self, answer: Callable[[Any], Any], request: Any, context: Any) -> Any:
        """The answer, as soon as it is known. Raises _UnknownError after a while."""
        until_ns = self._now_ns() + PATIENCE_NS
        while True:
            try:
                return answer(request)
            except _UnknownError:
                if self._now_ns() >= until_ns or not context.is_active():
                    raise
                self._pause(LOOK_AGAIN_SECONDS)

    def _list(self, _: Any) -> Any:
        pods = self._pods(active=self._source.lists_active_pods)
        return v1.ListPodResourcesResponse(pod_resources=map(_pod, pods))

    def _get(self, request: Any) -> Any:
        wanted = request.pod_namespace, request.pod_name
        found = next((pod for pod in self._pods(active=True) if (pod.namespace, pod.name) == wanted), None)
        if found is None:
            raise _NoSuchPodError(f"pod {request.pod_name} in namespace {request.pod_namespace} not found")
        return v1.GetPodResourcesResponse(pod_resources=_pod(found))

    def _allocatable(self, _: Any) -> Any:
        has = self._source.allocatable()
        if has is None:
            raise _UnknownError
        return v1.AllocatableResourcesResponse(
            devices=_devices(has.devices), cpu_ids=has.cpus, memory=_memory(has.memory)
        )

    def _list_devices(self, _: Any) -> Any:
        return v1alpha1.ListPodResourcesResponse(pod_resources=map(_pod_devices, self._pods(active=False)))

    def _pods(self, *, active: bool) -> tuple[PodHoldings, ...]:
        pods = self._source.pods(active=active)
        if pods is None:
            raise _UnknownError
        return pods


def _pod(pod: PodHoldings) -> Any:
    containers = [
        v1.ContainerResources(
            name=name,
            devices=_devices(has.devices),
            cpu_ids=has.cpus,
            memory=_memory(has.memory),
            dynamic_resources=_claims(has.claims),
        )
        for name, has in pod.containers
    ]
    return v1.PodResources(name=pod.name, namespace=pod.namespace, containers=containers)


def _pod_devices(pod: PodHoldings) -> Any:
    """Without sidecars: the interface is older than they are."""
    containers = [
        v1alpha1.ContainerResources(
            name=name,
            devices=[
                v1alpha1.ContainerDevices(resource_name=each.resource, device_ids=each.ids) for each in has.devices
            ],
        )
        for name, has in pod.containers[pod.sidecars :]
    ]
    return v1alpha1.PodResources(name=pod.name, namespace=pod.namespace, containers=containers)


def _claims(claims: Iterable[ClaimHoldings]) -> list[Any]:
    return [
        v1.DynamicResource(
            claim_name=claim.name,
            claim_namespace=claim.namespace,
            claim_resources=[
                v1.ClaimResource(
                    cdi_devices=[v1.CDIDevice(name=name) for name in each.cdi],
                    driver_name=each.driver,
                    pool_name=each.pool,
                    device_name=each.device,
                    share_id=each.share or None,
                )
                for each in claim.devices
            ],
        )
        for claim in claims
    ]


def _devices(devices: Iterable[DevicesOnNodes]) -> list[Any]:
    return [
        v1.ContainerDevices(
            resource_name=each.resource, device_ids=each.ids, topology=_topology(each.nodes) if each.nodes else None
        )
        for each in devices
    ]


def _memory(blocks: Iterable[MemoryOnNodes]) -> list[Any]:
    return [
        v1.ContainerMemory(memory_type=each.kind, size=each.size_bytes, topology=_topology(each.nodes))
        for each in blocks
    ]


def _topology(nodes: Iterable[int]) -> Any:
    return v1.TopologyInfo(nodes=[v1.NUMANode(ID=node) for node in nodes])
