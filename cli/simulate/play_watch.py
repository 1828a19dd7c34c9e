"""How a command runs a play.

It shows a bar with virtual and real time, ends the play in order at an interrupt, and silences logs.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

import msgspec

from cli.silence import silence
from cli.simulate.play_bars import PlayBars, now_s
from runtime.io.rings import few_collections
from simulation.play.play import Play

SECOND_NS = 10**9
SLICE_NS = SECOND_NS // 2
"""Virtual time between two updates of the bar and checks of the signal."""


class Interrupt(msgspec.Struct):
    """Whether SIGINT has come."""

    came: bool = False


def watch(what: str, begin: Callable[[], Play], interrupt: Interrupt, *, quiet: bool) -> tuple[Play, float]:
    """Play to the end, or to an interrupt.

    Returns the play, and seconds of real time. `what`: the text beside the bar.
    """
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
    """Play to the end, or until it must stop. Returns the play, and seconds of real time.

    `show` is called after every piece of virtual time.
    """
    began_s = now_s()
    with few_collections(), silence():
        play = begin()
        while not play.done and not must_stop():
            play.advance(SLICE_NS)
            show(play)
    return play, now_s() - began_s


def at_s(play: Play) -> int:
    """Virtual seconds so far."""
    return play.world.now_ns() // SECOND_NS


def come(play: Play) -> int:
    """How many pods exist or existed."""
    return len(play.world.chronicle.pods)


def virtual(seconds: int) -> str:
    """Virtual time for a bar."""
    return f"{seconds} s virtual"


def pods(count: int) -> str:
    """Pods for a bar."""
    return f"{count} pods"


@contextlib.contextmanager
def interruptible(interrupt: Interrupt) -> Iterator[None]:
    """The first SIGINT ends the play after the current piece; a second one raises KeyboardInterrupt."""
    before = signal.getsignal(signal.SIGINT)
    listen(interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def listen(interrupt: Interrupt) -> None:
    """Reset the flag, so that the next SIGINT counts as the first."""

    def came(number: int, frame: object) -> None:
        interrupt.came = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    interrupt.came = False
    signal.signal(signal.SIGINT, came)
