"""How a command watches a play: a bar with virtual and real time, an interrupt that ends it in order, and quiet.

The bar goes to standard error, when somebody sees it; else there is none.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from simulation.play import Play

SECOND_NS = 10**9
SLICE_NS = SECOND_NS // 2
"""Virtual time between two looks at the bar and at the signal."""
SHOWN_EVERY_S = 0.1


@dataclass(slots=True)
class Interrupt:
    """Whether somebody wants it to end."""

    came: bool = False


def watch(begin: Callable[[], Play], interrupt: Interrupt, *, quiet: bool) -> tuple[Play, float]:
    """Play what begins to its end, or to an interrupt: the play, and seconds of real time."""
    console = Console(stderr=True)
    began_s = console.get_time()
    with few_collections(), silence():
        play = begin()
        with _bar(play.seed, console, quiet) as show:
            while not play.done and not interrupt.came:
                play.advance(SLICE_NS)
                show(play)
    return play, console.get_time() - began_s


@contextlib.contextmanager
def _bar(seed: int, console: Console, quiet: bool) -> Iterator[Callable[[Play], None]]:
    columns = (
        TextColumn("seed {task.fields[seed]}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[virtual]} virtual"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[pods]} pods"),
    )
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, auto_refresh=False, disable=hidden) as progress:
        task = progress.add_task("", total=1.0, seed=seed, virtual="0 s", pods=0)
        shown_s = console.get_time()

        def show(play: Play) -> None:
            nonlocal shown_s
            if hidden or console.get_time() - shown_s < SHOWN_EVERY_S:
                return
            shown_s = console.get_time()
            virtual = f"{play.world.now_ns() // SECOND_NS} s"
            progress.update(task, completed=play.share(), virtual=virtual, pods=len(play.world.chronicle.pods))
            progress.refresh()

        yield show


@contextlib.contextmanager
def interruptible(interrupt: Interrupt) -> Iterator[None]:
    """The first SIGINT ends the play at the next look; a second one is Python's own."""

    def came(number: int, frame: object) -> None:
        interrupt.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, came)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """What thousands of agents log is of no use here, and costs: the trace tells what they did."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextlib.contextmanager
def few_collections(grown_by: int = 5_000_000) -> Iterator[None]:
    """Nearly all that a simulation lets go is freed by its counts; looking for rings seldom saves time.

    `grown_by`: how many objects more there are when it looks. 100,000 in rings take some 15 MB until then.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(grown_by, 20, 100)
    try:
        yield
    finally:
        gc.freeze()  # what is here now counts as old: else the next object made would have all of it looked through
        gc.set_threshold(*before)
        gc.unfreeze()


def leave_rings_at_exit() -> None:
    """What a process that ends leaves in rings goes with it: Python need not look through all that there is, twice."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
