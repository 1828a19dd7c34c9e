"""`LogRotationActor`: the one owner of the logs of containers that run: their size, what is set aside, what is packed.

Every `containerLogMonitorInterval` it looks at all of them at once: one list of what runs, one `lstat` for each.
Nothing else is done for a log that is small, and nothing is remembered of it. One that is too large is set aside and
opened anew by the runtime (`ReopenContainerLog`); where that fails it gets its name back. One that is not there is
opened anew. What is over the number of files is removed in the same breath, so that the size of all logs of a
container is bounded by files x (limit + rate x interval) however long compressing takes; compressing comes after that,
at most `containerLogMaxWorkers` at a time.

The line to `ContainerGCActor`: as long as a container runs, all files of its log are ours; when it does not, they are
its, and go with the container or the pod. We name only containers that the runtime lists as running, it only dead ones.
What is still under way when a container dies is not met by its removal either: every deed on the logs of a pod, of
both, goes through the lane `pod logs` under the key of the pod's directory, one after another. A log that is gone when
its turn comes is nobody's loss.

It may be killed at any moment: the first look after a start tidies beside every log, and a log that was set aside and
not opened anew is missing, which is mended by the next look.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import ClassVar

from actors.containers.log_rotation_hands import (
    CompressLog,
    LogCompressed,
    LogCompressor,
    LogDeed,
    LogRotated,
    LogRotator,
    LogsMeasured,
    LogSurveyor,
    LogTools,
    MeasureLogs,
    TendLog,
)
from actors.containers.log_rotation_rules import all_below
from actors.kernel import Actor, ChildFailed, Message, handles

SECOND_NS = 1_000_000_000
ROTATORS = 4
"""Logs that are opened anew at a time: a runtime that hangs on one container holds up no others."""
SURVEYOR = "surveyor"


class LookAtLogs(Message, frozen=True):
    """To itself: time to look."""

    def coalesce_key(self) -> Hashable:
        return "look"


class LogRotationActor(Actor):
    """See the module."""

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
        """Paths of logs and of rotated ones that wait or are in hand."""
        self._busy: dict[str, TendLog | CompressLog] = {}
        self._said: dict[str, str] = {}
        """Log -> what was wrong with it the last time."""
        self._quiet: LogsMeasured | None = None
        """The last look, when nothing was to be done for it, and so is not for the same."""
        self._reopened: set[str] = set()
        """Containers whose log was opened anew and has not been seen since: once is enough."""

    def on_start(self) -> None:
        if SURVEYOR not in self.children:
            self.spawn(LogSurveyor, self.ref, self._tools, name=SURVEYOR)
        self.every(self._tools.limits.every_ns, LookAtLogs())
        self.ref.tell(LookAtLogs())

    @handles(LookAtLogs)
    def look(self, _: LookAtLogs) -> None:
        if not self._looking:
            self._looking = True
            self.children[SURVEYOR].tell(MeasureLogs())

    @handles(LogsMeasured)
    def measured(self, message: LogsMeasured) -> None:
        self._looking = False
        if message.error:
            if message.runtime_is_away:
                self.log.debug("%s", message.error)  # who watches the runtime says so, for all
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
                    self._tend(TendLog(log, LogDeed.REOPEN))
            elif size_bytes >= max_bytes:
                self._tend(TendLog(log, LogDeed.ROTATE))
            elif first:
                self._tend(TendLog(log, LogDeed.TIDY))
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
        work = message.work
        self._ended(message.hand.name, work.log.path)
        self._say(work.log.path, message.error)
        if work.deed is LogDeed.REOPEN and not message.error:
            self._reopened.add(work.log.container_id)
        for path in message.compress:
            if path not in self._taken:
                self._taken.add(path)
                self._to_compress.append(CompressLog(work.log, path))
        self._give_work()

    @handles(LogCompressed)
    def compressed(self, message: LogCompressed) -> None:
        self._ended(message.hand.name, message.work.path)
        self._say(message.work.path, message.error)
        self._give_work()

    def _ended(self, hand: str, path: str) -> None:
        self._busy.pop(hand, None)
        self._taken.discard(path)

    @handles(ChildFailed)
    def child_failed(self, message: ChildFailed) -> None:
        """Its work is lost with it; the next look finds what is left of it."""
        if message.name == SURVEYOR:
            self._looking = False
        work = self._busy.get(message.name)
        if work is not None:
            self._ended(message.name, work.path if isinstance(work, CompressLog) else work.log.path)
            self._give_work()

    def _say(self, path: str, error: str) -> None:
        """Each new trouble once, not at every look."""
        if error and self._said.get(path) != error:
            self.log.warning("%s: %s", path or "the logs of containers cannot be looked at", error)
        if error:
            self._said[path] = error
        else:
            self._said.pop(path, None)
