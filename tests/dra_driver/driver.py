"""A driver for dynamic resource allocation for tests, over gRPC at its sockets.

It makes claims ready as it is told, and remembers what it was asked.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from runtime.dra.capability import ClaimDevice, ClaimRef, DeviceHealth, Prepared
from runtime.dra.v1 import dra_pb2 as messages
from runtime.dra.v1alpha1 import dra_health_pb2 as health_messages
from runtime.dra.wire import claims_in, health_message, prepared_message, unprepared_message
from runtime.plugin_registration.capability import DRA_PLUGIN
from runtime.plugin_registration.v1 import registration_pb2 as registration

NAME = "gpu.example.com"
Devices = Callable[[ClaimRef], tuple[ClaimDevice, ...]]


def one_device(claim: ClaimRef) -> tuple[ClaimDevice, ...]:
    """A device for every claim."""
    return (ClaimDevice("pool", "gpu-0", cdi=(f"{NAME}/gpu=0",)),)


class SampleDriver:
    """See the module; a context manager. `root`: of the agent, with its `plugins_registry`.

    `calls`: methods with the UIDs of their claims, in order; `prepared`: UIDs of what is ready now. `hangs`: methods
    that do not answer until it stops. `fails`: method -> text of its error; a UID -> the error of that claim.
    """

    def __init__(
        self,
        root: Path,
        name: str = NAME,
        *,
        devices: Devices = one_device,
        services: tuple[str, ...] = ("v1.DRAPlugin",),
        instance: str = "",
    ) -> None:
        self.name = name
        self.path = root / "plugins" / name / f"dra{instance}.sock"
        self.registration = root / "plugins_registry" / f"{name}{instance}-reg.sock"
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.prepared: set[str] = set()
        self.hangs: set[str] = set()
        self.fails: dict[str, str] = {}
        self.skips: set[str] = set()
        self.registered: Future[str] = Future()
        """The agent's answer to its registration: the reason of a refusal, or empty."""
        self._devices, self._services = devices, services
        self._health: queue.Queue[Any] = queue.Queue()
        self._stopping = threading.Event()
        self._server: Any = None

    def start(self) -> SampleDriver:
        for path in (self.path, self.registration):
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_socket():
                os.unlink(path)
        self._server = grpc.server(ThreadPoolExecutor(8))
        calls = {
            "NodePrepareResources": self._unary(self._prepare, messages.NodePrepareResourcesRequest),
            "NodeUnprepareResources": self._unary(self._unprepare, messages.NodeUnprepareResourcesRequest),
        }
        said = grpc.unary_stream_rpc_method_handler(
            self._watch, health_messages.NodeWatchResourcesRequest.FromString, _bytes
        )
        introduction = {
            "GetInfo": self._unary(self._info, registration.InfoRequest),
            "NotifyRegistrationStatus": self._unary(self._notified, registration.RegistrationStatus),
        }
        handlers = [grpc.method_handlers_generic_handler("pluginregistration.Registration", introduction)]
        for service in self._services:
            package = f"k8s.io.kubelet.pkg.apis.dra.{service}"
            handlers.append(grpc.method_handlers_generic_handler(package, calls))
        handlers.append(
            grpc.method_handlers_generic_handler("v1alpha1.DRAResourceHealth", {"NodeWatchResources": said})
        )
        self._server.add_generic_rpc_handlers(tuple(handlers))
        self._server.add_insecure_port(f"unix:{self.path}")
        self._server.add_insecure_port(f"unix:{self.registration}")
        self._server.start()
        return self

    def stop(self) -> None:
        """End in order: the sockets go."""
        self._stopping.set()
        self._health.put(None)
        self._server.stop(None).wait()
        for path in (self.path, self.registration):
            path.unlink(missing_ok=True)

    def __enter__(self) -> SampleDriver:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def say_health(self, *devices: DeviceHealth) -> None:
        """Tell the agent of the health of devices."""
        self._health.put(health_message(devices))

    def _unary(self, method: Callable[[Any, Any], Any], request: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(method, request.FromString, _bytes)

    def _info(self, _: Any, __: Any) -> Any:
        return registration.PluginInfo(
            type=DRA_PLUGIN, name=self.name, endpoint=str(self.path), supported_versions=self._services
        )

    def _notified(self, status: Any, _: Any) -> Any:
        if not self.registered.done():
            self.registered.set_result(status.error)
        return registration.RegistrationStatusResponse()

    def _prepare(self, request: Any, context: Any) -> Any:
        claims = self._asked("NodePrepareResources", request, context)
        answers: dict[str, Prepared] = {}
        for claim in claims:
            if claim.uid in self.skips:
                continue
            if error := self.fails.get(claim.uid, ""):
                answers[claim.uid] = Prepared(error=error)
                continue
            self.prepared.add(claim.uid)
            answers[claim.uid] = Prepared(self._devices(claim))
        return prepared_message(answers)

    def _unprepare(self, request: Any, context: Any) -> Any:
        claims = self._asked("NodeUnprepareResources", request, context)
        errors: dict[str, str] = {}
        for claim in claims:
            errors[claim.uid] = self.fails.get(claim.uid, "")
            if not errors[claim.uid]:
                self.prepared.discard(claim.uid)
        return unprepared_message(errors)

    def _asked(self, method: str, request: Any, context: Any) -> tuple[ClaimRef, ...]:
        claims = claims_in(request)
        self.calls.append((method, tuple(each.uid for each in claims)))
        if method in self.fails:
            context.abort(grpc.StatusCode.UNKNOWN, self.fails[method])
        if method in self.hangs:
            self._stopping.wait(600)
        return claims

    def _watch(self, _: Any, context: Any) -> Any:
        while (said := self._health.get()) is not None:
            yield said


def _bytes(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data
