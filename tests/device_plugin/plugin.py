"""A device plugin for tests, over gRPC at a socket.

It does what it is told, and remembers what it was asked.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from runtime.device_plugins.capability import Device, DeviceSetup
from runtime.device_plugins.v1beta1 import deviceplugin_pb2 as messages
from runtime.device_plugins.wire import devices_message, setup_message

RESOURCE = "vendor.example/gpu"
Setup = Callable[[tuple[str, ...]], DeviceSetup]


def no_setup(_: tuple[str, ...]) -> DeviceSetup:
    """Devices that need nothing in the container."""
    return DeviceSetup()


class SamplePlugin:
    """See the module; a context manager. `calls`: methods with their IDs, in order.

    `hangs`: methods that do not answer until it stops. `fails`: method -> text of its error.
    """

    def __init__(
        self,
        directory: Path,
        devices: Iterable[Device] = (),
        name: str = "sample.sock",
        *,
        pre_start: bool = False,
        preferred: tuple[str, ...] | None = None,
        setup: Setup = no_setup,
    ) -> None:
        self.path = directory / name
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.hangs: set[str] = set()
        self.fails: dict[str, str] = {}
        self._pre_start, self._preferred, self._setup = pre_start, preferred, setup
        self._lists: queue.Queue[Any] = queue.Queue()
        self._devices = devices_message(tuple(devices))
        self._stopping = threading.Event()
        self._server: Any = None

    def start(self) -> None:
        if self.path.is_socket():
            os.unlink(self.path)
        self._server = grpc.server(ThreadPoolExecutor(8))
        methods = {
            "GetDevicePluginOptions": self._unary(self._options, messages.Empty),
            "Allocate": self._unary(self._allocate, messages.AllocateRequest),
            "GetPreferredAllocation": self._unary(self._prefer, messages.PreferredAllocationRequest),
            "PreStartContainer": self._unary(self._prepare, messages.PreStartContainerRequest),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(
                self._list, messages.Empty.FromString, lambda it: it.SerializeToString()
            ),
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1beta1.DevicePlugin", methods),))
        self._server.add_insecure_port(f"unix:{self.path}")
        self._server.start()

    def stop(self) -> None:
        self._stopping.set()
        self._lists.put(None)
        self._server.stop(None).wait()

    def __enter__(self) -> SamplePlugin:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def offer(self, *devices: Device) -> None:
        """Tell the agent of these devices instead."""
        self._lists.put(devices_message(devices))

    def register(
        self, directory: Path, resource: str = RESOURCE, *, version: str = "v1beta1", endpoint: str = ""
    ) -> str:
        """Register at the agent's socket. Returns the reason of its refusal, or empty."""
        request = messages.RegisterRequest(version=version, endpoint=endpoint or self.path.name, resource_name=resource)
        with grpc.insecure_channel(f"unix:{directory / 'kubelet.sock'}") as channel:
            call = channel.unary_unary(
                "/v1beta1.Registration/Register", lambda it: it.SerializeToString(), messages.Empty.FromString
            )
            try:
                call(request, timeout=60, wait_for_ready=True)
            except grpc.RpcError as failure:
                error: Any = failure
                return str(error.details())
        return ""

    def _unary(self, method: Callable[[Any], Any], request: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(
            lambda message, context: self._answer(method, message, context),
            request.FromString,
            lambda it: it.SerializeToString(),
        )

    def _answer(self, method: Callable[[Any], Any], message: Any, context: Any) -> Any:
        name, answer = method(message)
        if name in self.fails:
            context.abort(grpc.StatusCode.UNKNOWN, self.fails[name])
        if name in self.hangs:
            self._stopping.wait(600)
        return answer

    def _asked(self, name: str, ids: Iterable[str] = ()) -> str:
        self.calls.append((name, tuple(ids)))
        return name

    def _options(self, _: Any) -> tuple[str, Any]:
        return self._asked("GetDevicePluginOptions"), messages.DevicePluginOptions(
            pre_start_required=self._pre_start, get_preferred_allocation_available=self._preferred is not None
        )

    def _allocate(self, request: Any) -> tuple[str, Any]:
        ids = tuple(request.container_requests[0].devices_ids)
        answer = messages.AllocateResponse(container_responses=[setup_message(self._setup(ids))])
        return self._asked("Allocate", ids), answer

    def _prefer(self, request: Any) -> tuple[str, Any]:
        wish = request.container_requests[0]
        answer = messages.ContainerPreferredAllocationResponse(deviceIDs=self._preferred or ())
        name = self._asked("GetPreferredAllocation", wish.available_deviceIDs)
        return name, messages.PreferredAllocationResponse(container_responses=[answer])

    def _prepare(self, request: Any) -> tuple[str, Any]:
        return self._asked("PreStartContainer", request.devices_ids), messages.PreStartContainerResponse()

    def _list(self, _: Any, __: Any) -> Iterable[Any]:
        yield self._devices
        while not self._stopping.is_set():
            devices = self._lists.get()
            if devices is None:
                return
            self._devices = devices
            yield devices
