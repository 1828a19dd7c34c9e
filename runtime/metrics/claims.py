"""Names of metrics about claims of devices, and what their drivers are asked."""

from __future__ import annotations

from collections.abc import Callable

from runtime.metrics.families import gauge, histogram, in_module, powers
from runtime.metrics.meters import Meters

_BUCKETS = powers(0.1, 400 ** (1 / 14), 15)
"""From 0.1 to 40 s, as a kubelet has them."""
DURATION = histogram(
    "dra_operations_duration_seconds",
    "How long it took until all claims of a pod were ready, or were given back, in seconds.",
    *("operation_name", "is_error"),
    buckets=_BUCKETS,
)
DRIVER_DURATION = histogram(
    "dra_grpc_operations_duration_seconds",
    "How long drivers for claims of devices took to answer, in seconds.",
    *("driver_name", "method_name", "grpc_status_code"),
    buckets=_BUCKETS,
)
IN_USE = gauge(
    "dra_resource_claims_in_use", "Claims that are prepared, by driver; <any> stands for all of them.", "driver_name"
)
ANY = "<any>"

FAMILIES = in_module(globals())


def dra_asked(meters: Meters) -> Callable[[str, str, str, int], None]:
    """An observer for `grpc_drivers`: it gets driver, method, code and duration of each call."""

    def asked(driver: str, method: str, code: str, took_ns: int) -> None:
        meters.took(DRIVER_DURATION, took_ns, driver, method, code)

    return asked
