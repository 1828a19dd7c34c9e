"""Why a pod is in its state, as the API shows it: its status, its conditions, its last events. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from config.documents.codec import DocumentError, from_builtins
from config.objects import Pod
from config.pods.words import trouble

EVENTS_SHOWN = 8

Json = dict[str, Any]


def is_well(pod: Json) -> bool:
    """Whether the pod is Running and ready, or has succeeded."""
    status = pod.get("status") or {}
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ())
    ends = "deletionTimestamp" in pod["metadata"]
    return not ends and (status.get("phase") == "Succeeded" or (status.get("phase") == "Running" and ready))


def one_line(pod: Json) -> str:
    """`default/web on node-0: ImagePullBackOff: app: Back-off pulling image ...`."""
    metadata, spec = pod["metadata"], pod["spec"]
    where = f" on {spec['nodeName']}" if spec.get("nodeName") else ""
    return f"{metadata['namespace']}/{metadata['name']}{where}: {_why(pod)}"


def explained(pod: Json, events: Iterable[Json]) -> str:
    """One line for its state, one for each condition that is not true, and its last events."""
    lines = [one_line(pod)]
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one.get("status") != "True":
            why = one.get("message") or one.get("reason") or "no reason"
            lines.append(f"  {one['type']} is {one['status']}: {why}")
    mine = [one for one in events if (one.get("involvedObject") or {}).get("uid") == pod["metadata"]["uid"]]
    mine.sort(key=lambda one: str(one.get("lastTimestamp") or one.get("eventTime") or ""))
    for one in mine[-EVENTS_SHOWN:]:
        times = f" ({count} times)" if (count := one.get("count") or 1) > 1 else ""
        lines.append(f"  {one.get('type')} {one.get('reason')}{times}: {one.get('message')}")
    return "\n".join(lines)


def _why(pod: Json) -> str:
    status = pod.get("status") or {}
    for one in status.get("conditions") or ():
        if one["type"] == "PodScheduled" and one["status"] != "True":
            return f"Pending: {one.get('message') or one.get('reason') or 'no node'}"
    if not pod["spec"].get("nodeName"):
        return "Pending: nobody has bound it to a node"
    if is_well(pod):
        return str(status.get("phase"))
    try:
        return trouble(from_builtins(pod, Pod))
    except DocumentError:  # Another program may write any status.
        return str(status.get("phase") or "Pending")
