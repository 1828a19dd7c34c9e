"""Seeds of a scenario side by side: each is played in a process of its own, so many at a time.

Seeds share nothing, and a play does not know where it runs: what each comes to is the same to the last message. It is
handed out in the order of the seeds, whoever was over first. A failure is shrunk in a process of its own, too, while
the next seeds are played. A process per seed makes the most memory that was used that of this seed, and what it took is
free when it is over; one that dies is told with its seed, and hurts no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from rich.progress import TaskID

from cli.failed_runs import shrunk_quietly
from cli.play_bars import PlayBars
from cli.play_watch import Interrupt, at_s, come, played, pods, virtual
from cli.seed_played import SeedPlayed, seed_played
from cli.side_process import DiedError, NoProcessError, Side, SideProcess, first_over
from simulation.failure import Failure
from simulation.play import Play
from simulation.scenario import Scenario

LOOKED_EVERY_S = 0.1
"""For an interrupt, and how far all of it is."""


@dataclass(frozen=True, slots=True)
class SeedLost:
    """Its process has died; `how`."""

    seed: int
    how: str


@dataclass(slots=True, eq=False)
class _UnderWay:
    """A process, and its bar. `ended`: told what it gave, or how it failed."""

    process: SideProcess[Any]
    bar: TaskID
    shrinks: bool
    ended: Callable[[Any], None]


class SeedsSideBySide:
    """See the module; a context at whose end no process is left. `jobs`: how many seeds at a time."""

    def __init__(
        self, scenario: Scenario, seeds: Sequence[int], jobs: int, interrupt: Interrupt, *, quiet: bool
    ) -> None:
        self._scenario = scenario
        self._seeds = seeds
        self._jobs = jobs
        self._interrupt = interrupt
        self._begun = 0
        self._were_over = 0
        self._under_way: list[_UnderWay] = []
        self._over: dict[int, SeedPlayed | Exception] = {}
        """By seed: what was not handed out yet."""
        self._bars = PlayBars(quiet=quiet)
        self._bar_of_all = self._bars.add("all seeds")

    def __enter__(self) -> SeedsSideBySide:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._under_way:
            each.process.kill()

    def played(self) -> Iterator[SeedPlayed | SeedLost]:
        """What each seed came to, in their order; after an interrupt, what those came to that had begun. Raises what
        a play raised, and `NoProcessError`.
        """
        for number, seed in enumerate(self._seeds):
            while seed not in self._over:
                if self._interrupt.came and number >= self._begun:
                    return
                self._go_on()
            given = self._over.pop(seed)
            if isinstance(given, DiedError):
                yield SeedLost(seed, str(given))
            elif isinstance(given, Exception):
                raise given
            else:
                yield given

    def shrunk(self, failure: Failure, turns: int) -> tuple[Failure, int]:
        """As `cli.failed_runs.Shrinking`, while seeds are played on. Raises `DiedError`."""
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
        """Until some process is over, or everybody was told to end; let seeds begin for which there is room."""
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
        return not self._interrupt.came and self._begun < len(self._seeds)

    def _begin_next(self) -> None:
        seed = self._seeds[self._begun]
        try:
            self._begin(f"seed {seed}", partial(_play, self._scenario, seed), partial(self._ended, seed))
            self._begun += 1
        except NoProcessError:
            if not self._under_way:
                raise
            self._jobs = len(self._under_way)  # as many as the machine gives

    def _begin(
        self, what: str, deed: Callable[[Side], Any], ended: Callable[[Any], None], *, shrinks: bool = False
    ) -> None:
        process = SideProcess(deed)
        self._under_way.append(_UnderWay(process, self._bars.add(what), shrinks, ended))

    def _take(self, over: _UnderWay) -> None:
        self._under_way.remove(over)
        self._bars.drop(over.bar)
        try:
            given = over.process.take()
        except Exception as error:
            given = error
        over.ended(given)

    def _ended(self, seed: int, given: SeedPlayed | Exception) -> None:
        self._over[seed] = given
        self._were_over += 1

    def _show(self) -> None:
        if not self._bars.is_due():
            return
        begun = sum(each.process.stand.share for each in self._under_way if not each.shrinks)
        of_all = f"{self._were_over} of {len(self._seeds)} over"
        self._bars.stand(self._bar_of_all, (self._were_over + begun) / len(self._seeds), counted=of_all)
        for each in self._under_way:
            stand = each.process.stand
            if each.shrinks:
                self._bars.stand(each.bar, 0.0, counted=f"run {stand.count}")
            else:
                self._bars.stand(each.bar, stand.share, virtual=virtual(stand.virtual_s), counted=pods(stand.count))
        self._bars.refresh()


# --- what they do -----------------------------------------------------------------------------------------------------


def _play(scenario: Scenario, seed: int, side: Side) -> SeedPlayed:
    def show(play: Play) -> None:
        stand = side.stand
        stand.share, stand.virtual_s, stand.count = play.share(), at_s(play), come(play)

    return seed_played(*played(lambda: Play(scenario, seed), side.must_stop, show))


def _shrink(failure: Failure, turns: int, side: Side) -> tuple[Failure, int]:
    def told(runs: int) -> None:
        side.stand.count = runs

    return shrunk_quietly(failure, turns, side.must_stop, told)
