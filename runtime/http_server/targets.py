"""The pod, container and options that a request names (spec 11.2, 11.3). Pure.

A faulty request raises `HttpRefusal` with the status and the text that users of kubectl know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from config.objects import ContainerStatus, Pod
from runtime.http_server.heads import HttpRefusal, Query
from runtime.logs.lines import SECOND_NS, STDERR, STDOUT, LogReadOptions, time_ns

_FALSE = frozenset({"0", "false"})
_ALL_LINES = "all"
_STREAMS = {"": None, "All": None, "Stdout": STDOUT, "Stderr": STDERR}
_PULL_FAILURES = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def pod_named(pods: Sequence[Pod], names: Mapping[str, str]) -> Pod:
    """The pod of that namespace and name, and UID where one is given. Raises HttpRefusal.

    Of two that share a name, one is on its way out: the other is meant.
    """
    namespace, name, uid = names["namespace"], names["pod"], names.get("uid", "")
    found = [
        pod
        for pod in pods
        if pod.metadata.namespace == namespace and pod.metadata.name == name and uid in ("", pod.metadata.uid)
    ]
    if not found:
        raise HttpRefusal(404, f'pod "{name}" in namespace "{namespace}" does not exist on this node')
    return next((pod for pod in found if not pod.metadata.deletion_timestamp), found[0])


def check_container(pod: Pod, container: str) -> None:
    """Raises HttpRefusal when the pod has no container of that name."""
    spec = pod.spec
    if not any(
        each.name == container for each in (*spec.containers, *spec.init_containers, *spec.ephemeral_containers)
    ):
        raise HttpRefusal(404, f'container "{container}" not found in pod "{pod.metadata.name}"')


def logged_container(pod: Pod, container: str, *, previous: bool) -> str:
    """The runtime's id of the container whose log is meant. Raises HttpRefusal."""
    check_container(pod, container)
    status = _status_of(pod, container)
    now = status.state if status else None
    before = status.last_state.terminated if status and status.last_state else None
    what = f'container "{container}" in pod "{pod.metadata.name}"'
    if previous:
        if before is None or not before.container_id:
            raise HttpRefusal(400, f"previous terminated {what} not found")
        return bare_id(before.container_id)
    if status is not None and now is not None and now.running is not None and status.container_id:
        return bare_id(status.container_id)
    if now is not None and now.terminated is not None and now.terminated.container_id:
        return bare_id(now.terminated.container_id)
    if before is not None and before.container_id:
        return bare_id(before.container_id)
    reason = now.waiting.reason if now is not None and now.waiting is not None else None
    why = _PULL_FAILURES.get(reason or "", reason or "ContainerCreating")
    raise HttpRefusal(400, f"{what} is waiting to start: {why}")


def bare_id(container_id: str) -> str:
    """`containerd://abc` -> `abc`."""
    return container_id.partition("://")[2] or container_id


def _status_of(pod: Pod, container: str) -> ContainerStatus | None:
    status = pod.status
    if status is None:
        return None
    every = (*status.container_statuses, *status.init_container_statuses, *status.ephemeral_container_statuses)
    return next((each for each in every if each.name == container), None)


def log_request(query: Query, wall_ns: int, *, split: bool = False) -> tuple[LogReadOptions, bool]:
    """The log options, and whether the previous log is requested.

    `split`: one of the streams can be asked for (feature gate PodLogsQuerySplitStreams).

    Raises HttpRefusal: 400 for unreadable options, 422 for contradictory ones.
    """
    first = first_of(query)
    if first.get("tail") == _ALL_LINES:
        del first["tail"]
    tail = _number(first, "tailLines" if "tailLines" in first else "tail")
    limit, since_s = _number(first, "limitBytes"), _number(first, "sinceSeconds")
    follow, previous, timestamps = (_flag(first, name) for name in ("follow", "previous", "timestamps"))
    since_ns = None if since_s is None else wall_ns - since_s * SECOND_NS
    if since_time := first.get("sinceTime", ""):
        if since_s is not None:
            raise HttpRefusal(422, "at most one of sinceTime or sinceSeconds may be specified")
        since_ns = time_ns(since_time)
        if since_ns is None:
            raise HttpRefusal(400, f"sinceTime: {since_time!r} is not a time such as 2026-01-31T12:00:00Z")
    stream = first.get("stream", "")
    if stream not in _STREAMS:
        raise HttpRefusal(400, f"stream: {stream!r} is none of All, Stdout, Stderr")
    for name, value, least in (("tailLines", tail, 0), ("limitBytes", limit, 1), ("sinceSeconds", since_s, 1)):
        if value is not None and value < least:
            raise HttpRefusal(422, f"{name}: {value} is too small; the least is {least}")
    if tail is not None and _STREAMS[stream] is not None:
        raise HttpRefusal(422, "tailLines and a stream cannot be asked for together")
    if _STREAMS[stream] is not None and not split:
        raise HttpRefusal(
            400, f"stream: {stream} cannot be asked for: the feature gate PodLogsQuerySplitStreams of the node is off"
        )
    return LogReadOptions(follow, timestamps, since_ns, tail, limit, _STREAMS[stream]), previous


def first_of(query: Query) -> dict[str, str]:
    """Name -> its first value."""
    return dict(reversed(query))


def _flag(first: Mapping[str, str], name: str) -> bool:
    """Read a switch as an API server does: with its name it is on, unless its value says no."""
    return name in first and first[name].lower() not in _FALSE


def _number(first: Mapping[str, str], name: str) -> int | None:
    text = first.get(name, "")
    if not text:
        return None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 19):
        raise HttpRefusal(400, f"{name}: {text!r} is not a whole number")
    return int(text)
