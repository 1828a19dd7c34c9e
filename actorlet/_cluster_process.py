"""The process of a simulated cluster, and the pipes to it.

Orders and answers are JSON, one line each. Empty lines between them say that the cluster is at work.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from actorlet._process import command

_CHILD = "simulation.cluster.child"
_ENDS_WITHIN_S = 10.0
_ERRORS_SHOWN_BYTES = 4000


class ClusterError(Exception):
    """The cluster refuses an order, or has ended. The text says why."""


class ClusterProcess:
    """The process of a cluster, and the pipes to it."""

    def __init__(self) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # close() closes it
        self._child = subprocess.Popen(
            command(_CHILD),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,  # Ctrl-C goes to the tests only
        )
        self.pid = self._child.pid
        self._unread = b""
        self._unanswered = 0
        """How many answers nobody has read.

        An exception, such as a time limit of the test, broke the wait.
        """

    @property
    def exit_status(self) -> int | None:
        return self._child.returncode

    def close(self) -> None:
        """Let the process end; kill it when it takes too long."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._child.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._stderr.close()

    def ask(self, order: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        """Give an order and wait for its answer.

        `within_s`: how long its time may stand still. Raises ClusterError.
        """
        assert self._child.stdin is not None
        line = json.dumps(order).encode() + b"\n"
        for _ in range(self._unanswered):
            self._read_line("an earlier order", within_s)
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except (OSError, ValueError):
            raise self._ended() from None
        self._unanswered += 1
        answer: dict[str, Any] = json.loads(self._read_line(repr(order["order"]), within_s))
        if "error" in answer:
            raise ClusterError(answer["error"])
        return answer

    def _read_line(self, order: str, within_s: float) -> bytes:
        assert self._child.stdout is not None
        descriptor = self._child.stdout.fileno()
        while b"\n" not in (unread := self._unread.lstrip(b"\n")):
            if not select.select([descriptor], [], [], within_s)[0]:
                raise ClusterError(f"the simulated cluster has not answered {order} for {within_s:g} s")
            data = os.read(descriptor, 65536)
            if not data:
                raise self._ended()
            self._unread += data
        line, _, self._unread = unread.partition(b"\n")
        self._unanswered -= 1
        return line

    def _ended(self) -> ClusterError:
        """The error that says how the process ended, with the last lines of its standard error."""
        text = "the simulated cluster has ended"
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._child.wait(_ENDS_WITHIN_S)
            if status:
                text += f" by {signal.Signals(-status).name}" if status < 0 else f" with exit status {status}"
        if not self._stderr.closed:
            size = self._stderr.seek(0, os.SEEK_END)
            self._stderr.seek(max(0, size - _ERRORS_SHOWN_BYTES))
            text += f":\n{self._stderr.read().decode(errors='replace')}".rstrip(":\n ")
        return ClusterError(text)
