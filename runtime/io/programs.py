"""A program that the loop starts, reads and ends.

We make its pipes ourselves. With pipes of asyncio's own, `Process.wait` also waits until they are read to their end: a
full pipe, or one that a child of the program holds open, then keeps the caller of a killed program waiting for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence

_LAST_WAIT_S = 2.0


class Program:
    """One that runs: its two outputs, and how it ends."""

    def __init__(
        self, process: asyncio.subprocess.Process, output: asyncio.StreamReader, complaints: asyncio.StreamReader
    ) -> None:
        self.output = output
        self.complaints = complaints
        self._process = process

    async def status(self) -> int:
        """Wait for its end. A negative status is the signal that ended it."""
        return await self._process.wait()

    async def end(self) -> None:
        """Kill it and the children in its session. One that waits in the kernel is left behind."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _LAST_WAIT_S)


@contextlib.asynccontextmanager
async def running(
    words: Sequence[str], environment: Mapping[str, str] | None = None, *, merged: bool = False
) -> AsyncIterator[Program]:
    """Run a program without input, in a session of its own, until the block is left. Raises OSError, ValueError.

    `merged`: what it complains of is part of its output, as a terminal shows it.
    """
    async with _pipe() as (output, to_output), _pipe() as (complaints, to_complaints):
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
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
