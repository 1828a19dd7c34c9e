"""`Turn`: pods whose cgroups one call on a lane makes, one after the other.

Two threads use it. The lane takes the next group when it is done with the one before, and says what it has made. The
actor answers those that are made. When the turn is slow, it takes back all that the lane has not begun, so that only
the pod whose cgroup hangs has to wait. Each step is one operation of a deque, so no lock is needed. What the actor sees
of the lane's work, it observes: records need that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from actors.messages.admission import MakeCgroup
from actors.model.observing import Observe, look_only
from actors.resources.cgroups.operations import PodGroup, PodGroupMade


class Turn:
    """See the module. `slow`: nobody waits for its end any more. Only the actor reads and writes that.

    `observe`: that of the actor.
    """

    def __init__(
        self,
        requests: Iterable[MakeCgroup],
        groups: Iterable[PodGroup],
        began_ns: int,
        slow: bool,
        observe: Observe = look_only,
    ) -> None:
        self.began_ns = began_ns
        self.slow = slow
        self._observe = observe
        self._unanswered = {request.pod.metadata.uid: request for request in requests}
        self._first, *others = groups
        self._others = deque(others)
        self._made: deque[PodGroupMade] = deque()

    def __len__(self) -> int:
        """How many pods have no answer yet."""
        return len(self._unanswered)

    # --- on the lane ------------------------------------------------------------------------------------------------

    def groups(self) -> Iterator[PodGroup]:
        """The cgroups to make. The first is never taken back, so every turn ends with one pod less."""
        yield self._first
        while self._others:
            try:
                yield self._others.popleft()
            except IndexError:  # taken back meanwhile
                return

    def made(self, group: PodGroupMade) -> None:
        self._made.append(group)

    # --- in the actor -----------------------------------------------------------------------------------------------

    def take_back(self) -> tuple[MakeCgroup, ...]:
        """The pods that the lane has not begun, in their order; it will not begin them."""
        back: tuple[str, ...] = self._observe("cgroups not begun", self._take_others)
        return tuple([self._unanswered.pop(uid) for uid in back])

    def _take_others(self) -> tuple[str, ...]:
        back = []
        while self._others:
            try:
                back.append(self._others.popleft().uid)
            except IndexError:  # the lane was faster
                break
        return tuple(back)

    def to_answer(self) -> tuple[tuple[MakeCgroup, PodGroupMade], ...]:
        """The cgroups made since the last call."""
        every: tuple[PodGroupMade, ...] = self._observe("cgroups made", self._take_made)
        return tuple([(self._unanswered.pop(made.uid), made) for made in every])

    def _take_made(self) -> tuple[PodGroupMade, ...]:
        made = []
        while self._made:
            made.append(self._made.popleft())
        return tuple(made)

    def give_up(self) -> tuple[MakeCgroup, ...]:
        """The pods without an answer, when the call has ended. A thread that still hangs will begin no other."""
        self._others.clear()
        left = tuple(self._unanswered.values())
        self._unanswered.clear()
        return left
