"""Which pod, container and log a request means, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from config.documents.codec import from_builtins
from config.objects import Pod
from runtime.http_server.heads import HttpRefusal
from runtime.http_server.targets import bare_id, log_request, logged_container, pod_named
from runtime.logs.lines import STDERR, LogReadOptions

NOW_NS = 1_000 * 10**9


def pod(state: dict[str, Any] | None = None, last: dict[str, Any] | None = None, **meta: Any) -> Pod:
    status = {
        "name": "main",
        "ready": False,
        "restartCount": 0,
        "image": "",
        "imageID": "",
        "state": state or {},
        "lastState": last or {},
    }
    if state and "running" in state:
        status["containerID"] = "containerd://now"
    document = {
        "metadata": {"name": "web", "namespace": "default", "uid": "1", **meta},
        "spec": {"containers": [{"name": "main", "image": "i"}]},
        "status": {"containerStatuses": [status] if state is not None else []},
    }
    return from_builtins(document, Pod)


RUNNING: dict[str, Any] = {"running": {}}
ENDED = {"terminated": {"exitCode": 1, "containerID": "containerd://ended"}}
ENDED_UNSEEN = {"terminated": {"exitCode": 137}}
LAST = {"terminated": {"exitCode": 1, "containerID": "containerd://last"}}
LOOPING = {"waiting": {"reason": "CrashLoopBackOff"}}


@pytest.mark.parametrize(
    ("state", "last", "now", "before"),
    [
        (RUNNING, None, "now", 'previous terminated container "main" in pod "web" not found'),
        (RUNNING, LAST, "now", "last"),
        (ENDED, LAST, "ended", "last"),
        (ENDED_UNSEEN, LAST, "last", "last"),
        (LOOPING, LAST, "last", "last"),
        (LOOPING, None, "waiting to start: CrashLoopBackOff", "not found"),
        ({"waiting": {"reason": "ErrImagePull"}}, None, "waiting to start: image can't be pulled", "not found"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, None, "trying and failing to pull image", "not found"),
        ({"waiting": {}}, None, "waiting to start: ContainerCreating", "not found"),
        (None, None, "waiting to start: ContainerCreating", "not found"),
    ],
)
def test_the_log_that_is_meant(state: Any, last: Any, now: str, before: str) -> None:
    for previous, expected in ((False, now), (True, before)):
        told = meant(pod(state, last), previous=previous)
        assert told == expected or (told.startswith("400 ") and expected in told)


def meant(found: Pod, *, previous: bool) -> str:
    """The id, or status and words of the refusal."""
    try:
        return logged_container(found, "main", previous=previous)
    except HttpRefusal as refusal:
        return f"{refusal.status} {refusal.text}"


# (spec 11.2.5)
def test_a_container_that_the_pod_does_not_have_is_not_found() -> None:
    with pytest.raises(HttpRefusal) as refused:
        logged_container(pod(RUNNING), "other", previous=False)
    assert refused.value.status == 404


# (spec 11.3.5)
def test_a_name_means_the_pod_that_is_not_being_deleted_unless_the_uid_differs() -> None:
    going = pod(RUNNING, uid="old", deletionTimestamp="2026-01-01T00:00:00Z")
    staying = pod(RUNNING, uid="new")
    names = {"namespace": "default", "pod": "web"}
    for pods in ((going, staying), (staying, going)):
        assert pod_named(pods, names) is staying
        assert pod_named(pods, {**names, "uid": "old"}) is going
    assert pod_named((going,), names) is going
    for wrong in ({**names, "uid": "x"}, {**names, "namespace": "other"}, {**names, "pod": "x"}):
        with pytest.raises(HttpRefusal):
            pod_named((going, staying), wrong)


def options(**query: str) -> Any:
    """What is to be shown, or the status of the refusal."""
    try:
        return log_request(tuple(query.items()), NOW_NS, split=True)
    except HttpRefusal as refusal:
        return refusal.status


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, LogReadOptions()),
        ({"follow": "true", "timestamps": "1"}, LogReadOptions(follow=True, timestamps=True)),
        ({"tail": "5"}, LogReadOptions(tail_lines=5)),
        ({"tail": "all"}, LogReadOptions()),
        ({"tail": "5", "tailLines": "0"}, LogReadOptions(tail_lines=0)),
        ({"limitBytes": "7", "sinceSeconds": "10"}, LogReadOptions(limit_bytes=7, since_ns=990 * 10**9)),
        ({"sinceTime": "1970-01-01T00:00:02.5+00:00"}, LogReadOptions(since_ns=2_500_000_000)),
        ({"stream": "Stderr"}, LogReadOptions(stream=STDERR)),
        ({"stream": "All", "tailLines": "1"}, LogReadOptions(tail_lines=1)),
    ],
)
# (spec 11.2.5)
def test_log_options_are_read_from_the_query(query: dict[str, str], expected: LogReadOptions) -> None:
    assert options(**query) == (expected, False)


def test_a_node_without_split_logs_shows_both_streams_and_names_the_gate_for_one() -> None:
    assert log_request((("stream", "All"),), NOW_NS) == (LogReadOptions(), False)
    with pytest.raises(HttpRefusal, match="PodLogsQuerySplitStreams of the node is off") as refused:
        log_request((("stream", "Stderr"),), NOW_NS)
    assert refused.value.status == 400


@pytest.mark.parametrize("name", ["follow", "previous", "timestamps"])
@pytest.mark.parametrize(
    ("text", "meant"),
    [(None, False), ("false", False), ("False", False), ("0", False), ("", True), ("true", True), ("1", True)]
    + [(odd, True) for odd in ("yes", "f", "no", "00")],
)
def test_a_switch_is_on_when_its_name_is_there_unless_it_is_said_to_be_off(
    name: str, text: str | None, meant: bool
) -> None:
    shown, previous = options(**({} if text is None else {name: text}))
    assert {"follow": shown.follow, "previous": previous, "timestamps": shown.timestamps}[name] is meant


def test_previous_is_told_apart_and_numbers_are_numbers() -> None:
    assert options(previous="T") == (LogReadOptions(), True)
    assert options(tailLines="٣") == options(tailLines="9" * 30) == options(limitBytes="1.5") == 400


def test_ids_lose_the_name_of_their_runtime() -> None:
    assert bare_id("containerd://abc") == bare_id("abc") == "abc"
