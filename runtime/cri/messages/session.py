"""Ways into a running container: a command with its output, and the addresses of streaming sessions.

Only `ExecSync` carries data itself. The three others answer with a URL that the runtime serves for a short time.
"""

from __future__ import annotations

from runtime.cri.messages.base import Message


class ExecSyncRequest(Message, frozen=True, kw_only=True):
    """Run a command in a container, wait for its end and collect its output."""

    container_id: str = ""
    cmd: tuple[str, ...] = ()
    timeout: int = 0


class ExecSyncResponse(Message, frozen=True, kw_only=True):
    """What the command wrote, and how it ended."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0


class ExecRequest(Message, frozen=True, kw_only=True):
    """Prepare a streaming session with a new command in a container."""

    container_id: str = ""
    cmd: tuple[str, ...] = ()
    tty: bool = False
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False


class ExecResponse(Message, frozen=True, kw_only=True):
    """Where the session is served."""

    url: str = ""


class AttachRequest(Message, frozen=True, kw_only=True):
    """Prepare a streaming session with the first process of a container."""

    container_id: str = ""
    stdin: bool = False
    tty: bool = False
    stdout: bool = False
    stderr: bool = False


class AttachResponse(Message, frozen=True, kw_only=True):
    """Where the session is served."""

    url: str = ""


class PortForwardRequest(Message, frozen=True, kw_only=True):
    """Prepare a session that forwards ports of a sandbox."""

    pod_sandbox_id: str = ""
    port: tuple[int, ...] = ()


class PortForwardResponse(Message, frozen=True, kw_only=True):
    """Where the session is served."""

    url: str = ""
