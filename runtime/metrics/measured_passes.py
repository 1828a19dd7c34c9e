"""`PassMeters`: how long the passes of a pod's worker take, by a kubelet's names (spec 11.7)."""

from __future__ import annotations

from collections.abc import Callable

from config.objects import Pod
from config.pods.identity import CONFIG_SEEN
from config.values.api_time import ns_of
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters


class PassMeters:
    """The pass metrics of one worker."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._first = True

    def passed(self, operation: str | None, pod: Pod | None, took_ns: int, wall_ns: Callable[[], int]) -> None:
        """Record a pass of that operation; None: it has no name at a kubelet. `wall_ns`: the time of day."""
        if operation is None or pod is None:
            return
        if self._first:
            self._first = False
            operation = "create" if operation == "sync" else operation
            seen_ns = ns_of(pod.metadata.annotations.get(CONFIG_SEEN))
            if seen_ns is not None:
                self._meters.took(names.WORKER_START, max(0, wall_ns() - took_ns - seen_ns))
        self._meters.took(names.WORKER_DURATION, took_ns, operation)
