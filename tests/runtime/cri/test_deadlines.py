"""The time a verb gets when its caller names none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.cri.deadlines import deadline_ns
from runtime.cri.endpoint import parse_endpoint
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.line import Line
from runtime.cri.messages import (
    CheckpointContainerRequest,
    CriMessage,
    ExecSyncRequest,
    GetEventsRequest,
    ListContainersRequest,
    PullImageRequest,
    RunPodSandboxRequest,
    StopContainerRequest,
)
from runtime.cri.verbs import (
    CHECKPOINT_CONTAINER,
    EXEC_SYNC,
    GET_CONTAINER_EVENTS,
    LIST_CONTAINERS,
    PULL_IMAGE,
    RUN_POD_SANDBOX,
    STOP_CONTAINER,
)

S = 10**9


@pytest.mark.parametrize(
    ("verb", "request_", "expected_ns"),
    [
        (LIST_CONTAINERS, ListContainersRequest(), 100 * S),
        (RUN_POD_SANDBOX, RunPodSandboxRequest(), 200 * S),
        (PULL_IMAGE, PullImageRequest(), None),
        (STOP_CONTAINER, StopContainerRequest(timeout=30), 130 * S),
        (STOP_CONTAINER, StopContainerRequest(timeout=0), 100 * S),
        (STOP_CONTAINER, StopContainerRequest(timeout=-1), 100 * S),
        (EXEC_SYNC, ExecSyncRequest(timeout=5), 105 * S),
        (EXEC_SYNC, ExecSyncRequest(timeout=0), None),
        (CHECKPOINT_CONTAINER, CheckpointContainerRequest(timeout=60), 160 * S),
        (GET_CONTAINER_EVENTS, GetEventsRequest(), None),
    ],
    ids=str,
)
def test_a_verb_gets_the_base_and_what_it_is_told_to_wait(
    verb: Any, request_: CriMessage, expected_ns: int | None
) -> None:
    assert deadline_ns(verb, request_, 100 * S) == expected_ns


def test_a_deadline_centuries_away_has_not_passed(tmp_path: Path) -> None:
    """A pod may have 2^63-1 seconds to end, and its runtime gets as long for StopContainer."""
    line = Line(parse_endpoint(f"unix://{tmp_path}/nobody.sock"))
    answer = line.ask("/runtime.v1.RuntimeService/Version", "Version", b"", bytes, (2**63 - 1) * S)
    with pytest.raises(CriError) as caught:
        answer.result(120)
    assert caught.value.code is StatusCode.UNAVAILABLE
    line.close()
