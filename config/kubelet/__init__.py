"""KubeletConfiguration v1beta1: its structs, reading, defaults, validation and writing (spec 12.2)."""

from config.kubelet.configuration import (
    API_VERSION,
    KIND,
    KubeletConfiguration,
    MemoryReservation,
    RegisteredTaint,
    ShutdownGracePeriodByPodPriority,
)
from config.kubelet.crash_loop import CrashLoopPeriods, crash_loop_periods
from config.kubelet.eviction import DEFAULT_EVICTION_HARD, hard_thresholds
from config.kubelet.reading import (
    ReadConfiguration,
    configuration_document,
    default_configuration,
    legacy_configuration,
)
from config.kubelet.validation import Validated, validate
