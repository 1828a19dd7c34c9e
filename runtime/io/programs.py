"""A program that the loop starts, reads and ends.

We make its pipes ourselves. With pipes of asyncio's own, `Process.wait` also waits until they are read to their end. A
full pipe, or one that a child holds open, then keeps the caller of a killed program waiting for ever.

A program ends with this process, even if this process is killed (`parent_death`).

`running` is for callers that read the output themselves; `run_to_end` for those that want all of it, within limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import msgspec

from runtime.io.parent_death import ending_with_us

_LAST_WAIT_S = 2.0
_PIECE_BYTES = 65536


class Program:
    """A running program: its two outputs, and its end."""

    def __init__(
        self, process: asyncio.subprocess.Process, output: asyncio.StreamReader, complaints: asyncio.StreamReader
    ) -> None:
        self.output = output
        self.complaints = complaints
        self._process = process

    @property
    def pid(self) -> int:
        """The id of its process, and of its session."""
        return self._process.pid

    async def status(self) -> int:
        """Wait for its end. A negative status is the signal that ended it."""
        return await self._process.wait()

    def kill(self) -> None:
        """Kill it and the children in its session, and wait for nothing."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def end(self) -> None:
        """Kill it and the children in its session. One that waits in the kernel is left behind.

        The children go also after a program that has ended by itself: their session keeps its id as long as they live.
        """
        self.kill()
        if self._process.returncode is None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), _LAST_WAIT_S)


@contextlib.asynccontextmanager
async def running(
    words: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    merged: bool = False,
    fed: bytes = b"",
    directory: str | None = None,
) -> AsyncIterator[Program]:
    """Run a program in a session of its own, until the block is left. Raises OSError, ValueError.

    `merged`: what it complains of is part of its output, as a terminal shows it. `fed`: what it reads on its standard
    input. `directory`: where it runs; None: where this process does.
    """
    async with _pipe() as (output, to_output), _pipe() as (complaints, to_complaints):
        try:
            with _input(fed) as standard_input:
                process = await asyncio.create_subprocess_exec(
                    *_launcher(words[0], environment),
                    *words,
                    env=environment,
                    cwd=directory,
                    stdin=standard_input,
                    stdout=to_output,
                    stderr=to_output if merged else to_complaints,
                    start_new_session=True,
                )
        finally:
            os.close(to_output)
            os.close(to_complaints)
        program = Program(process, output, complaints)
        try:
            yield program
        finally:
            await program.end()


def _launcher(program: str, environment: Mapping[str, str] | None) -> tuple[str, ...]:
    """The words before a program.

    None before one that cannot be run: it fails with the reason of the system, not with that of the launcher.
    """
    path = (os.environ if environment is None else environment).get("PATH")
    return ending_with_us() if shutil.which(program, path=path) else ()


class Ended(msgspec.Struct, frozen=True):
    """A program that has ended. A negative status is the signal that ended it."""

    output: bytes
    complaints: bytes
    status: int

    def __repr__(self) -> str:
        """Shows no output, because it may be secret."""
        return f"Ended(status={self.status}, ...)"


class ProgramCutShortError(Exception):
    """The program had to be killed. `ended` has what it had printed until then."""

    def __init__(self, reason: str, ended: Ended) -> None:
        super().__init__(reason)
        self.ended = ended


class Limits(msgspec.Struct, frozen=True):
    """Limits of a program that is run to its end.

    The beginning of its output is kept, and the end of its standard error.
    """

    seconds: float
    output_bytes: int
    complaint_bytes: int


async def run_to_end(
    words: Sequence[str], environment: Mapping[str, str] | None, limits: Limits, *, fed: bytes = b""
) -> Ended:
    """Run a program. Raises OSError and ValueError where it cannot begin, ProgramCutShortError.

    It has ended when its own process has: children that hold its pipes open are ended, too, and not waited for.
    """
    output, complaints = bytearray(), bytearray()
    reason = ""
    async with running(words, environment, fed=fed) as program:
        reading = asyncio.ensure_future(_read_beginning(program.output, output, limits.output_bytes))
        complaining = asyncio.ensure_future(_read_end(program.complaints, complaints, limits.complaint_bytes))
        status = asyncio.ensure_future(program.status())
        try:
            async with asyncio.timeout(limits.seconds):
                await asyncio.wait((status, reading), return_when=asyncio.FIRST_COMPLETED)
                if len(output) <= limits.output_bytes:
                    await status
        except TimeoutError:
            reason = f"did not end within {limits.seconds:.0f} s"
        finally:
            await program.end()
            # The pipes end with those who hold them. One who has left the session may hold them for ever.
            await asyncio.wait((reading, complaining), timeout=_LAST_WAIT_S)
            for task in (reading, complaining, status):
                task.cancel()
    if not reason and len(output) > limits.output_bytes:
        reason = f"printed more than {limits.output_bytes} bytes"
    ended = Ended(bytes(output), bytes(complaints), status.result() if _has_result(status) else -signal.SIGKILL)
    if reason:
        raise ProgramCutShortError(reason, ended)
    return ended


def _has_result(task: asyncio.Future[int]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _read_beginning(stream: asyncio.StreamReader, into: bytearray, at_most: int) -> None:
    """All of it, or more than the limit."""
    while len(into) <= at_most and (piece := await stream.read(_PIECE_BYTES)):
        into += piece


async def _read_end(stream: asyncio.StreamReader, into: bytearray, at_most: int) -> None:
    """The last bytes of a stream, which may have no end."""
    while piece := await stream.read(_PIECE_BYTES):
        into += piece
        del into[:-at_most]


@contextlib.contextmanager
def _input(fed: bytes) -> Iterator[int]:
    """A descriptor to read from: in memory, so that no program that does not read makes us wait."""
    if not fed:
        yield asyncio.subprocess.DEVNULL
        return
    descriptor = os.memfd_create("input")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(fed)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """The end that the loop reads, and the other, which the caller closes."""
    reading, writing = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", buffering=0)
    )
    try:
        yield reader, writing
    finally:
        transport.close()
