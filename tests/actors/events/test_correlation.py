"""Which events are combined, counted and held back, and what waits when too many want to leave."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.events.sending import (
    BURST,
    COMBINED,
    COMBINING_NS,
    MAX_AGE_NS,
    PLAIN_MESSAGES,
    REFILL_NS,
    REMEMBERED,
    EventCorrelation,
    EventQueue,
    Series,
)
from actors.messages.events import RecordEvent

SECOND_NS = 1_000_000_000


def event(
    message: str = "m", reason: str = "Created", name: str = "web", place: str = "", kind: str = "Normal"
) -> RecordEvent:
    return RecordEvent("Pod", f"uid-{name}", "default", name, kind, reason, message, place)


class Rules:
    """The rules with a clock that is set by hand."""

    def __init__(self) -> None:
        self.correlation = EventCorrelation()
        self.now_ns = SECOND_NS

    def observe(self, *events: RecordEvent) -> list[tuple[str, int, bool]]:
        seen = []
        for each in events:
            series, to_be_sent = self.correlation.observe(each, self.now_ns, self.now_ns)
            seen.append((series.message, series.count, to_be_sent))
        return seen


# (spec 15.3)
def test_equal_events_are_one_series_with_a_count():
    rules = Rules()
    assert rules.observe(event("a"), event("b"), event("a")) == [("a", 1, True), ("b", 1, True), ("a", 2, True)]


def test_pods_that_are_gone_leave_nothing_behind():
    rules = Rules()
    told = [event(message, reason, name) for name in ("web", "db") for reason in "ab" for message in "xyz"]
    rules.observe(*told)
    remembered = len(rules.correlation)
    rules.correlation.forget({"uid-web"})
    assert len(rules.correlation) == remembered / 2
    assert rules.observe(event("x", "a", "db"), event("x", "a", "web")) == [("x", 2, True), ("x", 1, True)]
    rules.correlation.forget({"uid-web", "uid-db", "never heard of"})
    assert len(rules.correlation) == 0


@pytest.mark.parametrize(
    "other",
    [
        event("a", reason="Started"),
        event("a", name="db"),
        event("a", place="spec.containers{c}"),
        RecordEvent("Pod", "another", "default", "web", "Normal", "Created", "a"),
        RecordEvent("Pod", "uid-web", "default", "web", "Warning", "Created", "a"),
    ],
)
def test_events_that_differ_in_any_field_are_separate_events(other: RecordEvent):
    rules = Rules()
    assert rules.observe(event("a"), other) == [("a", 1, True), ("a", 1, True)]


# (spec 15.3)
def test_the_tenth_message_of_a_kind_and_those_after_it_are_combined():
    rules = Rules()
    seen = rules.observe(*(event(str(number)) for number in range(13)))
    assert [message for message, _, _ in seen[:9]] == [str(number) for number in range(9)]
    assert seen[9:] == [(f"{COMBINED}{number}", count, True) for count, number in enumerate(range(9, 13), 1)]


def test_an_event_sent_before_combining_keeps_its_own_count():
    rules = Rules()
    rules.observe(*(event(str(number)) for number in range(12)))
    assert rules.observe(event("3")) == [("3", 2, True)]
    assert rules.observe(event("11")) == [(COMBINED + "11", 4, True)]


@pytest.mark.parametrize(
    ("silence_ns", "combined"), [(COMBINING_NS, True), (COMBINING_NS + 1, False)], ids=["10 min", "more"]
)
def test_combining_ends_after_a_quiet_period(silence_ns: int, combined: bool):
    rules = Rules()
    rules.observe(*(event(str(number)) for number in range(12)))
    rules.now_ns += silence_ns
    (message, _, _) = rules.observe(event("new"))[0]
    assert message == (COMBINED + "new" if combined else "new")


def test_another_object_and_another_reason_are_combined_apart():
    rules = Rules()
    rules.observe(*(event(str(number)) for number in range(12)))
    assert rules.observe(event("x", name="db"), event("x", reason="Started")) == [("x", 1, True), ("x", 1, True)]


# (spec 15.4)
def test_an_object_may_send_a_burst_and_then_one_every_five_minutes():
    rules = Rules()
    sent = [to_be_sent for _, _, to_be_sent in rules.observe(*[event("same")] * (BURST + 3))]
    assert sent == [True] * BURST + [False] * 3
    rules.now_ns += REFILL_NS - 1
    assert rules.observe(event("same")) == [("same", BURST + 4, False)]
    rules.now_ns += 1
    assert rules.observe(event("same"), event("same")) == [("same", BURST + 5, True), ("same", BURST + 6, False)]
    assert rules.observe(event("same", name="db")) == [("same", 1, True)]


def test_endless_warnings_do_not_hold_back_other_events_of_the_object():
    rules = Rules()
    rules.observe(*[event("probe failed", "Unhealthy", kind="Warning")] * (BURST + 3))
    assert rules.observe(event("Stopping container", "Killing")) == [("Stopping container", 1, True)]
    assert rules.observe(event("hook failed", "FailedPreStopHook", kind="Warning")) == [("hook failed", 1, False)]


def test_the_number_of_remembered_events_is_bounded():
    rules = Rules()
    first = event(name="first")
    rules.observe(first)
    rules.observe(*(event(name=str(number)) for number in range(REMEMBERED)))
    assert rules.observe(first) == [("m", 1, True)]


_EVENTS = st.builds(
    event,
    message=st.sampled_from([f"m{number}" for number in range(14)]),
    reason=st.sampled_from(["Created", "BackOff"]),
    name=st.sampled_from(["web", "db"]),
    kind=st.sampled_from(["Normal", "Warning"]),
)
_STEPS = st.lists(st.tuples(_EVENTS, st.sampled_from([0, SECOND_NS, 60 * SECOND_NS, REFILL_NS])), max_size=120)


@settings(max_examples=60, deadline=None)
@given(_STEPS)
def test_every_event_is_counted_once_and_no_object_exceeds_its_allowance(steps: list[tuple[RecordEvent, int]]):
    correlation, now_ns = EventCorrelation(), 0
    series: dict[int, Series] = {}
    sent: Counter[tuple[str, str]] = Counter()
    for each, pause_ns in steps:
        now_ns += pause_ns
        found, to_be_sent = correlation.observe(each, now_ns, now_ns)
        assert found.message.removeprefix(COMBINED) == each.message
        series[id(found)] = found
        sent[each.name, each.type] += to_be_sent
    assert sum(each.count for each in series.values()) == len(steps)
    assert all(number <= BURST + now_ns // REFILL_NS for number in sent.values())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([f"m{number}" for number in range(40)]), max_size=200))
def test_without_a_silence_one_kind_is_at_most_ten_events(messages: list[str]):
    correlation = EventCorrelation()
    keys = {correlation.observe(event(message), at, at)[0].key for at, message in enumerate(messages, 1)}
    assert len(keys) <= PLAIN_MESSAGES + 1


# --- the queue ------------------------------------------------------------------------------------------------------


def series(reason: str, name: str, at_ns: int = 0) -> Series:
    told = event(reason=reason, name=name)
    return Series(name, told, told.message, at_ns, last_ns=at_ns)


def drain(queue: EventQueue, now_ns: int = 0) -> list[str]:
    taken = []
    while (each := queue.take(now_ns)) is not None:
        taken.append(each.event.name)
    return taken


def test_a_queue_keeps_the_order_across_reasons_and_holds_a_series_once():
    queue = EventQueue()
    first = series("Created", "1")
    for each in (first, series("Started", "2"), first, series("Created", "3")):
        queue.offer(each)
    assert len(queue) == 3
    assert drain(queue) == ["1", "2", "3"]
    assert drain(queue) == []


def test_a_full_queue_drops_the_oldest_event_of_the_most_frequent_reason():
    queue = EventQueue(limit=4)
    queue.offer(series("Rebooted", "node"))
    for number in range(6):
        queue.offer(series("Created", str(number)))
    assert queue.lost == 3
    assert drain(queue) == ["node", "3", "4", "5"]


def test_events_older_than_the_api_servers_retention_are_not_sent():
    queue = EventQueue()
    queue.offer(series("Created", "old", at_ns=0))
    queue.offer(series("Created", "young", at_ns=1))
    assert drain(queue, now_ns=MAX_AGE_NS + 1) == ["young"]
    assert queue.lost == 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 30)), max_size=80), st.integers(1, 10))
def test_a_queue_never_exceeds_its_bound_and_loses_none_uncounted(offers: list[tuple[str, int]], limit: int):
    queue = EventQueue(limit)
    made = {key: series(key[0], f"{key[0]}{key[1]}") for key in set(offers)}
    entered = 0
    for key in offers:
        before = len(queue) + queue.lost
        queue.offer(made[key])
        entered += len(queue) + queue.lost - before
        assert len(queue) <= limit
    taken = drain(queue)
    assert len(taken) == len(set(taken))
    assert len(taken) + queue.lost == entered
    if offers:
        assert taken[-1] == made[offers[-1]].event.name or offers[-1] in offers[:-1]
