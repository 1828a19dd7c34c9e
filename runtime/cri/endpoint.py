"""Where a container runtime listens, as `--container-runtime-endpoint` and its image twin say it.

A `unix://` URL or a bare absolute path is a socket on this node, as for the kubelet. `tcp://host:port` is taken too: a
simulated runtime may live elsewhere. Anything else is refused with a text that names what was given.
"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

# sun_path of sockaddr_un holds 108 bytes with the zero at its end.
_PATH_BYTES_MAX = 107


class EndpointError(ValueError):
    """The text names no endpoint."""


class CriEndpoint(msgspec.Struct, frozen=True):
    """`path` of a unix socket, or None and `address` (host:port) of TCP."""

    path: str | None
    address: str = ""

    @property
    def target(self) -> str:
        """The name gRPC dials."""
        return f"unix:{self.path}" if self.path is not None else f"dns:///{self.address}"

    def __str__(self) -> str:
        return f"unix://{self.path}" if self.path is not None else f"tcp://{self.address}"


def parse_endpoint(text: str) -> CriEndpoint:
    """The endpoint that `text` names. Raises `EndpointError`."""
    if text.startswith("/"):
        return _unix(text, text)
    url = urlsplit(text)
    if url.scheme == "unix":
        if url.netloc:
            raise EndpointError(f"endpoint {text!r}: a socket needs an absolute path, as in unix:///run/cri.sock")
        return _unix(url.path, text)
    if url.scheme == "tcp":
        try:
            complete = bool(url.hostname) and url.port is not None and url.path in ("", "/")
        except ValueError:
            complete = False
        if not complete:
            raise EndpointError(f"endpoint {text!r}: TCP needs host and port, as in tcp://127.0.0.1:8989")
        return CriEndpoint(path=None, address=url.netloc)
    raise EndpointError(f"endpoint {text!r} is neither unix:///path/of/socket nor tcp://host:port nor an absolute path")


def _unix(path: str, text: str) -> CriEndpoint:
    if not path.startswith("/") or path.endswith("/"):
        raise EndpointError(f"endpoint {text!r}: a socket needs an absolute path, as in unix:///run/cri.sock")
    if len(path.encode()) > _PATH_BYTES_MAX:
        raise EndpointError(f"endpoint {text!r}: the path of a socket holds at most {_PATH_BYTES_MAX} bytes")
    return CriEndpoint(path=path)


def knock(endpoint: CriEndpoint) -> int | None:
    """Whether somebody listens on a unix socket: None if so, else why not, as an errno. Never blocks.

    gRPC says of every failed connection only "unavailable", in words that change with its version. A TCP endpoint is
    not knocked at: that could take long.
    """
    if endpoint.path is None:
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.setblocking(False)
        found = caller.connect_ex(endpoint.path)
    if found == errno.ECONNREFUSED and not Path(endpoint.path).is_socket():
        return errno.ENOTSOCK  # the kernel says "refused" of a plain file too
    return None if found in (0, errno.EAGAIN, errno.EINPROGRESS) else found


def socket_fault(endpoint: CriEndpoint, code: int) -> str:
    """Why a connection failed, by its errno, and what to do."""
    denied = f"user {os.geteuid()} may not use the socket; run as root or change its permissions"
    why = {
        errno.ENOENT: "there is no such socket; start the runtime, or correct the endpoint",
        errno.ECONNREFUSED: "the socket is there, but nobody listens; has the runtime crashed? Restart it",
        errno.EACCES: denied,
        errno.EPERM: denied,
        errno.ENOTSOCK: "the path is not a socket; correct the endpoint",
    }.get(code, f"connecting fails: {os.strerror(code)}")
    return f"container runtime at {endpoint}: {why}"
