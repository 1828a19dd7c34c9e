"""What a thread knows of the actor it works for, and the light flag that says an actor has stopped."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actors.kernel.cell import Cell
    from actors.kernel.dispatcher import StandingClock


class _ForCell(threading.local):
    cell: Cell | None = None


context = _ForCell()
"""Whose turn runs on this thread, where there are several."""

constructing = _ForCell()
"""For whom an actor is being constructed on this thread: how the constructor finds its cell."""


def whose_turn(clock: StandingClock | None) -> Cell | None:
    """The sender of what is told here, and the one that must not block. In a world of one thread its clock knows."""
    return context.cell if clock is None else clock.cell


class StoppedFlag(threading.Event):
    """Pykka asks an Event whether an actor has stopped; a real one costs more than the rest of an idle actor."""

    def __init__(self) -> None:  # without the base's condition, which only wait() needs
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True

    def clear(self) -> None:
        raise RuntimeError("an actor that has stopped stays stopped")

    def wait(self, timeout: float | None = None) -> bool:
        raise RuntimeError("wait for an actor's end with ref.stop() or watch it")
