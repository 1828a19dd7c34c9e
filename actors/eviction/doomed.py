"""Those that have been decided on and whose end the API does not know yet. The book of `EvictionActor`; nothing waits.

From the moment of the decision a pod is in here, and it is not chosen again. It leaves when the API shows it as ended,
or when it is gone: until then an agent that comes after this one has to end it. A worker that has failed has forgotten
what it was told, and is told again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from actors.eviction.decisions import Victim
from actors.messages.eviction import PodHere


class Doomed:
    """See the module."""

    def __init__(self) -> None:
        self._victims: dict[str, Victim] = {}
        self._told: dict[str, int] = {}
        """UID -> which life of its worker this agent has told."""

    def recall(self, victims: Iterable[Victim]) -> None:
        """What an earlier agent has decided; what is known by now stays."""
        self._victims = {victim.uid: victim for victim in victims} | self._victims

    def add(self, victims: Iterable[Victim]) -> None:
        """They are decided on."""
        self._victims |= {victim.uid: victim for victim in victims}

    def __bool__(self) -> bool:
        return bool(self._victims)

    def __iter__(self) -> Iterator[Victim]:
        return iter(self._victims.values())

    def uids(self) -> frozenset[str]:
        return frozenset(self._victims)

    def has_untold(self) -> bool:
        """Whether some worker does not know yet."""
        return bool(self._victims.keys() - self._told.keys())

    def notice(self, pods: Sequence[PodHere]) -> None:
        """Whose worker has begun anew does not know any more."""
        for each in pods:
            uid = each.pod.metadata.uid
            if self._told.get(uid, each.lives) != each.lives:
                del self._told[uid]

    def to_tell(self, pods: Sequence[PodHere]) -> list[tuple[Victim, PodHere]]:
        """Whose worker is here and does not know yet; from now on they count as told."""
        here = {each.pod.metadata.uid: each for each in pods if each.worker is not None}
        uids = sorted(uid for uid in self._victims.keys() - self._told.keys() if uid in here)
        self._told.update((uid, here[uid].lives) for uid in uids)
        return [(self._victims[uid], here[uid]) for uid in uids]

    def forget_ended(self, pods: Sequence[PodHere]) -> bool:
        """`pods`: all there are. Whether anybody has left the book."""
        alive = {each.pod.metadata.uid for each in pods if not each.has_ended()}
        gone = self._victims.keys() - alive
        for uid in gone:
            del self._victims[uid]
        self._told = {uid: life for uid, life in self._told.items() if uid in alive}
        return bool(gone)

    def run_on(self, pods: Sequence[PodHere]) -> bool:
        """Whether something of any of them still runs."""
        return any(
            each.pod.metadata.uid in self._victims and not each.released and not each.has_ended() for each in pods
        )
