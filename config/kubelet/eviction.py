"""Eviction settings: the signals, their default thresholds, and their valid values (spec 7.1).

Pure. The eviction actor acts on them. Values stay text here, because a share of a disk has no size before the size of
the disk is known.
"""

from collections.abc import Mapping

import msgspec

from config.documents.codec import DocumentError
from config.kubelet.configuration import KubeletConfiguration
from config.kubelet.paths import below
from config.values.durations import DurationError, parse_duration_ns
from config.values.quantity import QuantityError, parse_quantity

SIGNALS = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "containerfs.available",
    "containerfs.inodesFree",
    "pid.available",
    "allocatableMemory.available",
)

DEFAULT_EVICTION_HARD: Mapping[str, str] = {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
}


def with_default_thresholds(configuration: KubeletConfiguration) -> KubeletConfiguration:
    """Add the default hard thresholds to a configuration file that has none (spec 7.1, 12.1)."""
    if configuration.eviction_hard:
        return configuration
    return msgspec.structs.replace(configuration, eviction_hard=DEFAULT_EVICTION_HARD)


def hard_thresholds(configuration: KubeletConfiguration) -> Mapping[str, str]:
    """The hard thresholds in force, by signal.

    Disabled ones (`0%`, `100%`) and the derived ones of containerfs are left out.

    With `mergeDefaultEvictionSettings`, missing signals get their default (spec 7.1).
    """
    named = dict(configuration.eviction_hard)
    if named and configuration.merge_default_eviction_settings:
        named = {**DEFAULT_EVICTION_HARD, **named}
    return {
        signal: value
        for signal, value in named.items()
        if value not in ("0%", "100%") and not signal.startswith("containerfs.")
    }


def eviction_faults(configuration: KubeletConfiguration) -> list[DocumentError]:
    """Faults of the eviction maps.

    These are unknown signals, unreadable values, and soft thresholds without a grace period.
    """
    faults: list[DocumentError] = []
    hard, soft = configuration.eviction_hard, configuration.eviction_soft
    for path, amounts, at_zero in (
        ("$.evictionHard", hard, True),
        ("$.evictionSoft", soft, True),
        ("$.evictionMinimumReclaim", configuration.eviction_minimum_reclaim, False),
    ):
        for signal, value in amounts.items():
            faults += _signal_fault(path, signal)
            if reason := _amount_fault(value, at_zero):
                hint = "write a quantity such as 100Mi, or a share such as 10%"
                faults.append(DocumentError(below(path, signal), reason, hint))
    graces = configuration.eviction_soft_grace_period
    for signal, text in graces.items():
        where = below("$.evictionSoftGracePeriod", signal)
        faults += _signal_fault("$.evictionSoftGracePeriod", signal)
        try:
            if parse_duration_ns(text) < 0:
                faults.append(DocumentError(where, f"{text!r} is negative", "give a duration such as 1m30s"))
        except DurationError as error:
            faults.append(DocumentError(where, f"{text!r} is not a duration: {error.reason}", "write 1m30s"))
    for signal in soft:
        if signal not in graces:
            where = below("$.evictionSoft", signal)
            hint = f"set evictionSoftGracePeriod.{signal}, for example 1m30s"
            faults.append(DocumentError(where, "a soft threshold needs a grace period", hint))
    if configuration.eviction_max_pod_grace_period < 0:
        path = "$.evictionMaxPodGracePeriod"
        faults.append(DocumentError(path, "must not be negative", "give seconds; 0 leaves the pod's own"))
    if configuration.eviction_pressure_transition_period < 0:
        path = "$.evictionPressureTransitionPeriod"
        faults.append(DocumentError(path, "must not be negative", "give a duration such as 5m"))
    return faults


def _signal_fault(path: str, signal: str) -> list[DocumentError]:
    if signal in SIGNALS:
        return []
    return [DocumentError(below(path, signal), "unknown eviction signal", f"use one of {', '.join(SIGNALS[:-1])}")]


def _amount_fault(value: str, share_may_disable: bool) -> str | None:
    if value.endswith("%"):
        try:
            share = float(value[:-1])
        except ValueError:
            return f"{value!r} is not a percentage"
        if not 0 <= share <= 100:
            return f"{value!r} is not between 0% and 100%"
        return None if share > 0 or share_may_disable else f"{value!r} must be above 0%"
    try:
        return None if parse_quantity(value).nanos > 0 else f"{value!r} must be above zero"
    except QuantityError as error:
        return f"{value!r} is not a quantity: {error.reason}"
