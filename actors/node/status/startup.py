"""The durations of a node's start: before, during and after its registration (spec 11.7)."""

from __future__ import annotations

from runtime.metrics import kubelet as names
from runtime.metrics.families import Family
from runtime.metrics.meters import Meters

SECOND_NS = 1_000_000_000


class NodeStartup:
    """See the module. Each step counts once. `began_ns`: when the agent began. All times are monotonic."""

    def __init__(self, meters: Meters, began_ns: int) -> None:
        self._meters = meters
        self._began_ns = began_ns
        self._registering_ns: int | None = None
        self._registered_ns: int | None = None
        self._ready = False

    def registering(self, now_ns: int) -> None:
        """The registration begins."""
        if self._registering_ns is None:
            self._registering_ns = now_ns
            self._put(names.STARTUP_PRE_REGISTRATION, now_ns - self._began_ns)

    def registered(self, now_ns: int) -> None:
        """The Node object exists."""
        if self._registered_ns is None and self._registering_ns is not None:
            self._registered_ns = now_ns
            self._put(names.STARTUP_REGISTRATION, now_ns - self._registering_ns)

    def ready(self, now_ns: int) -> None:
        """The node is Ready."""
        if not self._ready and self._registered_ns is not None:
            self._ready = True
            self._put(names.STARTUP_POST_REGISTRATION, now_ns - self._registered_ns)
            self._put(names.STARTUP, now_ns - self._began_ns)

    def _put(self, family: Family, ns: int) -> None:
        self._meters.put(family, ns / SECOND_NS)
