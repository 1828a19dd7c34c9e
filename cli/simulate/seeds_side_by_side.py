"""Plays the seeds of a scenario, and separate nodes, in parallel: each part in a process of its own.

Seeds share nothing, and neither do the parts of one seed (`simulation.play.parts`). A play does not know where it runs,
so its result is the same to the last message. Results come in the order of the seeds. A failure is shrunk in a process
of its own too, while the next seeds are played. A process for each part shows the part's peak memory and frees all of
it at the end. A process that dies is reported with its seed, and harms no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from cli.simulate.failed_runs import shrunk_quietly
from cli.simulate.play_bars import PlayBars, now_s
from cli.simulate.play_watch import Interrupt, at_s, come, played, pods, virtual
from cli.simulate.seed_played import PartPlayed, SeedPlayed, memory_of, name_of, part_played, seed_played
from cli.simulate.side_process import DiedError, NoProcessError, Side, SideProcess, first_over
from simulation.play.failure import Failure
from simulation.play.parts import PlayPart, parts_of
from simulation.play.play import Play
from simulation.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from rich.progress import TaskID

LOOKED_EVERY_S = 0.1
"""Seconds between two checks for an interrupt and updates of the bars."""


class SeedLost(msgspec.Struct, frozen=True):
    """The process of this seed has died; `how` says how."""

    seed: int
    how: str


class _UnderWay(msgspec.Struct, eq=False):
    """A process, and its bar. `ended` gets its result, or its failure."""

    process: SideProcess[Any]
    bar: TaskID | None
    shrinks: bool
    ended: Callable[[Any], None]


class _Seed(msgspec.Struct, eq=False):
    """The progress of a seed. `given`: the results of its parts, by number."""

    seed: int
    parts: tuple[PlayPart, ...]
    began_s: float
    ended_s: float = 0.0
    begun: int = 0
    given: dict[int, PartPlayed | Exception] = msgspec.field(default_factory=dict)

    def has_more(self) -> bool:
        return self.begun < len(self.parts)


class SeedsSideBySide:
    """A context that kills all its processes at the end. `jobs`: how many parts run at a time."""

    def __init__(
        self, scenario: Scenario, seeds: Sequence[int], jobs: int, interrupt: Interrupt, *, quiet: bool
    ) -> None:
        self._scenario = scenario
        self._seeds = seeds
        self._jobs = jobs
        self._interrupt = interrupt
        self._plays = len(seeds) * len(parts_of(scenario, seeds[0]))
        self._plays_over = 0
        self._under_way: list[_UnderWay] = []
        self._begun: dict[int, _Seed] = {}
        """By seed: those begun and not yet returned."""
        self._seeds_begun = 0
        self._newest: _Seed | None = None
        """The seed begun last; not all of its parts may have begun."""
        self._bars = PlayBars(quiet=quiet)
        self._bar_of_all = self._bars.add("all seeds" if len(seeds) > 1 else "all nodes")

    def __enter__(self) -> SeedsSideBySide:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._under_way:
            each.process.kill()

    def played(self) -> Iterator[SeedPlayed | SeedLost]:
        """The results of the seeds, in order. After an interrupt, only those of seeds that had begun.

        Raises the exception of a play, and `NoProcessError`.
        """
        for seed in self._seeds:
            while not self._is_over(seed):
                if self._interrupt.came and seed not in self._begun:
                    return
                self._go_on()
            yield self._what_came_of(self._begun.pop(seed))

    def _is_over(self, seed: int) -> bool:
        one = self._begun.get(seed)
        return one is not None and len(one.given) == one.begun and not (one.has_more() and self._has_more())

    def _what_came_of(self, one: _Seed) -> SeedPlayed | SeedLost:
        parts: list[PartPlayed] = []
        for number, given in sorted(one.given.items()):
            if isinstance(given, DiedError):
                within = f"{one.parts[number].node}: " if len(one.parts) > 1 else ""
                return SeedLost(one.seed, f"{within}{given}")
            if isinstance(given, Exception):
                raise given
            parts.append(given)
        wall_s, memory = one.ended_s - one.began_s, memory_of(parts, self._jobs)
        return seed_played(self._scenario, one.seed, parts, wall_s=wall_s, memory=memory)

    def shrunk(self, failure: Failure, turns: int) -> tuple[Failure, int]:
        """Shrink a failure while other seeds are played (`cli.simulate.failed_runs.Shrinking`).

        Raises `DiedError`.
        """
        answers: list[tuple[Failure, int] | Exception] = []
        try:
            self._begin(f"shrinks {failure.seed}", partial(_shrink, failure, turns), answers.append, shrinks=True)
        except NoProcessError as error:
            raise DiedError(str(error)) from None
        while not answers:
            self._go_on()
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    # --- the processes ----------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Take the results of the next processes that end. Waits for one if none has.

        Meanwhile, begins parts in free places, and passes an interrupt on to the processes.
        """
        with self._bars:
            while self._under_way or self._has_more():
                while self._has_more() and len(self._under_way) < self._jobs:
                    self._begin_next()
                if self._interrupt.came:
                    for each in self._under_way:
                        each.process.let_end()
                over = first_over([each.process for each in self._under_way], LOOKED_EVERY_S)
                for each in [each for each in self._under_way if each.process in over]:
                    self._take(each)
                if over:
                    return
                self._show()

    def _has_more(self) -> bool:
        if self._interrupt.came:
            return False
        return self._seeds_begun < len(self._seeds) or (self._newest is not None and self._newest.has_more())

    def _begin_next(self) -> None:
        one = self._newest
        if one is None or not one.has_more():
            seed = self._seeds[self._seeds_begun]
            one = _Seed(seed, parts_of(self._scenario, seed), now_s())
        number = one.begun
        part = one.parts[number]
        try:
            self._begin(name_of(part, one.seed), partial(_play, part), partial(self._ended, one, number))
        except NoProcessError:
            if not self._under_way:
                raise
            self._jobs = len(self._under_way)  # use the processes that the machine allows
            return
        one.begun += 1
        if one is not self._newest:
            self._newest = self._begun[one.seed] = one
            self._seeds_begun += 1

    def _begin(
        self, what: str, operation: Callable[[Side], Any], ended: Callable[[Any], None], *, shrinks: bool = False
    ) -> None:
        process = SideProcess(operation)
        self._under_way.append(_UnderWay(process, self._bars.add(what), shrinks, ended))

    def _take(self, over: _UnderWay) -> None:
        self._under_way.remove(over)
        self._bars.drop(over.bar)
        try:
            given = over.process.take()
        except Exception as error:
            given = error
        over.ended(given)

    def _ended(self, one: _Seed, number: int, given: PartPlayed | Exception) -> None:
        one.given[number] = given
        one.ended_s = now_s()
        self._plays_over += 1

    def _show(self) -> None:
        if not self._bars.is_due():
            return
        begun = sum(each.process.stand.share for each in self._under_way if not each.shrinks)
        of_all = f"{self._plays_over} of {self._plays} over"
        self._bars.stand(self._bar_of_all, (self._plays_over + begun) / self._plays, counted=of_all)
        for each in self._under_way:
            stand = each.process.stand
            if each.shrinks:
                self._bars.stand(each.bar, 0.0, counted=f"run {stand.count}")
            else:
                self._bars.stand(each.bar, stand.share, virtual=virtual(stand.virtual_s), counted=pods(stand.count))
        self._bars.refresh()


# --- inside the processes ---------------------------------------------------------------------------------------------


def _play(part: PlayPart, side: Side) -> PartPlayed:
    def show(play: Play) -> None:
        stand = side.stand
        stand.share, stand.virtual_s, stand.count = play.share(), at_s(play), come(play)

    play, _ = played(lambda: Play(part.scenario, part.seed), side.must_stop, show)
    return part_played(part, play)


def _shrink(failure: Failure, turns: int, side: Side) -> tuple[Failure, int]:
    def told(runs: int) -> None:
        side.stand.count = runs

    return shrunk_quietly(failure, turns, side.must_stop, told)
