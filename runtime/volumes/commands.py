"""Programs of the host that mount what the kernel alone does not: `mount -t nfs`, `mkfs`, `blkid`.

Operands come from pods and volumes. They stand after `--`, so that none of them can be read as an option. A program
that hangs is killed at its deadline, with the helpers that it has started: a `mount.nfs` that is left alone mounts when
nobody knows of it any more. One that cannot be killed (it waits in the kernel for a dead server) is left behind, and
costs a process, no thread.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Protocol

import msgspec

NOT_FOUND = 127
TIMED_OUT = -1
_LAST_WORDS_S = 2.0


class HostCommand(msgspec.Struct, frozen=True):
    """A program to run. `options` come from the agent itself; `operands` may come from anybody.

    `output_characters`: how much of the end of its output is kept.
    """

    program: str
    options: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    output_characters: int = 1000

    @property
    def words(self) -> tuple[str, ...]:
        return (self.program, *self.options, *(("--", *self.operands) if self.operands else ()))

    def __str__(self) -> str:
        return " ".join(self.words)


class CommandResult(msgspec.Struct, frozen=True):
    """How a program ended: its exit status, `NOT_FOUND` or `TIMED_OUT`, and the end of its output."""

    code: int
    output: str


class Commands(Protocol):
    def run(self, command: HostCommand, timeout_s: float) -> CommandResult:
        """Run it and wait. Never raises for what the program does."""


class HostCommands:
    """Runs programs on this machine."""

    def run(self, command: HostCommand, timeout_s: float) -> CommandResult:
        try:
            process = subprocess.Popen(
                command.words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as failure:
            return CommandResult(NOT_FOUND, f"{command.program}: {failure.strerror}")
        try:
            said, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_LAST_WORDS_S)
            return CommandResult(TIMED_OUT, f"no answer within {timeout_s:.0f} s")
        output = said.decode("utf-8", "replace").strip()[-command.output_characters :]
        return CommandResult(process.returncode, output)
