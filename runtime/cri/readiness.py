"""Whether a container runtime can be worked with, by what it says of itself. Pure.

It must speak version 0.1.0 of runtime.v1 (spec 3.14), and its `RuntimeReady` and `NetworkReady` conditions must hold
(spec 2.12). A node waits for the conditions and goes on working.
"""

from __future__ import annotations

from runtime.cri.messages import RuntimeCondition, StatusResponse, VersionResponse

API_VERSION = "0.1.0"


def version_fault(version: VersionResponse) -> str:
    """Why a runtime cannot be worked with: it speaks another version of the interface.

    "" when it speaks ours.

    The field `version` decides. `runtime_api_version` is free: containerd says `v1` there, cri-o `v1` or `0.1.0`.
    """
    if version.version == API_VERSION:
        return ""
    name = f"{version.runtime_name or 'it'} {version.runtime_version}".strip()
    said = f"{name} says interface version {version.version or 'none'}, {API_VERSION} is needed"
    return f"container runtime at the runtime: {said}; use a runtime that serves runtime.v1"


def troubles(status: StatusResponse) -> tuple[str, str]:
    """Why no container can run, and why pods get no network; "" when they can."""
    conditions = status.status.conditions if status.status is not None else ()
    return (
        _trouble(conditions, "RuntimeReady", "the runtime does not say whether it is ready"),
        _trouble(conditions, "NetworkReady", "network state unknown"),
    )


def _trouble(conditions: tuple[RuntimeCondition, ...], kind: str, unknown: str) -> str:
    for condition in conditions:
        if condition.type == kind:
            return "" if condition.status else f"{kind}=false reason:{condition.reason} message:{condition.message}"
    return unknown
