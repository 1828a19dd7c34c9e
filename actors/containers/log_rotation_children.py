"""Children of `LogRotationActor` that measure, rotate and compress logs.

So the parent never waits.

Each call has a deadline; a runtime or a disk that hangs blocks only the child that called it. All work on the logs of
one pod goes through the lane `pod logs` with the pod's UID as the key, like the removals of `ContainerGCActor`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import msgspec

from actors.containers.gc_rules import LOGS_LANE, logs_key
from actors.containers.log_rotation_rules import LogLimits, RunningLog, rotated_path, running_log, tidying
from actors.kernel import Actor, ActorRef, DeadlineExceededError, LaneExhaustedError, Message, handles
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri.messages import (
    Container,
    ContainerFilter,
    ContainerState,
    ContainerStateValue,
    ListContainersRequest,
    ReopenContainerLogRequest,
)
from runtime.cri.verbs import LIST_CONTAINERS, REOPEN_CONTAINER_LOG
from runtime.logs.files import LogFiles

T = TypeVar("T")

SECOND_NS = 1_000_000_000
GIVE_UP_NS = 130 * SECOND_NS
"""A deadline for runtime clients that do not keep the deadline of a verb."""
REOPEN_LIMIT_NS = 15 * SECOND_NS
"""Short, because meanwhile the log does not exist under its name and readers find nothing."""
DISK_LIMIT_NS = 60 * SECOND_NS
COMPRESS_LIMIT_NS = 600 * SECOND_NS
"""Long, because a log that was not checked for a while may be huge."""

Failures = (CriError, DeadlineExceededError, LaneExhaustedError, OSError)
_path_of = attrgetter("path")
_RUNNING = ListContainersRequest(
    filter=ContainerFilter(state=ContainerStateValue(state=ContainerState.CONTAINER_RUNNING))
)


class LogTools(msgspec.Struct, frozen=True):
    """What the rotation works with. `pod_logs` is the directory of the logs of all pods."""

    cri: Cri
    files: LogFiles
    limits: LogLimits
    pod_logs: str


class LogOperation(enum.Enum):
    """The work that a log needs."""

    ROTATE = "rotate"
    REOPEN = "reopen"
    TIDY = "tidy"


class MeasureLogs(Message, frozen=True):
    """Parent -> LogSurveyor: look at the logs of all that runs."""


class LogsMeasured(Message, frozen=True):
    """LogSurveyor -> parent: logs, and the size of each in bytes; None for a missing log.

    `error` is empty when the list is complete. Without a change it is the same message object as before.
    """

    logs: tuple[RunningLog, ...]
    sizes: tuple[int | None, ...] = ()
    error: str = ""
    runtime_is_away: bool = False


class TendLog(Message, frozen=True):
    """Parent -> LogRotator: do this to that log."""

    log: RunningLog
    operation: LogOperation


class LogRotated(Message, frozen=True):
    """LogRotator -> parent: the outcome, and the files to compress now, oldest first."""

    child: ActorRef
    work: TendLog
    compress: tuple[str, ...] = ()
    error: str = ""


class CompressLog(Message, frozen=True):
    """Parent -> LogCompressor: compress this rotated file of that log."""

    log: RunningLog
    path: str


class LogCompressed(Message, frozen=True):
    """LogCompressor -> parent: done, or `error`; after an error only the plain file exists."""

    child: ActorRef
    work: CompressLog
    error: str = ""


class LogChild(Actor):
    """The common part of the children."""

    mailbox_capacity: ClassVar[int] = 100
    health_limit_ns: ClassVar[int | None] = 2 * COMPRESS_LIMIT_NS

    def __init__(self, parent: ActorRef, tools: LogTools) -> None:
        super().__init__()
        self.parent = parent
        self.tools = tools

    async def on_disk(self, key: str, operation: Callable[..., T], *args: Any, limit_ns: int = DISK_LIMIT_NS) -> T:
        """Run a call of `LogFiles` after all earlier calls with that key."""
        lane = self.lane(LOGS_LANE, size=1, per_key=1)
        return await self.wait(lane.submit(key, operation, *args, deadline_ns=limit_ns), what=operation.__name__)


class LogSurveyor(LogChild):
    def __init__(self, parent: ActorRef, tools: LogTools) -> None:
        super().__init__(parent, tools)
        self._logs: tuple[RunningLog, ...] = ()
        self._paths: tuple[str, ...] = ()
        self._known: dict[str, RunningLog | None] = {}
        self._told = LogsMeasured(())

    @handles(MeasureLogs)
    async def measure(self, _: MeasureLogs) -> None:
        """Work: all containers that the runtime lists."""
        tools = self.tools
        try:
            listing = tools.cri.call(LIST_CONTAINERS, _RUNNING)
            listed = await self.wait(listing, timeout_ns=GIVE_UP_NS, what="the list of all that runs")
            logs = self._logs_of(listed.containers)
            if logs != self._logs:
                self._logs, self._paths = logs, tuple(map(_path_of, logs))
            logs = self._logs
            # One call for all logs: many small calls would be expensive.
            sizes = await self.on_disk(self.path, tools.files.sizes, self._paths) if logs else ()
        except Failures as failure:
            away = isinstance(failure, CriError) and failure.code is StatusCode.UNAVAILABLE
            self.parent.tell(LogsMeasured((), (), str(failure), away))
        else:
            if logs is not self._told.logs or sizes != self._told.sizes:
                self._told = LogsMeasured(logs, sizes)
            self.parent.tell(self._told)

    def _logs_of(self, containers: tuple[Container, ...]) -> tuple[RunningLog, ...]:
        """The logs of running containers; reuses those of the last list."""
        before, pod_logs = self._known, self.tools.pod_logs
        self._known = {
            each.id: before.get(each.id) or running_log(each, pod_logs)
            for each in containers
            if each.state == ContainerState.CONTAINER_RUNNING
        }
        return tuple(filter(None, self._known.values()))


class LogRotator(LogChild):
    @handles(TendLog)
    async def tend(self, work: TendLog) -> None:
        """Work: the files of one log."""
        try:
            if work.operation is LogOperation.REOPEN:
                await self._reopen(work.log)
            if work.operation is LogOperation.ROTATE:
                await self._tidy(work.log, room=1)
                await self._rotate(work.log)
            compress = await self._tidy(work.log)
        except Failures as failure:
            self.parent.tell(LogRotated(self.ref, work, error=str(failure)))
        else:
            self.parent.tell(LogRotated(self.ref, work, compress))

    async def _rotate(self, log: RunningLog) -> None:
        """Rename the log and have the runtime reopen it; undo the renaming if that fails."""
        files, key = self.tools.files, logs_key(log.pod_directory)
        names = await self.on_disk(key, files.names_beside, log.path)
        rotated = rotated_path(log.path, names, self.wall_ns())
        try:
            await self.on_disk(key, files.move_log, log.path, rotated)
        except FileNotFoundError:
            return  # the log has gone with its container
        try:
            await self._reopen(log)
        except Failures:
            await self.on_disk(key, files.bring_back, rotated, log.path)
            raise

    async def _reopen(self, log: RunningLog) -> None:
        request = ReopenContainerLogRequest(container_id=log.container_id)
        try:
            reopening = self.tools.cri.call(REOPEN_CONTAINER_LOG, request, timeout_ns=REOPEN_LIMIT_NS)
            await self.wait(reopening, timeout_ns=REOPEN_LIMIT_NS + SECOND_NS, what="the reopening of a log")
        except CriError as failure:
            if not failure.not_found:
                raise

    async def _tidy(self, log: RunningLog, room: int = 0) -> tuple[str, ...]:
        """Remove surplus and incomplete files beside the log; return the paths to compress.

        `room`: for so many more files. A rotation makes room first, so the limit holds at every moment.
        """
        files, key = self.tools.files, logs_key(log.pod_directory)
        names = await self.on_disk(key, files.names_beside, log.path)
        todo = tidying(log.path, names, self.tools.limits.max_files - room)
        if todo.remove:
            await self.on_disk(key, files.remove, todo.remove)
        return todo.compress


class LogCompressor(LogChild):
    @handles(CompressLog)
    async def compress(self, work: CompressLog) -> None:
        """Work: constant."""
        error = ""
        try:
            files, key = self.tools.files, logs_key(work.log.pod_directory)
            await self.on_disk(key, files.compress, work.path, limit_ns=COMPRESS_LIMIT_NS)
        except Failures as failure:
            error = str(failure)
        self.parent.tell(LogCompressed(self.ref, work, error))
