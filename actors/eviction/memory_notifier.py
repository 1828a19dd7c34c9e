"""`MemoryNotifierActor`: starts an eviction pass when the kernel reports a memory shortage.

See spec 7.8.

It exists where `kernelMemcgNotification` is set and memory has a threshold. The kernel's notice carries no number: the
eviction makes its usual pass, only sooner than its ten seconds. The kernel's mark depends on how much of the machine's
files is cached, so it is set anew every ten seconds. A kernel without such notices causes one warning.
"""

from __future__ import annotations

from typing import Any, ClassVar

from actors.eviction.signals import ALLOCATABLE_MEMORY, MEMORY
from actors.eviction.thresholds import configured_thresholds
from actors.kernel import Actor, ActorRef, Message, SoleMessage, handles
from actors.messages.eviction import MemoryRanShort
from actors.model.disk_lane import DISK_LANE_SIZE
from config.kubelet import KubeletConfiguration
from runtime.memory_notices import MemoryMark, MemoryNotices, MemoryWatch

SECOND_NS = 1_000_000_000
RENEW_NS = 10 * SECOND_NS
RENEW_LIMIT_NS = 10 * SECOND_NS
PAUSE_NS = SECOND_NS
"""The pause between two passes that the kernel triggers.

While memory stays short, its notices do not stop.
"""


def memory_marks(configuration: KubeletConfiguration) -> tuple[MemoryMark, ...]:
    """One mark for every memory threshold, hard and soft."""
    if not configuration.kernel_memcg_notification:
        return ()
    found = (each for each in configured_thresholds(configuration) if each.signal in (MEMORY, ALLOCATABLE_MEMORY))
    marks = (MemoryMark(each.signal == ALLOCATABLE_MEMORY, each.least.units, each.least.percent) for each in found)
    return tuple(dict.fromkeys(marks))


class MemoryPassed(SoleMessage, frozen=True):
    """To itself: the kernel reports that memory has passed a mark."""


class RenewMarks(SoleMessage, frozen=True):
    """To itself: set the kernel's marks anew."""


class NotifierPauseOver(Message, frozen=True):
    """To itself: the next notice may trigger a pass again."""


class MarksRenewed(Message, frozen=True):
    """To itself: the problems of setting the marks."""

    problems: tuple[str, ...]


class MemoryNotifierActor(Actor):
    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS

    def __init__(self, notices: MemoryNotices, marks: tuple[MemoryMark, ...], eviction: ActorRef) -> None:
        super().__init__()
        self._notices = notices
        self._marks = marks
        self._eviction = eviction
        self._watch: MemoryWatch | None = None
        self._renewing = False
        self._pausing = self._again = False
        self._said: tuple[str, ...] = ()

    def on_start(self) -> None:
        ref = self.ref
        self._watch = self._notices.watch(self._marks, lambda: ref.tell(MemoryPassed()))
        self.every(RENEW_NS, RenewMarks())
        self.ref.tell(RenewMarks())

    def on_stop(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def on_failure(self, *_: Any) -> None:
        self.on_stop()  # the next life watches anew

    @handles(RenewMarks)
    def renew(self, _: RenewMarks) -> None:
        """Work: constant."""
        watch = self._watch
        if self._renewing or watch is None:
            return
        self._renewing = True
        lane = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self.attempt(
            lambda: lane.submit("memory", watch.renew, deadline_ns=RENEW_LIMIT_NS),
            lambda problems, error: MarksRenewed((error,) if error else problems or ()),
        )

    @handles(MarksRenewed)
    def renewed(self, message: MarksRenewed) -> None:
        """Work: constant."""
        self._renewing = False
        if message.problems != self._said:
            for problem in message.problems:
                self.log.warning("the node looks at its memory every ten seconds only: %s", problem)
        self._said = message.problems

    @handles(MemoryPassed)
    def passed(self, _: MemoryPassed) -> None:
        """Work: constant."""
        if self._pausing:
            self._again = True
            return
        self._pausing, self._again = True, False
        self._eviction.tell(MemoryRanShort())
        self.after(PAUSE_NS, NotifierPauseOver())

    @handles(NotifierPauseOver)
    def pause_over(self, _: NotifierPauseOver) -> None:
        """Work: constant."""
        self._pausing = False
        if self._again:
            self.passed(MemoryPassed())
