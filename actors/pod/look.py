"""Looks at a pod in the runtime, and lets those take note who follow ends and hooks.

The observer asks the runtime only about what is in doubt. The first look also recalls what an earlier worker has
decided about the containers. A look may raise CriError; what was known before then stays.
"""

from __future__ import annotations

from actors.container_stops import ContainerStops
from actors.decided_ends import DecidedEnds
from actors.observed import ObservedPod
from actors.pod.view import PodView
from actors.pod_observer import PodObserver
from actors.post_starts import PostStarts


class PodLook:
    """See the module."""

    def __init__(
        self,
        view: PodView,
        observer: PodObserver,
        decided: DecidedEnds,
        stops: ContainerStops,
        post_starts: PostStarts,
    ) -> None:
        self._view = view
        self._observer = observer
        self._decided = decided
        self._stops = stops
        self._post_starts = post_starts
        self._settled: ObservedPod | None = None

    async def take(self) -> ObservedPod:
        """Everything of the pod, as it is now. Raises CriError."""
        if self._observer.in_doubt():
            await self._observer.look()
        observed = self._view.seen()
        if not self._decided.recalled:
            await self._decided.recall(anything=bool(observed.sandboxes))
            observed = self._view.seen()
        if observed is not self._settled or self._stops.stop_unsettled:
            self._stops.settle(observed)
            self._post_starts.settle(observed)
            observed = self._settled = self._view.seen()
        return observed
