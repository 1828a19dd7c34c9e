"""What storage drivers are asked, and how long they take (`csi_operations_seconds`)."""

from __future__ import annotations

from collections.abc import Callable

from runtime.metrics import kubelet as names
from runtime.metrics.measured_volumes import NOT_MIGRATED
from runtime.metrics.meters import Meters


def drivers_asked(meters: Meters) -> Callable[[str, str, str, int], None]:
    """For `GrpcCsiDrivers`: driver, method, code and duration of each call."""

    def asked(driver: str, method: str, code: str, took_ns: int) -> None:
        meters.took(names.CSI_OPERATIONS, took_ns, driver, method, code, NOT_MIGRATED)

    return asked
