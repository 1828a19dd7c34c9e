"""The node's ids and versions: kernel, system, runtime and agent (`status.nodeInfo`, spec 9.5)."""

from __future__ import annotations

import re

from config.objects import NodeSwapStatus, NodeSystemInfo
from runtime.host.machine import MachineFacts

UNKNOWN_VERSION = "Unknown"
_SEMANTIC = re.compile(
    r"v?((?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}"
    r"(?:-(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)",
    re.ASCII,
)
_GENERIC = re.compile(r"v?((?:0|[1-9][0-9]*)(?:\.[0-9]+)+)", re.ASCII)


def system_info(machine: MachineFacts, runtime_name: str, runtime_version: str, version: str) -> NodeSystemInfo:
    """The `nodeInfo`. `runtime_name` empty: not known yet. The agent cannot know kube-proxy's version."""
    runtime = f"{runtime_name or 'unknown'}://{plain_version(runtime_version) or UNKNOWN_VERSION}"
    return NodeSystemInfo(
        machine_id=machine.machine_id,
        system_uuid=machine.system_uuid,
        boot_id=machine.boot_id,
        kernel_version=machine.kernel_version,
        os_image=machine.os_image,
        container_runtime_version=runtime,
        kubelet_version=version,
        kube_proxy_version="",
        operating_system=machine.operating_system,
        architecture=machine.architecture,
        swap=NodeSwapStatus(capacity=machine.swap_bytes) if machine.swap_bytes else None,
    )


def plain_version(text: str) -> str:
    """The version of a runtime as a kubelet shows it (`newRuntimeVersion`).

    A semantic version is whole. Of any other only the numbers stay: packages of Debian add `~ds1`. A text that begins
    with no version stays as it is.
    """
    text = text.strip()
    semantic = _SEMANTIC.fullmatch(text)
    if semantic is not None:
        return semantic[1]
    generic = _GENERIC.match(text)
    return text if generic is None else ".".join(str(int(each)) for each in generic[1].split("."))


def has_rebooted(published: NodeSystemInfo | None, machine: MachineFacts) -> bool:
    """Whether the machine was booted since its status was last published."""
    return published is not None and bool(published.boot_id) and published.boot_id != machine.boot_id
