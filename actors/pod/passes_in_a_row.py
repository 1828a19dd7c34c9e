"""How soon a pass follows one that did something and has more to do. Pure.

One step leads to the next at once: a new sandbox follows an old one, an init container follows a sidecar. A pod needs
at most one such pass per container, and a few for its sandbox. A longer row makes no progress, as when the runtime
reports a sandbox as stopped but shows it running. The worker keeps trying, because nobody else would mend it, but after
a pause that doubles. A pass that finds nothing to do ends the row.
"""

from __future__ import annotations

SANDBOX_PASSES = 3
"""Stop the old sandbox, remove its containers, make the new one."""
FIRST_PAUSE_NS = 1_000_000_000
MAX_DOUBLINGS = 6
"""The longest pause is then about a minute."""


class PassesInARow:
    def __init__(self) -> None:
        self._count = 0

    def ended(self) -> None:
        """A pass has found nothing to do."""
        self._count = 0

    def pause_ns(self, containers: int) -> int:
        """How long the next pass of the row waits; `containers`: the number of containers in the pod."""
        self._count += 1
        over = self._count - containers - SANDBOX_PASSES
        return 0 if over <= 0 else FIRST_PAUSE_NS << min(over - 1, MAX_DOUBLINGS)
