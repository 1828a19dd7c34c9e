"""The times of one pod worker: its passes by what they did, and how soon the first one came (spec 11.7)."""

from __future__ import annotations

from collections.abc import Callable

from actors.pod_lifecycle import FINISHED, SYNCING, TERMINATED, TERMINATING, Stage
from actors.pod_status.times import ns_of
from config.objects import Pod
from config.pod_identity import CONFIG_SEEN
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters

_OPERATIONS = {SYNCING: "sync", TERMINATING: "terminating", TERMINATED: "terminated", FINISHED: "terminated"}


class WorkerMeasures:
    """See the module."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self._first = True

    def passed(self, stage: Stage, pod: Pod | None, took_ns: int, wall_ns: Callable[[], int]) -> None:
        """A pass has just ended, that found the pod in this stage. `wall_ns`: the time of day."""
        operation = _OPERATIONS.get(stage)
        if operation is None or pod is None:
            return
        if self._first:
            self._first = False
            operation = "create" if stage is SYNCING else operation
            seen_ns = ns_of(pod.metadata.annotations.get(CONFIG_SEEN))
            if seen_ns is not None:
                self._meters.took(names.WORKER_START, max(0, wall_ns() - took_ns - seen_ns))
        self._meters.took(names.WORKER_DURATION, took_ns, operation)
