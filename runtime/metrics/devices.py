"""Names of metrics about device plugins."""

from __future__ import annotations

from runtime.metrics.families import counter, histogram, in_module

_RESOURCE = "resource_name"
REGISTRATIONS = counter("kubelet_device_plugin_registration_total", "Device plugins that registered.", _RESOURCE)
ALLOC_DURATION = histogram(
    "kubelet_device_plugin_alloc_duration_seconds",
    "How long a device plugin took to say what a container needs, in seconds.",
    _RESOURCE,
)

FAMILIES = in_module(globals())
