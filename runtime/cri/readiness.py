"""Whether a container runtime can be worked with, and if not, why and what to do about it.

Three things are asked of a runtime: that it speaks version 0.1.0 of runtime.v1 (spec 3.14), that its `RuntimeReady`
and `NetworkReady` conditions hold (spec 2.12), and before both, that somebody answers at all. The first failing is a
`RuntimeFault`, one subclass per cause; the conditions are a report, because a node waits for them and goes on working.
"""

from __future__ import annotations

import errno
import os

import msgspec

from runtime.cri.endpoint import CriEndpoint
from runtime.cri.messages import RuntimeCondition, StatusResponse, VersionResponse

API_VERSION = "0.1.0"


class RuntimeFault(Exception):  # noqa: N818 - named for the cause, as its subclasses are
    """The runtime at an endpoint cannot be worked with. The text says why and what to do."""

    def __init__(self, endpoint: CriEndpoint | str, why: str) -> None:
        super().__init__(f"container runtime at {endpoint}: {why}")
        self.endpoint = endpoint
        self.why = why


class SocketMissing(RuntimeFault):
    """There is no socket."""


class SocketRefused(RuntimeFault):
    """There is a socket, and nobody listens."""


class SocketForbidden(RuntimeFault):
    """The socket may not be used by this user."""


class NotARuntime(RuntimeFault):
    """Somebody answers, and it is no container runtime."""


class OtherVersion(RuntimeFault):
    """A container runtime answers, and speaks another version of the interface."""


class RuntimeSilent(RuntimeFault):
    """Somebody listens, and no answer comes in time."""


def socket_fault(endpoint: CriEndpoint, code: int) -> RuntimeFault:
    """The fault that the errno of a failed connection stands for."""
    if code == errno.ENOENT:
        return SocketMissing(endpoint, "there is no such socket; start the runtime, or correct the endpoint")
    if code == errno.ECONNREFUSED:
        return SocketRefused(endpoint, "the socket is there, but nobody listens; has the runtime crashed? Restart it")
    if code in (errno.EACCES, errno.EPERM):
        return SocketForbidden(
            endpoint, f"user {os.geteuid()} may not use the socket; run as root or change its permissions"
        )
    if code == errno.ENOTSOCK:
        return SocketMissing(endpoint, "the path is no socket; correct the endpoint")
    return RuntimeFault(endpoint, f"connecting fails: {os.strerror(code)}")


def version_fault(endpoint: CriEndpoint | str, version: VersionResponse) -> OtherVersion | None:
    """The fault of a runtime that speaks another version of the interface; None when it speaks ours.

    The field `version` decides. `runtime_api_version` is free: containerd says `v1` there, cri-o `v1` or `0.1.0`.
    """
    if version.version == API_VERSION:
        return None
    name = f"{version.runtime_name or 'it'} {version.runtime_version}".strip()
    spoken = version.version or "none"
    return OtherVersion(
        endpoint,
        f"{name} says interface version {spoken}, {API_VERSION} is needed; use a runtime that serves runtime.v1",
    )


class RuntimeReport(msgspec.Struct, frozen=True):
    """A runtime that answers: who it is, and the conditions it gives."""

    name: str
    version: str
    conditions: tuple[RuntimeCondition, ...]

    @property
    def runtime_trouble(self) -> str | None:
        """Why no container can run, None when they can."""
        return self._trouble("RuntimeReady", "the runtime does not say whether it is ready")

    @property
    def network_trouble(self) -> str | None:
        """Why pods get no network, None when they do."""
        return self._trouble("NetworkReady", "network state unknown")

    @property
    def ready(self) -> bool:
        """Containers can run and pods get a network."""
        return self.runtime_trouble is None and self.network_trouble is None

    def _trouble(self, kind: str, unknown: str) -> str | None:
        for condition in self.conditions:
            if condition.type == kind:
                if condition.status:
                    return None
                return f"{kind}=false reason:{condition.reason} message:{condition.message}"
        return unknown


def report(version: VersionResponse, status: StatusResponse) -> RuntimeReport:
    """The report that a runtime's version and status make."""
    conditions = status.status.conditions if status.status is not None else ()
    return RuntimeReport(version.runtime_name, version.runtime_version, conditions)
