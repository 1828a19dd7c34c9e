"""Programs of the host that mount what the kernel alone does not: `mount -t nfs`, `mkfs`, `blkid`.

A program that hangs is killed at its time; one that cannot even be killed (it waits in the kernel for a dead server) is
left behind, and costs a process, no thread.
"""

from __future__ import annotations

import contextlib
import subprocess
from typing import Protocol

import msgspec

NOT_FOUND = 127
TIMED_OUT = -1
_LAST_WORDS_S = 2.0
_OUTPUT_CHARACTERS = 1000


class CommandResult(msgspec.Struct, frozen=True):
    """How a program ended: its exit status, `NOT_FOUND` or `TIMED_OUT`, and the end of what it said."""

    code: int
    output: str


class Commands(Protocol):
    """See the module."""

    def run(self, command: tuple[str, ...], timeout_s: float) -> CommandResult:
        """Run it and wait. Never raises for what the program does."""
        ...


class HostCommands:
    """On this machine."""

    def run(self, command: tuple[str, ...], timeout_s: float) -> CommandResult:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        except OSError as failure:
            return CommandResult(NOT_FOUND, f"{command[0]}: {failure.strerror}")
        try:
            said, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_LAST_WORDS_S)
            return CommandResult(TIMED_OUT, f"no answer within {timeout_s:.0f} s")
        return CommandResult(process.returncode, said.decode("utf-8", "replace").strip()[-_OUTPUT_CHARACTERS:])
