"""How soon a pass follows one that did something and sees more to do. Pure.

One thing leads to the next at once: after an old sandbox a new one, after a sidecar an init container. A pod needs no
more passes for that than it has containers, and a few for its sandbox. What goes on for longer comes to nothing: the
runtime says that it has stopped a sandbox, say, and shows it running. It is tried on, since nobody else would mend it,
but after a pause that doubles. A pass that finds nothing to do ends the row.
"""

from __future__ import annotations

SANDBOX_PASSES = 3
"""The old one goes, what was in it goes, the new one comes."""
FIRST_PAUSE_NS = 1_000_000_000
MAX_DOUBLINGS = 6
"""So that the longest pause is about a minute."""


class PassesInARow:
    """See the module."""

    def __init__(self) -> None:
        self._count = 0

    def ended(self) -> None:
        """A pass has found nothing to do."""
        self._count = 0

    def pause_ns(self, containers: int) -> int:
        """How long the next pass of the row waits; `containers`: how many the pod has."""
        self._count += 1
        over = self._count - containers - SANDBOX_PASSES
        return 0 if over <= 0 else FIRST_PAUSE_NS << min(over - 1, MAX_DOUBLINGS)
