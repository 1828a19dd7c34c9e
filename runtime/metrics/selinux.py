"""Names of metrics about the SELinux labels with which volumes are mounted (KEP-1710).

A kubelet counts each try of a pod anew. Here each says how many volumes it is true of now.
"""

from __future__ import annotations

from runtime.metrics.families import gauge, in_module

_OF_MODE, _OF_PLUGIN = ("access_mode",), ("volume_plugin", "access_mode")
LABELS_ADMITTED = gauge(
    "volume_manager_selinux_volumes_admitted_total",
    "Volumes whose SELinux label is that of all their containers.",
    *_OF_PLUGIN,
)
LABEL_ERRORS = gauge(
    "volume_manager_selinux_container_errors_total",
    "Volumes that are refused, as a container has options that are not an SELinux label.",
    *_OF_MODE,
)
LABEL_WARNINGS = gauge(
    "volume_manager_selinux_container_warnings_total",
    "Volumes that the gate SELinuxMount would refuse, as a container has options that are not an SELinux label.",
    *_OF_MODE,
)
POD_LABEL_ERRORS = gauge(
    "volume_manager_selinux_pod_context_mismatch_errors_total",
    "Volumes that are refused, as the containers of their pod have several SELinux labels.",
    *_OF_MODE,
)
POD_LABEL_WARNINGS = gauge(
    "volume_manager_selinux_pod_context_mismatch_warnings_total",
    "Volumes that the gate SELinuxMount would refuse, as the containers of their pod have several SELinux labels.",
    *_OF_MODE,
)
VOLUME_LABEL_ERRORS = gauge(
    "volume_manager_selinux_volume_context_mismatch_errors_total",
    "Volumes that are refused, as another pod has them with another SELinux label.",
    *_OF_PLUGIN,
)
VOLUME_LABEL_WARNINGS = gauge(
    "volume_manager_selinux_volume_context_mismatch_warnings_total",
    "Volumes that the gate SELinuxMount would refuse, as another pod has them with another SELinux label.",
    *_OF_PLUGIN,
)

FAMILIES = in_module(globals())
