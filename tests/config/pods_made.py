"""Pods with a status, made of few words."""

from __future__ import annotations

from typing import Any

from config.documents.codec import from_builtins
from config.objects import Pod

START = "2026-01-02T03:04:05Z"
START_NS = 1_767_323_045 * 10**9


def pod(
    status: dict[str, Any],
    *,
    containers: int = 1,
    init: list[dict[str, Any]] | None = None,
    probes: dict[str, Any] | None = None,
    limits: dict[str, str] | None = None,
    node: str = "n",
    **metadata: Any,
) -> Pod:
    """Regular containers are c0, c1, ..., with these probes and limits.

    `init` has the init containers as they are.
    """
    names = [f"c{number}" for number in range(containers)]
    more = {"resources": {"limits": limits or {}}, **(probes or {})}
    document = {
        "metadata": {"name": "web", "namespace": "default", "uid": "u", "creationTimestamp": START, **metadata},
        "spec": {
            "containers": [{"name": name, "image": "i", **more} for name in names],
            "initContainers": init or [],
            "nodeName": node,
        },
        "status": status,
    }
    return from_builtins(document, Pod)


def running(name: str, ready: bool = True, **more: Any) -> dict[str, Any]:
    return {"name": name, "ready": ready, "started": True, "state": {"running": {"startedAt": START}}, **more}


def waiting(name: str, reason: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": message}}, **more}


def ended(name: str, exit_code: int = 0, reason: str = "", **more: Any) -> dict[str, Any]:
    state = {"exitCode": exit_code, "reason": reason, "finishedAt": START}
    return {"name": name, "state": {"terminated": state}, **more}
