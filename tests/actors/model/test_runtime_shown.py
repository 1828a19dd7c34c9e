"""What the runtime tells of a pod, put together, and whether it is news."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.model.runtime_shown import GONE, LOOK, STATES_AT_MOST, Shown, both, is_behind, news_in, shown_by
from config.frozen_map import FrozenMap
from runtime.cri.messages import (
    ContainerEventResponse,
    ContainerEventType,
    ContainerState,
    ContainerStatus,
    PodSandboxState,
    PodSandboxStatus,
)

CREATED, RUNNING = ContainerState.CONTAINER_CREATED, ContainerState.CONTAINER_RUNNING
EXITED, UNKNOWN = ContainerState.CONTAINER_EXITED, ContainerState.CONTAINER_UNKNOWN
DELETED = ContainerEventType.CONTAINER_DELETED_EVENT
NOT_READY = PodSandboxState.SANDBOX_NOTREADY
STATES = (CREATED, RUNNING, EXITED, UNKNOWN, GONE)


@pytest.mark.parametrize(
    ("told", "seen", "news"),
    [
        ({}, {}, ""),
        ({"a": RUNNING}, {"a": RUNNING}, ""),
        ({"a": CREATED}, {"a": RUNNING}, ""),
        ({"a": RUNNING}, {"a": EXITED, "b": RUNNING}, ""),
        ({"a": EXITED}, {"a": RUNNING}, "a"),
        ({"a": RUNNING}, {}, "a"),
        ({"a": UNKNOWN}, {"a": RUNNING}, "a"),
        ({"a": UNKNOWN}, {"a": EXITED}, "a"),
        ({"a": UNKNOWN}, {"a": UNKNOWN}, ""),
        ({"a": RUNNING}, {"a": UNKNOWN}, "a"),
        ({"a": GONE}, {}, ""),
        ({"a": GONE}, {"a": EXITED}, "a"),
        ({"a": LOOK}, {"a": EXITED}, "a"),
        ({"a": RUNNING, "b": EXITED}, {"a": RUNNING, "b": RUNNING}, "b"),
        ({"a": EXITED, "b": EXITED}, {"a": RUNNING}, "ab"),
    ],
)
def test_news_that_the_worker_has_already_seen_causes_no_look(told: Shown, seen: Shown, news: str):
    assert news_in(told, seen.get) == tuple(news)


@pytest.mark.parametrize(
    ("seen", "told", "behind"),
    [
        (RUNNING, EXITED, True),
        (EXITED, GONE, True),
        (EXITED, RUNNING, False),
        (EXITED, EXITED, False),
        (UNKNOWN, EXITED, False),
        (RUNNING, UNKNOWN, False),
        (RUNNING, LOOK, False),
        (None, RUNNING, False),
    ],
)
def test_a_worker_is_behind_when_it_saw_less_than_it_was_told(seen: int | None, told: int, behind: bool):
    assert is_behind(seen, told) == behind


_SHOWN = st.dictionaries(st.sampled_from("ab"), st.sampled_from([int(state) for state in STATES])).map(FrozenMap)


@given(_SHOWN, _SHOWN, _SHOWN)
def test_merging_two_notices_loses_no_news(first: Shown, second: Shown, there: Shown):
    seen = {each: state for each, state in there.items() if state != GONE}
    together = both(second, first)
    if not news_in(together, seen.get):
        for word in (first, second):
            # That something was made which is gone by now is no news.
            still_there = FrozenMap({each: state for each, state in word.items() if together[each] != GONE})
            assert not news_in(still_there, seen.get)
    assert both(first, second) == together


def test_an_event_tells_of_all_containers_and_the_sandbox_of_its_pod():
    event = ContainerEventResponse(
        container_id="a",
        pod_sandbox_status=PodSandboxStatus(id="s", state=NOT_READY),
        containers_statuses=(ContainerStatus(id="a", state=RUNNING), ContainerStatus(id="b", state=EXITED)),
    )
    assert shown_by(event) == {"a": RUNNING, "b": EXITED, "s": NOT_READY}


def test_an_event_of_a_pod_with_many_containers_tells_of_its_subject_alone():
    statuses = tuple(ContainerStatus(id=f"c{number}", state=RUNNING) for number in range(STATES_AT_MOST + 1))
    sandbox = PodSandboxStatus(id="s", state=NOT_READY)
    event = ContainerEventResponse(container_id="c7", pod_sandbox_status=sandbox, containers_statuses=statuses)
    assert shown_by(event) == {"c7": RUNNING, "s": NOT_READY}


def test_a_deleted_container_is_gone_whatever_else_its_event_says():
    statuses = (ContainerStatus(id="a", state=EXITED),)
    event = ContainerEventResponse(container_id="a", container_event_type=DELETED, containers_statuses=statuses)
    assert shown_by(event) == {"a": GONE}


def test_an_event_that_leaves_its_own_container_out_tells_nothing():
    assert shown_by(ContainerEventResponse(container_id="a")) is None
