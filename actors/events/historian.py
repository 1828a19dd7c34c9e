"""`HistorianActor`: keeps what has happened to each pod of the node, for whoever asks why it does not run.

It is told by the workers and by the sync loop, asked by people, and decides nothing. Each history is bounded
(`history_ring`); of pods that are gone the last `GONE_MAX` are remembered, because "where is it?" is asked after the
end. Nobody waits for it, so what it is told waits for more: a start tells ten things within milliseconds, which
are one message then. All of it is lost with the agent: what is true can be looked up, and this is only how it came
about. Of the time before it began it takes from the workers what can be seen in the runtime, and says that there is no
more.

Of the words that a full mailbox has refused only the last one on a pod matters: it would be kept for ever as one that
is here. So after such a loss the sync loop is asked whom it knows.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from actors.events.history_ring import HistoryRing
from actors.kernel import Actor, ActorRef, MailboxOverflowed, Message, handles
from actors.messages.history import (
    HistorianStarted,
    HistoryEntry,
    HistoryKind,
    KnownPod,
    ListHistories,
    NoteHistory,
    PodStory,
    PodWait,
    TellHistory,
    gone,
)
from actors.messages.pods import KnownPods, WantKnownPods

SECOND_NS = 1_000_000_000
ASK_NS = 60 * SECOND_NS
"""From the loss of words to the question who is there; by then what waits has been taken."""
GONE_MAX = 100
BEGAN = "the agent remembers nothing of the time before; the runtime tells what is above"


class AskWhoIsKnown(Message, frozen=True):
    """To itself: words were lost a while ago."""


class _History(msgspec.Struct, eq=False):
    """`past`: whether the time before has been told."""

    ring: HistoryRing = msgspec.field(default_factory=HistoryRing)
    namespace: str = ""
    name: str = ""
    stage: str = ""
    since_wall_ns: int = 0
    waits: tuple[PodWait, ...] = ()
    gone_wall_ns: int | None = None
    past: bool = False

    __repr__ = object.__repr__  # a close look shows the fields, each in short


class HistorianActor(Actor):
    """See the module."""

    mailbox_capacity: ClassVar[int] = 50_000
    batch_window_ns: ClassVar[int] = SECOND_NS
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, sync_loop: ActorRef) -> None:
        super().__init__()
        self._sync_loop = sync_loop
        self._began_wall_ns = self.wall_ns()
        self._histories: dict[str, _History] = {}
        self._gone: dict[str, None] = {}
        """UIDs of those that are gone, in the order of their going."""

    def on_start(self) -> None:
        self._sync_loop.tell(HistorianStarted())

    @handles(NoteHistory)
    def note(self, message: NoteHistory) -> None:
        history = self._histories.get(message.uid)
        if history is None:
            if not message.name:
                return  # the end of a pod of which nothing is known
            history = self._histories[message.uid] = _History()
        if message.past and not history.past:
            self._remember_past(history, message.past)
        history.ring.add(message.entries)
        if message.name:
            history.namespace, history.name = message.namespace, message.name
        if message.stage:
            history.stage, history.since_wall_ns = message.stage, message.since_wall_ns
        if message.waits is not None:
            history.waits = message.waits
        history.gone_wall_ns = message.gone_wall_ns
        self._gone.pop(message.uid, None)
        if message.gone_wall_ns is not None:
            self._remember_gone(message.uid)

    def _remember_gone(self, uid: str) -> None:
        self._gone[uid] = None
        if len(self._gone) > GONE_MAX:
            oldest = next(iter(self._gone))
            del self._gone[oldest], self._histories[oldest]

    def _remember_past(self, history: _History, past: tuple[HistoryEntry, ...]) -> None:
        history.past = True
        before = [each for each in past if each.last_wall_ns < self._began_wall_ns]
        if before:
            began_ns = self._began_wall_ns - 1  # whatever is told in that very moment comes after it
            history.ring.add((*before, HistoryEntry(HistoryKind.EVENT, BEGAN, "", began_ns, began_ns)))

    @handles(MailboxOverflowed)
    def overflowed(self, message: MailboxOverflowed) -> None:
        """What was lost is not told again. Every worker tells anew what it waits for as soon as that changes; who has
        none any more is asked for, a minute after the last loss. Losses do not go on for long: what waits of one pod is
        one message, so it takes more pods within a second than the mailbox has places.
        """
        self.log.warning(
            "%d entries of pods' histories are lost: more happened than could be taken down", message.dropped
        )
        self.after(ASK_NS, AskWhoIsKnown())

    @handles(AskWhoIsKnown)
    def ask_who_is_known(self, _: AskWhoIsKnown) -> None:
        """Until there is an answer: a sync loop that has just begun does not know yet."""
        self._sync_loop.tell(WantKnownPods(self.ref))
        self.after(ASK_NS, AskWhoIsKnown())

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        """Whose end was lost on the way here ends now."""
        self.cancel_timer(AskWhoIsKnown)
        here = [uid for uid, each in self._histories.items() if each.gone_wall_ns is None]
        for uid in here:
            if uid not in message.uids:
                self.note(gone(uid, self.wall_ns()))

    @handles(TellHistory)
    def tell_history(self, question: TellHistory) -> PodStory | None:
        history = self._histories.get(question.uid)
        if history is None:
            return None
        return PodStory(
            uid=question.uid,
            namespace=history.namespace,
            name=history.name,
            stage=history.stage,
            since_wall_ns=history.since_wall_ns,
            entries=history.ring.entries(),
            dropped=history.ring.dropped,
            waits=history.waits,
            gone_wall_ns=history.gone_wall_ns,
        )

    @handles(ListHistories)
    def list_histories(self, _: ListHistories) -> tuple[KnownPod, ...]:
        return tuple(
            KnownPod(uid, each.namespace, each.name, each.gone_wall_ns is not None)
            for uid, each in self._histories.items()
        )
