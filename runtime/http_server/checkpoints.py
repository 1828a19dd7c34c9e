"""A checkpoint of a container: the runtime archives its state on the node (spec 11.9).

The archive is below the node's directory.

The runtime may fail or not support it; both are status 500.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime

import msgspec
from aiohttp import web

from config.objects import Pod
from runtime.cri import Cri, CriError
from runtime.cri.errors import StatusCode
from runtime.cri.messages import CheckpointContainerRequest
from runtime.cri.verbs import CHECKPOINT_CONTAINER
from runtime.files.directories import make_directories
from runtime.http_server.heads import HttpRefusal, Query
from runtime.http_server.sessions.sessions import Sessions
from runtime.http_server.targets import first_of
from runtime.io.event_loop import settled

DIRECTORY = "checkpoints"
SECONDS_AT_MOST = 3600
_MORE_SECONDS = 30
"""A margin, so that the runtime's own limit ends first."""


class Checkpoints:
    """See the module. `root`: the node's directory."""

    def __init__(self, cri: Cri, sessions: Sessions, root: str) -> None:
        self._cri = cri
        self._sessions = sessions
        self._directory = os.path.join(root, DIRECTORY)

    async def answer(self, pod: Pod, container: str, query: Query) -> web.Response:
        """Make a checkpoint of a running container; answer with the path of its archive. Raises HttpRefusal."""
        seconds = timeout_of(query)
        archive = os.path.join(self._directory, archive_name(pod, container, time.time_ns()))
        try:
            id_ = await self._sessions.running(pod, container)
            await asyncio.to_thread(make_directories, self._directory, 0o700)
            request = CheckpointContainerRequest(container_id=id_, location=archive, timeout=seconds)
            limit_ns = (seconds or SECONDS_AT_MOST) + _MORE_SECONDS
            await settled(self._cri.call(CHECKPOINT_CONTAINER, request, timeout_ns=limit_ns * 10**9))
        except CriError as error:
            # A kubelet's text: clients match the runtime's words in it.
            what = f"checkpointing of {pod.metadata.namespace}/{pod.metadata.name}/{container} failed ({error.in_go})"
            hint = ": this container runtime makes no checkpoints" if error.code is StatusCode.UNIMPLEMENTED else ""
            raise HttpRefusal(500, what + hint) from None
        except OSError as error:
            raise HttpRefusal(500, f"{error.filename}: {error.strerror}") from None
        return web.Response(body=msgspec.json.encode({"items": [archive]}), content_type="application/json")


def timeout_of(query: Query) -> int:
    """Seconds that the runtime may take; 0: as long as it thinks right. Raises HttpRefusal."""
    text = first_of(query).get("timeout", "0")
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) <= SECONDS_AT_MOST):
        raise HttpRefusal(404, f"timeout: {text!r} is not a number of seconds from 0 to {SECONDS_AT_MOST}")
    return int(text)


def archive_name(pod: Pod, container: str, wall_ns: int) -> str:
    """Names of pods and containers have no slash."""
    at = datetime.fromtimestamp(wall_ns // 10**9, UTC)
    return f"checkpoint-{pod.metadata.name}_{pod.metadata.namespace}-{container}-{at:%Y-%m-%dT%H:%M:%SZ}.tar"
