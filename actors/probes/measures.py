"""Results and durations of probes, by container (spec 5). Dropped with their pod."""

from __future__ import annotations

from typing import Any

from actors.probes.rules import ProbeKind
from config.objects import Pod
from runtime.metrics import kubelet as names
from runtime.metrics.meters import NS_PER_SECOND, Meters
from runtime.probes import ProbeOutcome

_SUCCESSFUL = "successful"
_RESULTS = {ProbeOutcome.SUCCESS: _SUCCESSFUL, ProbeOutcome.WARNING: _SUCCESSFUL, ProbeOutcome.FAILURE: "failed"}
_UNKNOWN = "unknown"
_EVERY_RESULT = (*sorted(set(_RESULTS.values())), _UNKNOWN)


class ProbeMeter:
    """Counts the answers to one probe of one container. Do not use it after `forget_probe`."""

    __slots__ = ("_at_once", "_duration", "_heading", "_meters", "_totals", "_who")

    def __init__(self, meters: Meters, pod: Pod, container: str, kind: ProbeKind) -> None:
        self._meters = meters
        self._heading = kind.heading
        self._who = (container, pod.metadata.name, pod.metadata.namespace, pod.metadata.uid)
        self._totals: dict[str, Any] = {}
        self._duration: Any = None
        self._at_once: Any = None
        """The duration series, once its zeros also count as successes."""

    def succeeded_at_once(self) -> None:
        """Count a success that took no time.

        A cheaper form of `answered`, valid because nobody else counts here.
        """
        zeros = self._at_once
        if zeros is None:
            self.answered(ProbeOutcome.SUCCESS, 0)
        else:
            zeros.zeros += 1

    def answered(self, outcome: ProbeOutcome, took_ns: int) -> None:
        """Count one answer and its duration."""
        result = _SUCCESSFUL if outcome is ProbeOutcome.SUCCESS else _RESULTS.get(outcome, _UNKNOWN)
        total, duration = self._totals.get(result), self._duration
        if duration is None:
            duration = self._duration = self._meters.series(names.PROBE_DURATION, self._heading, *self._who[:3])
        if total is None:
            total = self._totals[result] = self._meters.series(names.PROBE_TOTAL, self._heading, result, *self._who)
            if total is not None and duration is not None and result is _SUCCESSFUL:
                total.beside(lambda: duration.zeros)
                self._at_once = duration
        if total is not None:
            total.inc()
        if duration is not None:
            duration.observe(took_ns / NS_PER_SECOND)


def forget_probe(meters: Meters, pod: Pod, container: str, kind: ProbeKind) -> None:
    """The probe no longer exists: remove its series."""
    who, heading = (container, pod.metadata.name, pod.metadata.namespace), kind.heading
    meters.drop(names.PROBE_DURATION, heading, *who)
    for result in _EVERY_RESULT:
        meters.drop(names.PROBE_TOTAL, heading, result, *who, pod.metadata.uid)
