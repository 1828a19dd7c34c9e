"""Exec, attach and port-forward: the connection is passed to where the runtime serves the session.

Nothing of a session is read or kept here, whatever its protocol. The request is sent on with the path that the runtime
gave, and from then on bytes pass in both directions (spec 11.3). Clients are never redirected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from config.objects import Pod
from runtime.cri import Cri, CriError
from runtime.cri.identity import CONTAINER_NAME, POD_UID
from runtime.cri.messages import (
    AttachRequest,
    ContainerFilter,
    ContainerState,
    ContainerStateValue,
    ExecRequest,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandboxFilter,
    PodSandboxState,
    PodSandboxStateValue,
    PortForwardRequest,
)
from runtime.cri.verbs import ATTACH, EXEC, LIST_CONTAINERS, LIST_POD_SANDBOX, PORT_FORWARD
from runtime.http_client.dialing import tls_without_checks
from runtime.http_server.heads import Head, HttpRefusal, Query
from runtime.http_server.paths import ServerEndpoint
from runtime.http_server.targets import first_of
from runtime.http_server.tunnel import Way
from runtime.io.event_loop import settled

ASK_LIMIT_NS = 30 * 10**9
"""Time limit for preparing a session (spec 11.3)."""
_NOT_SENT_ON = frozenset({"authorization", "host", "cookie"})


@dataclass(frozen=True, slots=True)
class Streams:
    """Which streams a session has."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


def streams_of(query: Query) -> Streams:
    """The requested streams. Raises HttpRefusal when there are none."""
    first = first_of(query)
    stdin, stdout, stderr, tty = (first.get(name) == "1" for name in ("input", "output", "error", "tty"))
    # A terminal has one stream for both.
    stderr = stderr and not tty
    if not (stdin or stdout or stderr):
        raise HttpRefusal(400, "you must specify at least 1 of stdin, stdout, stderr")
    return Streams(stdin, stdout, stderr, tty)


class Sessions:
    def __init__(self, cri: Cri) -> None:
        self._cri = cri

    async def way(self, endpoint: ServerEndpoint, pod: Pod, container: str, head: Head) -> Way:
        """The target of this session. Raises HttpRefusal."""
        try:
            url = await self._url(endpoint, pod, container, head.query)
        except CriError as error:
            raise HttpRefusal(500, f"the runtime does not take it: {error.in_go}") from None
        return way_to(url, head)

    async def _url(self, endpoint: ServerEndpoint, pod: Pod, container: str, query: Query) -> str:
        if endpoint is ServerEndpoint.PORT_FORWARD:
            sandbox = await self._sandbox(pod)
            forward = PortForwardRequest(pod_sandbox_id=sandbox, port=_ports(query))
            return (await settled(self._cri.call(PORT_FORWARD, forward, timeout_ns=ASK_LIMIT_NS))).url
        streams = streams_of(query)
        each = {"stdin": streams.stdin, "stdout": streams.stdout, "stderr": streams.stderr, "tty": streams.tty}
        id_ = await self.running(pod, container)
        if endpoint is ServerEndpoint.EXEC:
            command = tuple(value for name, value in query if name == "command")
            if not command:
                raise HttpRefusal(400, "there is no command")
            execute = ExecRequest(container_id=id_, cmd=command, **each)
            return (await settled(self._cri.call(EXEC, execute, timeout_ns=ASK_LIMIT_NS))).url
        attach = AttachRequest(container_id=id_, **each)
        return (await settled(self._cri.call(ATTACH, attach, timeout_ns=ASK_LIMIT_NS))).url

    async def running(self, pod: Pod, container: str) -> str:
        """The id of the container of that name which runs. Raises HttpRefusal, CriError."""
        labels = {POD_UID: pod.metadata.uid, CONTAINER_NAME: container}
        running = ContainerStateValue(state=ContainerState.CONTAINER_RUNNING)
        request = ListContainersRequest(filter=ContainerFilter(state=running, label_selector=labels))
        found = (await settled(self._cri.call(LIST_CONTAINERS, request))).containers
        if not found:
            raise HttpRefusal(500, f'container "{container}" in pod "{pod.metadata.name}" is not running')
        return max(found, key=lambda each: each.created_at).id

    async def _sandbox(self, pod: Pod) -> str:
        ready = PodSandboxStateValue(state=PodSandboxState.SANDBOX_READY)
        wanted = PodSandboxFilter(state=ready, label_selector={POD_UID: pod.metadata.uid})
        found = (await settled(self._cri.call(LIST_POD_SANDBOX, ListPodSandboxRequest(filter=wanted)))).items
        if not found:
            raise HttpRefusal(500, f'pod "{pod.metadata.name}" is not running')
        return max(found, key=lambda each: each.created_at).id


def way_to(url: str, head: Head) -> Way:
    """The way to a session that the runtime serves at `url`, for the request with this head.

    Raises HttpRefusal.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.scheme not in ("http", "https") or not host or any(not 32 < ord(each) < 127 for each in url):
        raise HttpRefusal(500, f"the runtime serves the session at {url!r}, which is not a valid address")
    port = port if port is not None else 443 if parts.scheme == "https" else 80
    if not port:
        raise HttpRefusal(501, "this container runtime serves no sessions")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    kept = [f"{name}: {value}" for name, value in head.headers if name.lower() not in _NOT_SENT_ON]
    lines = [f"{head.method} {target} {head.version}", f"Host: {parts.netloc}", *kept]
    # Runtimes make their own certificates; the address is what they have just told us over their socket.
    tls = tls_without_checks() if parts.scheme == "https" else None
    return Way(host, port, "\r\n".join([*lines, "", ""]).encode("latin-1"), tls, "the container runtime")


def _ports(query: Query) -> tuple[int, ...]:
    """The ports of a websocket client; SPDY names them in its streams. Raises HttpRefusal."""
    texts: Sequence[str] = [part for name, value in query if name == "port" for part in value.split(",")]
    for text in texts:
        if not (text.isascii() and text.isdecimal() and len(text) < 6 and 0 < int(text) < 2**16):
            raise HttpRefusal(400, f"port: {text!r} is not a port; write a number from 1 to 65535")
    return tuple(map(int, texts))
