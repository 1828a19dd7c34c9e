"""Device plugins of this machine: sockets beside the agent's own, `kubelet.sock`.

At each start the agent makes its socket anew, since many plugins watch for its creation. It removes the sockets of
plugins, since others watch for the removal of their own (spec 10.11). Owner and mode are those that a
kubelet leaves: root, 0755 for the socket and 0750 for the directory.

Whatever is no socket stays where it is. A plugin whose path is a link is refused: it may lead anywhere.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from runtime.cri.errors import StatusCode
from runtime.cri.transport import grpc
from runtime.device_plugins.capability import API_VERSION, DIRECTORY, DIRECTORY_MODE, PluginFound
from runtime.device_plugins.client import GrpcDevicePlugin
from runtime.device_plugins.v1beta1 import deviceplugin_pb2 as messages
from runtime.files.directories import make_directories
from runtime.plugins.errors import PluginError

SOCKET = "kubelet.sock"
SOCKET_MODE = 0o755
AT_ONCE = 8
"""Registrations that are looked at at one time; one that hangs ends after its deadline."""
WAITING = 64
"""Registrations that are taken at all; the others are refused, and come again."""
REQUEST_BYTES_AT_MOST = 64 * 1024


class NotRegisteredError(Exception):
    """Why a plugin cannot be used, in a kubelet's words."""


class LocalDevicePlugins:
    """`DevicePlugins` below `root`, the agent's directory."""

    def __init__(self, root: str) -> None:
        self.directory = os.path.join(root, DIRECTORY)

    def connect(self, endpoint: str) -> GrpcDevicePlugin:
        _refuse_what_is_no_socket(endpoint)
        return GrpcDevicePlugin(endpoint)

    def serve(self, accept: Callable[[PluginFound], str]) -> RegistrationServer:
        make_directories(self.directory, DIRECTORY_MODE)
        remove_sockets(self.directory)
        return RegistrationServer(self.directory, self._with_options, accept)

    def _with_options(self, found: PluginFound) -> PluginFound:
        """The plugin with the options it has now. Raises PluginError, NotRegisteredError."""
        _refuse_what_is_no_socket(found.endpoint)
        plugin = GrpcDevicePlugin(found.endpoint)
        try:
            return msgspec.structs.replace(found, options=plugin.options())
        except PluginError as failure:
            raise NotRegisteredError(f"failed to get device plugin options: {failure}") from None
        finally:
            plugin.close()


def remove_sockets(directory: str) -> None:
    """Remove the sockets in the directory, that of the agent too; links and files stay. Raises OSError."""
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            os.unlink(path)


class RegistrationServer:
    """`Registrations` at `kubelet.sock` in `directory`. `ask` gives a plugin its options, or raises."""

    def __init__(
        self, directory: str, ask: Callable[[PluginFound], PluginFound], accept: Callable[[PluginFound], str]
    ) -> None:
        self._directory, self._ask, self._accept = directory, ask, accept
        path = os.path.join(directory, SOCKET)
        if os.path.lexists(path):
            text = "it is no socket, and nothing else belongs there; remove it, so that device plugins can register"
            raise FileExistsError(errno.EEXIST, text, path)
        options = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", REQUEST_BYTES_AT_MOST)]
        threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="device-plugins")
        self._server = grpc.server(threads, options=options, maximum_concurrent_rpcs=WAITING)
        register = grpc.unary_unary_rpc_method_handler(
            self._register,
            request_deserializer=messages.RegisterRequest.FromString,
            response_serializer=messages.Empty.SerializeToString,
        )
        service = grpc.method_handlers_generic_handler("v1beta1.Registration", {"Register": register})
        self._server.add_generic_rpc_handlers((service,))
        try:
            self._server.add_insecure_port(f"unix:{path}")
        except RuntimeError as failure:
            raise OSError(errno.EADDRNOTAVAIL, f"device plugins cannot register: {failure}", path) from None
        os.chmod(path, SOCKET_MODE)
        self._server.start()

    def close(self) -> None:
        self._server.stop(None).wait()

    def _register(self, request: Any, context: Any) -> Any:
        reason = _refusal(request)
        try:
            if not reason:
                path = os.path.join(self._directory, request.endpoint)
                found = PluginFound(request.resource_name, path)
                reason = self._accept(self._ask(found))
        except (PluginError, NotRegisteredError) as failure:
            reason = str(failure)
        if reason:
            context.abort(grpc.StatusCode.UNKNOWN, reason)  # the code that Go gives an error without one
        return messages.Empty()


def _refusal(request: Any) -> str:
    """Why a registration is wrong in itself, or empty. A kubelet's words where it refuses it, too."""
    if request.version != API_VERSION:
        asked = f'requested API version "{request.version[:64]}" is not supported by kubelet'
        return f'{asked}. Supported version is ["{API_VERSION}"]'
    if not request.endpoint or os.path.basename(request.endpoint) != request.endpoint or request.endpoint == SOCKET:
        return f"the endpoint {request.endpoint[:256]!r} has to be the name of a socket beside {SOCKET}"
    return ""


def _refuse_what_is_no_socket(path: str) -> None:
    """Raises PluginError for a link or a file. A plugin may put its socket there a little later."""
    try:
        found = os.lstat(path.removeprefix("unix://")).st_mode
    except OSError:
        return
    if not stat.S_ISSOCK(found):
        what = "a link" if stat.S_ISLNK(found) else "no socket"
        raise PluginError(StatusCode.INVALID_ARGUMENT, f"{path} is {what}; the plugin has to listen there", "dial")
