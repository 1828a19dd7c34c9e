"""How a command watches a play: a bar with virtual and real time, an interrupt that ends it in order, and quiet."""

from __future__ import annotations

import atexit
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Iterator

import msgspec

from cli.simulate.play_bars import PlayBars, now_s
from simulation.play.play import Play

SECOND_NS = 10**9
SLICE_NS = SECOND_NS // 2
"""Virtual time between two looks at the bar and at the signal."""


class Interrupt(msgspec.Struct):
    """Whether somebody wants it to end."""

    came: bool = False


def watch(what: str, begin: Callable[[], Play], interrupt: Interrupt, *, quiet: bool) -> tuple[Play, float]:
    """Play what begins to its end, or to an interrupt: the play, and seconds of real time. `what`: beside the bar."""
    bars = PlayBars(quiet=quiet)
    bar = bars.add(what)

    def show(play: Play) -> None:
        if bars.is_due():
            bars.stand(bar, play.share(), virtual=virtual(at_s(play)), counted=pods(come(play)))
            bars.refresh()

    with bars:
        return played(begin, lambda: interrupt.came, show)


def played(
    begin: Callable[[], Play], must_stop: Callable[[], bool], show: Callable[[Play], object]
) -> tuple[Play, float]:
    """Play what begins to its end, or until it must stop: the play, and seconds of real time. `show`: told of every
    piece of virtual time.
    """
    began_s = now_s()
    with few_collections(), silence():
        play = begin()
        while not play.done and not must_stop():
            play.advance(SLICE_NS)
            show(play)
    return play, now_s() - began_s


def at_s(play: Play) -> int:
    """Virtual seconds that it has come to."""
    return play.world.now_ns() // SECOND_NS


def come(play: Play) -> int:
    """How many pods there are and were."""
    return len(play.world.chronicle.pods)


def virtual(seconds: int) -> str:
    """As a bar shows it."""
    return f"{seconds} s virtual"


def pods(count: int) -> str:
    """As a bar shows it."""
    return f"{count} pods"


@contextlib.contextmanager
def interruptible(interrupt: Interrupt) -> Iterator[None]:
    """The first SIGINT ends the play at the next look; a second one is Python's own."""
    before = signal.getsignal(signal.SIGINT)
    listen(interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def listen(interrupt: Interrupt) -> None:
    """From now on the next SIGINT is for it, whatever came before."""

    def came(number: int, frame: object) -> None:
        interrupt.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    interrupt.came = False
    signal.signal(signal.SIGINT, came)


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
