"""The victims whose end the API does not show yet.

`EvictionActor` keeps this book; nothing here waits.

A pod enters at the decision and is not chosen again. It leaves when the API shows it as ended, or when it is gone:
until then a successor of this agent has to end it. A worker that has failed forgets its order, so it is told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from actors.eviction.decisions import EvictionVictim
from actors.messages.eviction import PodHere


class Doomed:
    def __init__(self) -> None:
        self._victims: dict[str, EvictionVictim] = {}
        self._told: dict[str, int] = {}
        """UID -> the life of the worker that this agent has told."""
        self._awaited: set[str] = set()
        """Victims that were told since the last decision. They hold memory and disk until they have finished."""

    def recall(self, victims: Iterable[EvictionVictim]) -> None:
        """Add the decisions of an earlier agent; existing entries win."""
        self._victims = {victim.uid: victim for victim in victims} | self._victims

    def add(self, victims: Iterable[EvictionVictim]) -> None:
        self._victims |= {victim.uid: victim for victim in victims}
        self._awaited.clear()

    def __bool__(self) -> bool:
        return bool(self._victims)

    def __iter__(self) -> Iterator[EvictionVictim]:
        return iter(self._victims.values())

    def uids(self) -> frozenset[str]:
        return frozenset(self._victims)

    def has_untold(self) -> bool:
        """Whether some worker has not been told yet."""
        return bool(self._victims.keys() - self._told.keys())

    def notice(self, pods: Sequence[PodHere]) -> None:
        """Mark pods whose worker has restarted as untold."""
        for each in pods:
            uid = each.pod.metadata.uid
            if self._told.get(uid, each.lives) != each.lives:
                del self._told[uid]

    def to_tell(self, pods: Sequence[PodHere]) -> list[tuple[EvictionVictim, PodHere]]:
        """The untold victims whose worker is here. They count as told from now on."""
        here = {each.pod.metadata.uid: each for each in pods if each.worker is not None}
        uids = sorted(uid for uid in self._victims.keys() - self._told.keys() if uid in here)
        self._told.update((uid, here[uid].lives) for uid in uids)
        self._awaited.update(uids)
        return [(self._victims[uid], here[uid]) for uid in uids]

    def forget_ended(self, pods: Sequence[PodHere]) -> bool:
        """Forget victims that have ended or are gone.

        `pods`: all there are. Returns whether any was forgotten.
        """
        alive = {each.pod.metadata.uid for each in pods if not each.has_ended()}
        gone = self._victims.keys() - alive
        for uid in gone:
            del self._victims[uid]
        self._told = {uid: life for uid, life in self._told.items() if uid in alive}
        return bool(gone)

    def holds_resources(self, pods: Sequence[PodHere]) -> bool:
        """Whether an awaited victim has containers or volumes left. The API may show it as ended before that."""
        return any(each.pod.metadata.uid in self._awaited and not each.finished for each in pods)
