"""`RecordReplay`: a recorded run, played as far and in as small steps as wanted.

Its actors can be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actors.kernel.inspection import ActorState
from actors.kernel.recorded.differences import Difference
from actors.records.folder import RecordedRun
from actors.replays.player import RunPlayer
from actors.replays.retold import lines_of
from config.documents.codec import to_builtins

GoOn = Callable[[], bool]


def always() -> bool:
    """Go on."""
    return True


class RecordReplay:
    """See the module. `told` gets every line of the trace, in order.

    With None no lines are made, which saves a tenth.

    Raises NoRecordError for a run that cannot be played.
    """

    def __init__(self, run: RecordedRun, told: Callable[[str], object] | None) -> None:
        self.run = run
        self.differences: list[Difference] = []
        self.player = RunPlayer(run, self.differences.append)
        self.done = False
        self._told = told
        self._sites: dict[int, str] = {}
        self._last = ""
        self._uids: dict[str, list[str]] | None = None

    @property
    def step(self) -> int:
        """Steps so far."""
        return self.player.steps

    @property
    def now_ns(self) -> int:
        """Since the agent began, in ns."""
        dispatcher = self.player.dispatcher
        return dispatcher.now_ns() - dispatcher.began.now_ns

    @property
    def began_wall_ns(self) -> int:
        """The time of day at which the agent began, in ns since 1970."""
        return self.player.dispatcher.began.wall_ns

    def next(self, steps: int = 1, *, go_on: GoOn = always) -> None:
        """Play so many more steps."""
        until = self.step + steps
        self._move(lambda: self.step < until and go_on())

    def until_step(self, step: int, *, go_on: GoOn = always) -> None:
        """Play until so many steps were taken; return at once if there were more."""
        self._move(lambda: self.step < step and go_on())

    def until_ns(self, ns: int, *, go_on: GoOn = always) -> None:
        """Play up to the last step before that time."""
        until_ns = self.player.dispatcher.began.now_ns + ns
        self._move(lambda: self.player.dispatcher.next_ns() <= until_ns and go_on())

    def until_found(self, *, go_on: GoOn = always) -> None:
        """Play until something differs, or to the end."""
        self._move(lambda: not self.differences and go_on())

    def until_told(self, is_told: GoOn, *, go_on: GoOn = always) -> None:
        """Play until `is_told`, which is asked after each step, or to the end."""
        self.next()
        self._move(lambda: not is_told() and go_on())

    def found(self) -> str:
        """The first difference, for people; empty without one."""
        return f"differs: {brief(self.differences[0])}" if self.differences else ""

    def actors(self) -> tuple[str, ...]:
        """Paths of the living actors."""
        return self.player.actors()

    def last_turn(self) -> str:
        """The last step as a line."""
        return self._last

    def pods(self) -> tuple[dict[str, Any], ...]:
        """The pods with their published status, as JSON data.

        Plays the record again up to here, to ask for them.
        """
        return tuple(to_builtins(pod) for pod in self.here().node.pods())

    def uids_of(self, name: str) -> frozenset[str]:
        """The UIDs of the pods with that part in their names, in the whole run."""
        return frozenset(uid for known, uids in self.pods_of_run().items() if name in known for uid in uids)

    def pods_of_run(self) -> Mapping[str, Sequence[str]]:
        """The pods of the whole run: namespace/name -> UIDs.

        The first call plays all of it.
        """
        if self._uids is None:
            other = RunPlayer(self.run, lambda _: None)
            other.play_while_alive()
            self._uids = {}
            for pod in other.node.known_pods():
                self._uids.setdefault(f"{pod.namespace}/{pod.name}", []).append(pod.uid)
        return self._uids

    def look_at(self, actor: str) -> ActorState | None:
        """One actor in detail; None when it does not exist."""
        return self.player.look_at(actor)

    def here(self) -> RunPlayer:
        """Another player of the same run that has come as far, for questions to its actors."""
        other = RunPlayer(self.run, lambda _: None)
        while other.steps < self.step and other.step() is not None:
            pass
        return other

    def _move(self, wanted: GoOn) -> None:
        began_ns = self.player.dispatcher.began.now_ns
        while not self.done and wanted():
            taken = self.player.step()
            if taken is None:
                self.done = True
                return
            if self._told is None:
                continue
            for line in lines_of(taken, began_ns, self._sites):
                self._last = line
                self._told(line)


def brief(difference: Difference) -> str:
    """A difference in a line."""
    who = difference.actor or "what came from outside"
    return f"step {difference.step}, {who}: {difference.kind.value}: {difference.what}"
