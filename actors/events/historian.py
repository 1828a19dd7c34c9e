"""`HistorianActor`: keeps the history of each pod, to explain why it does not run.

Workers and the sync loop tell it, people ask it, and it decides nothing. Each history is bounded (`HistoryRing`). The
last `GONE_MAX` pods that are gone are remembered too, within `GONE_BYTES`, because people ask "where is it?" after the
end. They are kept as encoded bytes: as objects they would lie scattered over the memory that a burst of pods used, and
hold all of it.

Nobody waits for it, so its messages gather: a start tells ten things within milliseconds, which become one message. The
histories are lost with the agent: they only tell how the present came about, and the present can be looked up. The
workers tell what the runtime shows of the time before the agent began.

A full mailbox refuses messages. Only the last message of a pod matters then: without it, the pod would be kept for ever
as one that is here. So after such a loss the sync loop is asked which pods it knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

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
"""From the loss of messages to the question which pods there are; by then the mailbox is empty."""
GONE_MAX = 100
GONE_BYTES = 2 * 2**20
FIRST = 12
"""Entries that are never dropped."""
LAST = 28
WINDOW = 16
"""How far back an entry is looked for: longer than one round of a crash loop."""
LAID_ASIDE = 32
"""New entries that wait to be put with the others: more than come of a pod that starts, runs and ends."""
BEGAN = "the agent remembers nothing of the time before; the runtime tells what is above"


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(PodStory).decode


class AskWhoIsKnown(Message, frozen=True):
    """To itself: messages were lost a minute ago; ask the sync loop which pods it knows."""


@dataclass(slots=True, eq=False, repr=False)
class HistoryRing:
    """A bounded history: the beginning stays, the newest stays, what repeats itself is counted.

    A pod that crashes and is started again does the same few things for ever. An entry that says the same as one of the
    last few is that entry again, with a higher count. At most `FIRST + LAST` entries are kept. The others go from the
    middle: how it began and how it is now explain more than what lies between.

    Of most pods nobody asks, and little happens to them, so new entries are only laid aside until somebody asks or
    there are many.
    """

    _entries: list[HistoryEntry] = field(default_factory=list)
    _new: list[HistoryEntry] = field(default_factory=list)
    _dropped: int = 0

    @property
    def dropped(self) -> int:
        """How many entries were forgotten."""
        self._take_in()
        return self._dropped

    def entries(self) -> tuple[HistoryEntry, ...]:
        """Entries by the time of their last occurrence, oldest first."""
        self._take_in()
        return tuple(sorted(self._entries, key=lambda entry: entry.last_wall_ns))

    def add(self, entries: Iterable[HistoryEntry]) -> None:
        new = self._new
        new += entries
        if len(new) > LAID_ASIDE:
            self._take_in()

    def _take_in(self) -> None:
        """The result does not depend on how often this runs."""
        known, new = self._entries, self._new
        self._new = []
        recent = {entry.text for entry in known[-WINDOW:]}
        for entry in new:
            # Most of what happens to a pod happens once, so the search is worth it for recent texts only.
            if entry.text in recent and entry.kind is not HistoryKind.STAGE:
                known.append(self._with_those_before(entry))
            else:
                known.append(entry)
                recent.add(entry.text)
        over = len(known) - FIRST - LAST
        if over > 0:
            del known[FIRST : FIRST + over]
            self._dropped += over

    def _with_those_before(self, entry: HistoryEntry) -> HistoryEntry:
        """The entry, merged with an equal one among the last few."""
        known = self._entries
        for index in range(len(known) - 1, max(-1, len(known) - 1 - WINDOW), -1):
            other = known[index]
            if other.text == entry.text and other.kind is entry.kind:
                del known[index]
                return msgspec.structs.replace(
                    entry, first_wall_ns=other.first_wall_ns, count=other.count + entry.count
                )
        return entry


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

    def story(self, uid: str) -> PodStory:
        """The history of a pod in the form that `explain` gets."""
        return PodStory(
            uid=uid,
            namespace=self.namespace,
            name=self.name,
            stage=self.stage,
            since_wall_ns=self.since_wall_ns,
            entries=self.ring.entries(),
            dropped=self.ring.dropped,
            waits=self.waits,
            gone_wall_ns=self.gone_wall_ns,
        )


class GoneStories:
    """The encoded stories of the pods that went last: at most `GONE_MAX`, and `GONE_BYTES` of all."""

    def __init__(self) -> None:
        self._stories: dict[str, bytes] = {}
        self._bytes = 0

    def put(self, story: PodStory) -> None:
        """Remember the story of a pod that has none here."""
        encoded = self._stories[story.uid] = _encode(story)
        self._bytes += len(encoded)
        while len(self._stories) > GONE_MAX or self._bytes > GONE_BYTES:
            self.take(next(iter(self._stories)))

    def take(self, uid: str) -> PodStory | None:
        """The story, which is not remembered any longer."""
        encoded = self._stories.pop(uid, None)
        if encoded is None:
            return None
        self._bytes -= len(encoded)
        return _decode(encoded)

    def get(self, uid: str) -> PodStory | None:
        encoded = self._stories.get(uid)
        return None if encoded is None else _decode(encoded)

    def all(self) -> tuple[PodStory, ...]:
        """In the order in which the pods went."""
        return tuple(map(_decode, self._stories.values()))


class HistorianActor(Actor):
    mailbox_capacity: ClassVar[int] = 50_000
    batch_window_ns: ClassVar[int] = SECOND_NS
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, sync_loop: ActorRef) -> None:
        super().__init__()
        self._sync_loop = sync_loop
        self._began_wall_ns = self.wall_ns()
        self._histories: dict[str, _History] = {}
        """Of the pods that are here."""
        self._gone = GoneStories()

    def on_start(self) -> None:
        self._sync_loop.tell(HistorianStarted())

    @handles(NoteHistory)
    def note(self, message: NoteHistory) -> None:
        """Work: the few entries and waits that a worker tells at most."""
        history = self._histories.get(message.uid) or self._back(message.uid)
        if history is None:
            if not message.name:
                return  # the end of an unknown pod
            history = _History()
        self._histories[message.uid] = history
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
        if message.gone_wall_ns is not None:
            self._remember_gone(message.uid, history)

    def _remember_gone(self, uid: str, history: _History) -> None:
        self._gone.put(history.story(uid))
        del self._histories[uid]

    def _back(self, uid: str) -> _History | None:
        """The history of a pod that was gone."""
        story = self._gone.take(uid)
        if story is None:
            return None
        ring = HistoryRing(list(story.entries), [], story.dropped)
        return _History(ring, story.namespace, story.name, story.stage, story.since_wall_ns, story.waits, past=True)

    def _remember_past(self, history: _History, past: tuple[HistoryEntry, ...]) -> None:
        history.past = True
        before = [each for each in past if each.last_wall_ns < self._began_wall_ns]
        if before:
            began_ns = self._began_wall_ns - 1  # before anything told in that very moment
            history.ring.add((*before, HistoryEntry(HistoryKind.EVENT, BEGAN, "", began_ns, began_ns)))

    @handles(MailboxOverflowed)
    def overflowed(self, message: MailboxOverflowed) -> None:
        """Lost messages are not told again.

        Each worker tells what its pod waits for when that changes. For pods without a worker, ask a minute after the
        last loss. Losses soon end: the waiting messages of one pod are one, so a loss takes more pods within a second
        than the mailbox has places.

        Work: constant.
        """
        self.log.warning(
            "%d entries of pods' histories are lost: more happened than could be taken down", message.dropped
        )
        self.after(ASK_NS, AskWhoIsKnown())

    @handles(AskWhoIsKnown)
    def ask_who_is_known(self, _: AskWhoIsKnown) -> None:
        """Repeat until there is an answer: a sync loop that has just begun does not know yet.

        Work: constant.
        """
        self._sync_loop.tell(WantKnownPods(self.ref))
        self.after(ASK_NS, AskWhoIsKnown())

    @handles(KnownPods)
    def known_pods(self, message: KnownPods) -> None:
        """End the histories of pods whose end was lost.

        Work: all pods.
        """
        self.cancel_timer(AskWhoIsKnown)
        for uid in [each for each in self._histories if each not in message.uids]:
            self.note(gone(uid, self.wall_ns()))

    @handles(TellHistory)
    def tell_history(self, question: TellHistory) -> PodStory | None:
        """Work: the few entries that one history keeps."""
        history = self._histories.get(question.uid)
        if history is not None:
            return history.story(question.uid)
        return self._gone.get(question.uid)

    @handles(ListHistories)
    def list_histories(self, _: ListHistories) -> tuple[KnownPod, ...]:
        """Work: all pods."""
        gone_ones = tuple(KnownPod(each.uid, each.namespace, each.name, gone=True) for each in self._gone.all())
        here = (KnownPod(uid, each.namespace, each.name, gone=False) for uid, each in self._histories.items())
        return (*gone_ones, *here)
