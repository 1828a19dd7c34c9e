"""How long a crashing container waits: the three numbers of the configuration (spec 2.1).

`actors.pod_rules.back_off` has the back-off itself (doubling, reset).
"""

import msgspec

from config.kubelet.configuration import SECOND_NS, KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates

RESET_AFTER_NS = 600 * SECOND_NS
"""A container that ran this long since its last failure starts again at the initial period."""


class CrashLoopPeriods(msgspec.Struct, frozen=True):
    """The first and the longest wait between restarts of a container.

    Also how long it must run without failure until the back-off is reset.
    """

    initial_ns: int
    max_ns: int
    reset_after_ns: int = RESET_AFTER_NS


def default_crash_loop_max_ns(gates: FeatureGates) -> int:
    return (60 if gates.enabled("ReduceDefaultCrashLoopBackOffDecay") else 300) * SECOND_NS


def crash_loop_periods(configuration: KubeletConfiguration, gates: FeatureGates) -> CrashLoopPeriods:
    """The periods in force: the initial one is lowered to the longest when that is shorter (spec 2.1)."""
    initial_ns = (1 if gates.enabled("ReduceDefaultCrashLoopBackOffDecay") else 10) * SECOND_NS
    max_ns = default_crash_loop_max_ns(gates)
    chosen_ns = configuration.crash_loop_back_off.max_container_restart_period
    if chosen_ns is not None and gates.enabled("KubeletCrashLoopBackOffMax"):
        max_ns = chosen_ns
    return CrashLoopPeriods(min(initial_ns, max_ns), max_ns)
