"""How soon a pass follows one that did something and has more to do. Pure.

One step leads to the next at once: a new sandbox follows an old one, an init container follows a sidecar. A pod needs
at most one such pass per container, and a few for its sandbox. A longer row makes no progress, as when the runtime
reports a sandbox as stopped but shows it running. The worker keeps trying, because nobody else would mend it, but after
a pause that doubles. A pass that finds nothing to do ends the row.

A pass looks at every container of its pod. A pod with thousands of them gets as many answers and reports, so passes at
once for each would cost the square of that. `rest_ns` spaces the passes of a large pod; a small one never rests.
"""

from __future__ import annotations

SANDBOX_PASSES = 3
"""Stop the old sandbox, remove its containers, make the new one."""
FIRST_PAUSE_NS = 1_000_000_000
MAX_DOUBLINGS = 6
"""The longest pause is then about a minute."""
FEW_CONTAINERS = 64
"""A pod with no more makes a pass whenever there is news."""
REST_PER_CONTAINER_NS = 100_000
"""Several times what a pass costs for each container."""


def rest_ns(containers: int) -> int:
    """How long a pod with so many containers gathers news after a pass, before the next one."""
    return 0 if containers <= FEW_CONTAINERS else containers * REST_PER_CONTAINER_NS


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
