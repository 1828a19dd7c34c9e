"""`LogRotationActor`: the only owner of the logs of running containers.

It measures, rotates and compresses them.

Every `containerLogMonitorInterval` it checks all logs: one list of what runs, one `lstat` per log. A small log needs
no more work and no record. A log that is too large is renamed, and the runtime reopens it (`ReopenContainerLog`); if
that fails the log gets its name back. A missing log is reopened. Surplus files are removed in the same step. So the
size of a container's logs is bounded by files x (limit + rate x interval), however long compressing takes. Compressing
comes last, at most `containerLogMaxWorkers` at a time.

While a container runs, all files of its log belong to this actor. After that they belong to `ContainerGCActor` and go
with the container or the pod. This actor handles only containers listed as running, that one only dead ones. Work still
under way when a container dies cannot collide with the removal: both actors use the lane `pod logs`, keyed by the pod's
directory, one call after another. A log that is gone by then is no error.

The agent may be killed at any moment. The first check after a start tidies beside every log. A log that was renamed but
not reopened is missing, and the next check reopens it.
"""

from __future__ import annotations

from collections import deque
from typing import ClassVar

from actors.containers.log_rotation_children import (
    CompressLog,
    LogCompressed,
    LogCompressor,
    LogOperation,
    LogRotated,
    LogRotator,
    LogsMeasured,
    LogSurveyor,
    LogTools,
    MeasureLogs,
    TendLog,
)
from actors.containers.log_rotation_rules import all_below
from actors.kernel import Actor, ChildFailed, SoleMessage, handles

SECOND_NS = 1_000_000_000
ROTATORS = 4
"""Logs rotated at a time, so that a runtime that hangs on one container does not delay the others."""
SURVEYOR = "surveyor"


class LookAtLogs(SoleMessage, frozen=True):
    """To itself: time to look."""


class LogRotationActor(Actor):
    mailbox_capacity: ClassVar[int] = 10_000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, tools: LogTools) -> None:
        super().__init__()
        self._tools = tools
        self._looking = False
        self._tidied = False
        self._to_tend: deque[TendLog] = deque()
        self._to_compress: deque[CompressLog] = deque()
        self._taken: set[str] = set()
        """Paths of logs and rotated files that wait or are being worked on."""
        self._busy: dict[str, TendLog | CompressLog] = {}
        self._said: dict[str, str] = {}
        """Path -> its last error."""
        self._quiet: LogsMeasured | None = None
        """The last measurement, if it needed no work; the same one needs none again."""
        self._reopened: set[str] = set()
        """Containers whose log was reopened and has not been seen since; they are reopened only once."""

    def on_start(self) -> None:
        if SURVEYOR not in self.children:
            self.spawn(LogSurveyor, self.ref, self._tools, name=SURVEYOR)
        self.every(self._tools.limits.every_ns, LookAtLogs())
        self.ref.tell(LookAtLogs())

    @handles(LookAtLogs)
    def look(self, _: LookAtLogs) -> None:
        """Work: constant."""
        if not self._looking:
            self._looking = True
            self.children[SURVEYOR].tell(MeasureLogs())

    @handles(LogsMeasured)
    def measured(self, message: LogsMeasured) -> None:
        """Work: the logs of all running containers."""
        self._looking = False
        if message.error:
            if message.runtime_is_away:
                self.log.debug("%s", message.error)  # `RuntimeMonitorActor` warns of it once for all
            else:
                self._say("", message.error)
            return
        if message is self._quiet:
            return
        first, self._tidied = not self._tidied, True
        if self._said:
            logs = {log.path for log in message.logs}
            self._said = {path: text for path, text in self._said.items() if path in logs}
        if self._reopened:
            lost = zip(message.logs, message.sizes, strict=True)
            self._reopened &= {log.container_id for log, size_bytes in lost if size_bytes is None}
        max_bytes = self._tools.limits.max_bytes
        quiet = not first and all_below(max_bytes, message.sizes)
        for log, size_bytes in () if quiet else zip(message.logs, message.sizes, strict=True):
            if size_bytes is None:
                if log.container_id not in self._reopened:
                    self._tend(TendLog(log, LogOperation.REOPEN))
            elif size_bytes >= max_bytes:
                self._tend(TendLog(log, LogOperation.ROTATE))
            elif first:
                self._tend(TendLog(log, LogOperation.TIDY))
        self._quiet = message if quiet else None
        self._give_work()

    def _tend(self, work: TendLog) -> None:
        if work.log.path not in self._taken:
            self._taken.add(work.log.path)
            self._to_tend.append(work)

    def _give_work(self) -> None:
        for number in range(ROTATORS):
            name = f"rotator {number}"
            if self._to_tend and name not in self._busy:
                rotator = self.children.get(name) or self.spawn(LogRotator, self.ref, self._tools, name=name)
                work = self._busy[name] = self._to_tend.popleft()
                rotator.tell(work)
        for number in range(self._tools.limits.workers):
            name = f"compressor {number}"
            if self._to_compress and name not in self._busy:
                compressor = self.children.get(name) or self.spawn(LogCompressor, self.ref, self._tools, name=name)
                packing = self._busy[name] = self._to_compress.popleft()
                compressor.tell(packing)

    @handles(LogRotated)
    def rotated(self, message: LogRotated) -> None:
        """Work: the rotated files of one log."""
        work = message.work
        self._ended(message.child.name, work.log.path)
        self._say(work.log.path, message.error)
        if work.operation is LogOperation.REOPEN and not message.error:
            self._reopened.add(work.log.container_id)
        for path in message.compress:
            if path not in self._taken:
                self._taken.add(path)
                self._to_compress.append(CompressLog(work.log, path))
        self._give_work()

    @handles(LogCompressed)
    def compressed(self, message: LogCompressed) -> None:
        """Work: constant."""
        self._ended(message.child.name, message.work.path)
        self._say(message.work.path, message.error)
        self._give_work()

    def _ended(self, child: str, path: str) -> None:
        self._busy.pop(child, None)
        self._taken.discard(path)

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        """The failed child has lost its work; the next check finds what is left.

        Work: constant.
        """
        if message.name == SURVEYOR:
            self._looking = False
        work = self._busy.get(message.name)
        if work is not None:
            self._ended(message.name, work.path if isinstance(work, CompressLog) else work.log.path)
            self._give_work()

    def _say(self, path: str, error: str) -> None:
        """Log each new error once, not at every check."""
        if error and self._said.get(path) != error:
            self.log.warning("%s: %s", path or "the logs of containers cannot be looked at", error)
        if error:
            self._said[path] = error
        else:
            self._said.pop(path, None)
