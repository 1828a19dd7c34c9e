"""`GrpcDevicePlugin`: asks the device plugin at one socket. Deadlines are here, since plugins hang.

The list of devices is read by a thread of its own, which keeps only the newest message. So a plugin that changes it a
thousand times a second costs no memory. Beyond `CHANGES_AT_ONCE` the thread reads at most one in `PAUSE_S`, and gRPC
holds up the plugin.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from runtime.cri.errors import StatusCode
from runtime.cri.transport import grpc
from runtime.device_plugins.capability import Device, DeviceSetup, PluginOptions
from runtime.device_plugins.v1beta1 import deviceplugin_pb2 as messages
from runtime.device_plugins.wire import LIST_AND_WATCH, devices_in, options_of, setup_of
from runtime.plugins.errors import PluginError
from runtime.plugins.socket import DIAL_NS, NS_PER_SECOND, PluginSocket

OPTIONS_NS = 10 * NS_PER_SECOND
PREFER_NS = 10 * NS_PER_SECOND
"""A wish is not worth a longer wait: without it the agent chooses."""
ALLOCATE_NS = 60 * NS_PER_SECOND
"""Plugins that reset hardware take seconds. A kubelet has no limit (kubernetes/kubernetes#129249)."""
PRE_START_NS = 30 * NS_PER_SECOND
"""`KubeletPreStartContainerRPCTimeoutInSecs` of the interface."""
ANSWER_BYTES_AT_MOST = 4 * 1024 * 1024
"""The limit of a kubelet, which is the default of gRPC in Go."""
CHANGES_AT_ONCE = 100
PAUSE_S = 0.01

_SERVICE = "/v1beta1.DevicePlugin"


class GrpcDevicePlugin:
    """`DevicePlugin` at a socket. Raises PluginError for a text that is no endpoint."""

    def __init__(self, endpoint: str) -> None:
        self._socket = PluginSocket(endpoint, answer_bytes_at_most=ANSWER_BYTES_AT_MOST)

    def options(self) -> PluginOptions:
        self._socket.dial(DIAL_NS)
        answer = self._ask("GetDevicePluginOptions", messages.Empty(), messages.DevicePluginOptions, OPTIONS_NS)
        return options_of(answer)

    def allocate(self, ids: Sequence[str]) -> DeviceSetup:
        request = messages.AllocateRequest(container_requests=[messages.ContainerAllocateRequest(devices_ids=ids)])
        answer = self._ask("Allocate", request, messages.AllocateResponse, ALLOCATE_NS)
        if not answer.container_responses:
            text = f"no containers return in allocation response {answer}"
            raise PluginError(StatusCode.INTERNAL, text, "Allocate")
        return setup_of(answer.container_responses[0])

    def prefer(self, available: Sequence[str], included: Sequence[str], size: int) -> tuple[str, ...]:
        wish = messages.ContainerPreferredAllocationRequest(
            available_deviceIDs=available, must_include_deviceIDs=included, allocation_size=size
        )
        request = messages.PreferredAllocationRequest(container_requests=[wish])
        answer = self._ask("GetPreferredAllocation", request, messages.PreferredAllocationResponse, PREFER_NS)
        return tuple(answer.container_responses[0].deviceIDs) if answer.container_responses else ()

    def pre_start(self, ids: Sequence[str]) -> None:
        request = messages.PreStartContainerRequest(devices_ids=ids)
        self._ask("PreStartContainer", request, messages.PreStartContainerResponse, PRE_START_NS)

    def follow(self, on_change: Callable[[], None], on_end: Callable[[str], None]) -> FollowedDevices:
        return FollowedDevices(self._socket, on_change, on_end)

    def close(self) -> None:
        self._socket.close()

    def _ask(self, method: str, request: Any, answer: Any, timeout_ns: int) -> Any:
        return self._socket.ask(f"{_SERVICE}/{method}", request, answer, timeout_ns=timeout_ns)


class FollowedDevices:
    """`Following`: see the module."""

    def __init__(self, socket: PluginSocket, on_change: Callable[[], None], on_end: Callable[[str], None]) -> None:
        self._on_change, self._on_end = on_change, on_end
        self._newest: bytes | None = None
        self._closed = threading.Event()
        self._call = socket.follow(f"{_SERVICE}/{LIST_AND_WATCH}", messages.Empty())
        self._socket = socket
        threading.Thread(target=self._read, name="device-plugin", daemon=True).start()

    def newest(self) -> tuple[Device, ...] | None:
        data = self._newest
        return None if data is None else devices_in(data)

    def close(self) -> None:
        self._closed.set()
        self._call.cancel()

    def _read(self) -> None:
        reason = "it has ended its list of devices"
        spare, at = float(CHANGES_AT_ONCE), time.monotonic()
        try:
            for data in self._call:
                if self._closed.is_set():
                    break
                self._newest = data
                self._on_change()
                now = time.monotonic()
                spare, at = min(spare + (now - at) / PAUSE_S, CHANGES_AT_ONCE) - 1, now
                if spare < 0:
                    self._closed.wait(PAUSE_S)
        except grpc.RpcError as failure:
            reason = str(self._socket.error(failure, LIST_AND_WATCH))
        if not self._closed.is_set():
            self._on_end(reason)
