"""Exec and attach in a simulated cluster, over websockets.

The containers run no programs.

A command writes the text in the behaviour of its container (`exec-output`). It takes `exec-delay` of the cluster's time
and ends with `exec-exit-code`. Attach shows the output of the container from then on. Standard input of clients is read
and ignored. The channels are those of Kubernetes: the first byte of each message names the stream. The last channel
carries the result of the command as a Status.

A session fails to begin if its container does not run (Refusal); later failures are in the Status. SPDY works the same
way: `spdy_sessions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from config.objects import Pod
from runtime.cri.errors import CriError
from runtime.cri.identity import CONTAINER_NAME, POD_UID
from runtime.cri.messages import ContainerState, ExecSyncRequest
from runtime.cri.verbs import EXEC_SYNC
from runtime.http_server.heads import HttpRefusal
from runtime.http_server.log_streams import LogStreams
from runtime.http_server.sessions.channels import ERROR, PIECE_BYTES, STDERR, STDOUT
from runtime.http_server.sessions.sessions import Streams
from runtime.http_server.sessions.websocket import MESSAGE_BYTES_AT_MOST
from runtime.http_server.targets import check_container
from runtime.io.event_loop import settled
from runtime.logs.lines import LogReadOptions
from simulation.apiserver.status import Json
from simulation.cri.simulated_cri import SimulatedCri
from simulation.cri.state import ContainerRecord

SPOKEN = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""The newest first; between them they have what a client closes, which is nothing to us."""
_FROM_NOW_ON = LogReadOptions(follow=True, tail_lines=0)

Say = Callable[[bytes], Awaitable[None]]
"""Writes to standard output."""
Operation = Callable[[Say], Awaitable[Json]]
"""Runs a session to its end; returns the Status for the client."""


def running(cri: SimulatedCri, pod: Pod, name: str) -> ContainerRecord:
    """The container of that name which runs. Raises Refusal."""
    check_container(pod, name)
    for container in cri.state.select_containers("", "", {POD_UID: pod.metadata.uid, CONTAINER_NAME: name}):
        if container.state is ContainerState.CONTAINER_RUNNING:
            return container
    raise HttpRefusal(500, f'container "{name}" in pod "{pod.metadata.name}" is not running')


def run_command(cri: SimulatedCri, container_id: str, command: tuple[str, ...]) -> Operation:
    """Raises Refusal when there is none."""
    if not command:
        raise HttpRefusal(400, "there is no command")

    async def run(say: Say) -> Json:
        request = ExecSyncRequest(container_id=container_id, cmd=command)
        try:
            done = await settled(cri.call(EXEC_SYNC, request))
        except CriError as error:
            return failed(f"the runtime does not run it: {error}")
        await say(done.stdout + done.stderr)
        return ended(done.exit_code)

    return run


def watch_output(logs: LogStreams, container_id: str) -> Operation:
    """Write the container's output, until it ends."""

    async def watch(say: Say) -> Json:
        try:
            await logs.copy(container_id, _FROM_NOW_ON, say)
        except HttpRefusal as refusal:
            return failed(refusal.text)
        return ended(0)

    return watch


async def serve(request: web.BaseRequest, streams: Streams, operation: Operation) -> web.StreamResponse:
    """Serve a session over a websocket: run the operation, and send its Status.

    Raises Refusal before it begins.
    """
    offers = [each.strip() for each in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
    if not any(each in SPOKEN for each in offers):
        raise HttpRefusal(400, f"unable to upgrade: a session with a simulated container speaks {' and '.join(SPOKEN)}")
    socket = web.WebSocketResponse(protocols=SPOKEN, compress=False, max_msg_size=MESSAGE_BYTES_AT_MOST)
    await socket.prepare(request)

    async def say(data: bytes) -> None:
        for at in range(0, len(data) if streams.stdout else 0, PIECE_BYTES):
            await socket.send_bytes(bytes([STDOUT]) + data[at : at + PIECE_BYTES])

    async def act() -> None:
        # It has begun: clients wait for a first word.
        await socket.send_bytes(bytes([STDOUT if streams.stdout else STDERR if streams.stderr else ERROR]))
        status = await operation(say)
        await socket.send_bytes(bytes([ERROR]) + msgspec.json.encode(status))

    async def listen() -> None:
        async for _ in socket:
            """What is typed, and how large the window is: nobody here minds."""

    tasks = [asyncio.ensure_future(each) for each in (act(), listen())]
    try:
        # Who goes away ends it.
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    await socket.close()
    return socket


def ended(code: int) -> Json:
    """The Status of a command that has ended with that exit code."""
    if not code:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def failed(why: str) -> Json:
    """The Status of one that came to nothing."""
    return {"metadata": {}, "status": "Failure", "message": why, "reason": "InternalError", "code": 500}
