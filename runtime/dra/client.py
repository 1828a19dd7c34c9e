"""`GrpcDraDriver`: asks the driver at one socket. Deadlines are here, since drivers hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.cri.transport import grpc
from runtime.dra.capability import ClaimRef, DeviceHealth, Prepared
from runtime.dra.v1 import dra_pb2 as messages
from runtime.dra.v1alpha1 import dra_health_pb2 as health_messages
from runtime.dra.wire import claim_messages, health_in, prepared_in, unprepared_in
from runtime.plugins.errors import PluginError
from runtime.plugins.socket import NS_PER_SECOND, PluginSocket, WatchedChannel

CALL_NS = 45 * NS_PER_SECOND
"""`defaultClientCallTimeout` of a kubelet (spec 10.12)."""
SERVICES: Mapping[str, str] = {
    "v1.DRAPlugin": "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin",
    "v1beta1.DRAPlugin": "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin",
}
"""What a driver may say it speaks, and the service of gRPC behind it. Their messages are the same."""
HEALTH = "/v1alpha1.DRAResourceHealth/NodeWatchResources"
OK = "OK"
PAUSE_S = 0.1
"""Between two messages about health: gRPC holds up a driver that tells more often."""

Asked = Callable[[str, str, int], None]
"""`asked("/k8s.io…/NodePrepareResources", "OK", took_ns)`: after each call, on its thread."""


def _nobody(method: str, code: str, took_ns: int) -> None:
    """A listener that does nothing."""


class GrpcDraDriver:
    """`DraDriver` at a socket.

    Raises PluginError for a text that is no endpoint, KeyError for an unknown service.
    """

    def __init__(self, endpoint: str, service: str, asked: Asked = _nobody) -> None:
        self.endpoint = endpoint
        self._service = SERVICES[service]
        self._asked = asked
        self._socket = PluginSocket(endpoint)
        self._lock = threading.Lock()
        self._under_way = 0
        self._is_over = False

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, Prepared]:
        request = messages.NodePrepareResourcesRequest(claims=claim_messages(claims))
        answer = self._ask("NodePrepareResources", request, messages.NodePrepareResourcesResponse)
        return prepared_in(answer, claims)

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        request = messages.NodeUnprepareResourcesRequest(claims=claim_messages(claims))
        answer = self._ask("NodeUnprepareResources", request, messages.NodeUnprepareResourcesResponse)
        return unprepared_in(answer, claims)

    def watch_health(
        self, on_news: Callable[[tuple[DeviceHealth, ...]], None], on_end: Callable[[str], None]
    ) -> GrpcHealth:
        return GrpcHealth(self._socket, on_news, on_end)

    def watch_connection(self, on_change: Callable[[bool], None]) -> WatchedChannel:
        return self._socket.watch(on_change)

    def close(self) -> None:
        with self._lock:
            self._is_over = True
            is_at_rest = not self._under_way
        if is_at_rest:
            self._socket.close()

    def _ask(self, method: str, request: Any, answer: Any) -> Any:
        path, began_ns, code = f"{self._service}/{method}", time.monotonic_ns(), OK
        with self._lock:
            self._under_way += 1
        try:
            return self._socket.ask(path, request, answer, timeout_ns=CALL_NS)
        except PluginError as failure:
            code = failure.code.name
            raise
        finally:
            with self._lock:
                self._under_way -= 1
                is_last = self._is_over and not self._under_way
            if is_last:
                self._socket.close()
            self._asked(path, code, time.monotonic_ns() - began_ns)


class GrpcHealth:
    """`WatchingHealth`: a thread reads what the driver says, and hands it over."""

    def __init__(
        self,
        socket: PluginSocket,
        on_news: Callable[[tuple[DeviceHealth, ...]], None],
        on_end: Callable[[str], None],
    ) -> None:
        self._on_news, self._on_end = on_news, on_end
        self._closed = threading.Event()
        self._socket = socket
        # A call that fails while the driver begins would be explained by another connection to its socket.
        self._call = socket.follow(HEALTH, health_messages.NodeWatchResourcesRequest(), wait_for_ready=True)
        threading.Thread(target=self._read, name="dra-health", daemon=True).start()

    def close(self) -> None:
        self._closed.set()
        self._call.cancel()

    def _read(self) -> None:
        reason = "it has ended what it says of its devices"
        try:
            for data in self._call:
                if self._closed.is_set():
                    break
                self._on_news(health_in(data))
                self._closed.wait(PAUSE_S)
        except grpc.RpcError as failure:
            reason = str(self._socket.error(failure, "NodeWatchResources"))
        except PluginError as failure:
            reason = str(failure)
            self._call.cancel()
        if not self._closed.is_set():
            self._on_end(reason)
