"""Which moments of a run get a fault."""

from __future__ import annotations

from simulation.operators.keys import Key, read_key
from simulation.operators.records import Asked, Record, Shown
from simulation.sweep.plan import plan


def asked(text: str, step: int = 0, code: int = 200, changed: bool = True) -> Asked:
    return Asked(read_key(text), code, step, 1, changed)


def shown(text: str, step: int = 0) -> Shown:
    return Shown(read_key(text), step)


def of_kind(first: Record, kind: str) -> list[Key]:
    return [fault.at for fault in plan(first, [kind]).faults]


def test_ten_pods_of_one_template_cost_what_one_costs() -> None:
    first = Record(asked=tuple(asked(f"create pods default/web-{number} #1") for number in range(10)))
    assert of_kind(first, "kill-after") == [read_key("create pods default/web-0 #1")]


def test_old_reads_are_tried_where_most_was_done_and_kills_once() -> None:
    requests = [
        asked("create pods default/web #1"),
        asked("create services default/web #1"),
        asked("delete configmaps default/old #1"),
        asked("create secrets default/web #1"),
        asked("create pods default/web #2", 2),
    ]
    first = Record(asked=tuple(requests))
    assert of_kind(first, "stale-step") == [requests[at].key for at in (0, 2, 3, 4)]
    assert of_kind(first, "kill-after") == [requests[at].key for at in (0, 1, 2, 3)]
    assert of_kind(first, "stale-before") == [requests[4].key]
    assert of_kind(first, "stale-spec") == [requests[4].key]


def test_the_deletion_of_a_spec_is_shown_again_in_later_steps() -> None:
    requests = tuple(asked(f"create pods default/web #{step + 1}", step) for step in range(3))
    own = shown("DELETED pods default/web #1", 0)
    assert of_kind(Record(asked=requests, shown=(own,)), "stale-deletion") == []
    spec = shown("DELETED sites.example.com default/shop #1", 1)
    assert of_kind(Record(asked=requests, shown=(own, spec)), "stale-deletion") == [requests[2].key]


def test_a_refused_write_is_no_moment() -> None:
    assert plan(Record(asked=(asked("create pods default/web #1", code=409),))).faults == ()


def test_a_write_that_changes_nothing_is_no_moment() -> None:
    assert plan(Record(asked=(asked("patch pods default/web #1", changed=False),))).faults == ()


def test_only_updates_can_conflict() -> None:
    first = Record(asked=(asked("create pods default/web #1"), asked("patch pods default/web #1")))
    assert of_kind(first, "conflict") == [read_key("patch pods default/web #1")]


def test_a_kill_comes_before_the_first_write_of_a_step() -> None:
    requests = (
        asked("create pods default/a #1"),
        asked("create services default/a #1"),
        asked("delete pods default/a #1", 1),
    )
    assert set(of_kind(Record(asked=requests), "kill-before")) == {requests[0].key, requests[2].key}


def test_a_client_is_throttled_and_cut_off_once_for_each_resource() -> None:
    requests = tuple(map(asked, ("create pods default/a #1", "create pods default/b #1", "patch pods default/a #1")))
    events = tuple(map(shown, ("ADDED pods default/a #1", "DELETED pods default/a #1", "ADDED services default/a #1")))
    first = Record(asked=requests, shown=events)
    assert set(of_kind(first, "throttle")) == {requests[0].key, requests[2].key}
    assert set(of_kind(first, "cut")) == {events[1].key, events[2].key}


def test_each_kind_of_event_is_missed_in_each_step() -> None:
    events = (
        shown("ADDED pods default/web-0 #1"),
        shown("ADDED pods default/web-1 #1"),
        shown("ADDED pods default/web-0 #2", 1),
    )
    assert of_kind(Record(shown=events), "miss") == [events[0].key, events[2].key]
    assert of_kind(Record(shown=events), "late") == [events[0].key]


def test_pods_of_one_name_get_each_fault_of_pods_once() -> None:
    pods = (shown("READY pods default/web-0 #1"), shown("READY pods default/web-1 #1"))
    assert of_kind(Record(pods=pods), "node-dies") == [pods[0].key]


def test_what_a_limit_leaves_out_is_counted() -> None:
    first = Record(asked=(asked("create pods default/web #1"),))
    whole = plan(first)
    cut = plan(first, at_most=2)
    assert cut.faults == whole.faults[:2]
    assert cut.left_out == len(whole.faults) - 2
