"""Crash loops: 10, 20, 40 seconds and on, over restarts of the agent (spec 2.1, 3.5)."""

from __future__ import annotations

import msgspec
import pytest

from actors.model.observed import ObservedContainer
from actors.pod_rules.action_types import BackOffWait
from actors.pod_rules.back_off import after_own_kill, back_off, back_off_event, back_off_message
from config.kubelet.crash_loop import CrashLoopPeriods
from config.objects import ResourceRequirements
from runtime.cri.identity import RESOURCES, resources_text
from tests.actors.pod_pictures import (
    CREATED,
    EXITED,
    NOW_NS,
    PERIODS,
    RUNNING,
    SECOND_NS,
    UNKNOWN,
    container,
    picture,
    pod,
    seen,
)
from tests.actors.pod_rules.pod_decisions import act

WEB = container("web")


def loop(times: int, ran_ns: int = SECOND_NS, periods: CrashLoopPeriods = PERIODS, noted: bool = True) -> list[int]:
    """The waits, in seconds, after each of so many ends of a container.

    The container is restarted as soon as it may be.
    """
    waits, owed_ns = [], 0
    for attempt in range(times):
        last = seen("web", EXITED, attempt, 1, ended_ns=NOW_NS, back_off_ns=owed_ns, ran_ns=ran_ns)
        wait = back_off(WEB, last if noted else _unmarked(last), periods, NOW_NS)
        waits.append(max(0, wait.until_ns - NOW_NS) // SECOND_NS)
        owed_ns = wait.next_delay_ns
    return waits


def _unmarked(last: ObservedContainer) -> ObservedContainer:
    return msgspec.structs.replace(last, annotations={}, labels={})


# (spec 2.1.6)
def test_the_first_restart_is_immediate_and_later_waits_double_to_a_maximum() -> None:
    assert loop(9) == [0, 10, 20, 40, 80, 160, 300, 300, 300]


# (spec 2.1.6)
def test_a_maximum_of_the_configuration_holds() -> None:
    assert loop(5, periods=CrashLoopPeriods(5 * SECOND_NS, 15 * SECOND_NS)) == [0, 5, 10, 15, 15]


def test_without_notes_the_restart_count_tells_the_same() -> None:
    assert loop(9, noted=False) == loop(9)


def test_an_absurd_restart_count_waits_the_most() -> None:
    last = _unmarked(seen("web", EXITED, 2_000_000_000, 1, ended_ns=NOW_NS))
    assert back_off(WEB, last, PERIODS, NOW_NS).delay_ns == 300 * SECOND_NS


@pytest.mark.parametrize(("ran_s", "waits"), [(599, [0, 10, 20]), (600, [0, 10, 20]), (601, [0, 0, 0])])
# (spec 2.1.6)
def test_a_container_that_ran_long_enough_resets_its_back_off(ran_s: int, waits: list[int]) -> None:
    assert loop(3, ran_ns=ran_s * SECOND_NS) == waits


def test_a_machine_that_loses_its_power_again_and_again_delays_no_container() -> None:
    owed_ns, waits = 0, []
    for attempt in range(9):
        last = _lost(seen("web", EXITED, attempt, 255, ended_ns=NOW_NS, back_off_ns=owed_ns))
        wait = back_off(WEB, last, PERIODS, NOW_NS)
        waits.append(wait.until_ns)
        owed_ns = wait.next_delay_ns
    assert (waits, owed_ns) == ([0] * 9, 0)


def test_a_container_in_a_crash_loop_keeps_its_delay_over_a_loss_of_power() -> None:
    owed_ns = 40 * SECOND_NS
    last = seen("web", EXITED, 3, 255, ended_ns=NOW_NS, back_off_ns=owed_ns)
    assert back_off(WEB, _lost(last), PERIODS, NOW_NS) == BackOffWait(0, 0, owed_ns)
    assert back_off(WEB, last, PERIODS, NOW_NS) == BackOffWait(NOW_NS + owed_ns, owed_ns, 2 * owed_ns)


def _lost(last: ObservedContainer) -> ObservedContainer:
    return msgspec.structs.replace(last, reason="Unknown")


# (spec 3.5.3)
def test_the_wait_counts_from_the_end_of_the_container() -> None:
    last = seen("web", EXITED, 1, 1, ended_ns=NOW_NS - 4 * SECOND_NS, back_off_ns=10 * SECOND_NS)
    assert back_off(WEB, last, PERIODS, NOW_NS).until_ns == NOW_NS + 6 * SECOND_NS
    assert back_off(WEB, last, PERIODS, NOW_NS + 6 * SECOND_NS).until_ns == 0


@pytest.mark.parametrize(("back_s", "waits_s"), [(4, 14), (9, 19), (10, 0), (9_000, 0)])
def test_a_clock_set_back_after_the_end_lets_no_look_put_the_start_off(back_s: int, waits_s: int) -> None:
    """All looks before the start name the same time: none counts the wait anew."""
    last = seen("web", EXITED, 1, 1, ended_ns=NOW_NS + back_s * SECOND_NS, back_off_ns=10 * SECOND_NS)
    looks = [back_off(WEB, last, PERIODS, NOW_NS + passed * SECOND_NS).until_ns for passed in range(waits_s or 1)]
    assert set(looks) == {NOW_NS + waits_s * SECOND_NS if waits_s else 0}
    assert back_off(WEB, last, PERIODS, NOW_NS + waits_s * SECOND_NS).until_ns == 0


# (spec 3.5.2)
def test_a_new_image_resets_the_back_off() -> None:
    last = seen("web", EXITED, 5, 1, ended_ns=NOW_NS, back_off_ns=160 * SECOND_NS)
    wait = back_off(container("web", image="image:2"), last, PERIODS, NOW_NS)
    assert (wait.until_ns, wait.next_delay_ns) == (0, 10 * SECOND_NS)


@pytest.mark.parametrize("state", [RUNNING, EXITED, CREATED, UNKNOWN])
@pytest.mark.parametrize(("attempt", "next_s"), [(0, 0), (5, 10)])
def test_a_container_killed_for_a_new_image_passes_on_no_back_off(state, attempt: int, next_s: int) -> None:
    last = seen("web", state, attempt, 1, ended_ns=NOW_NS, back_off_ns=300 * SECOND_NS)
    wait = back_off(container("web", image="image:2"), last, PERIODS, NOW_NS, excused=True)
    assert (wait.until_ns, wait.next_delay_ns) == (0, next_s * SECOND_NS)


# (spec 3.5.2)
def test_changed_resources_reset_the_back_off_and_equal_ones_do_not_spec_3_5() -> None:
    given = container("web", resources=ResourceRequirements(limits={"memory": "64Mi"}, requests={"cpu": "1"}))
    notes = {RESOURCES: resources_text(given)}
    last = seen("web", EXITED, 5, 1, ended_ns=NOW_NS, back_off_ns=160 * SECOND_NS, notes=notes)
    assert back_off(given, last, PERIODS, NOW_NS).delay_ns == 160 * SECOND_NS
    more = container("web", resources=ResourceRequirements(limits={"memory": "128Mi"}, requests={"cpu": "1"}))
    assert back_off(more, last, PERIODS, NOW_NS).until_ns == 0
    assert back_off(WEB, last, PERIODS, NOW_NS).until_ns == 0


@pytest.mark.parametrize("state", [CREATED, UNKNOWN])
def test_a_running_container_causes_no_wait_and_passes_its_back_off_on(state) -> None:
    wait = back_off(WEB, seen("web", state, 3, back_off_ns=20 * SECOND_NS), PERIODS, NOW_NS)
    assert (wait.until_ns, wait.next_delay_ns) == (0, 20 * SECOND_NS)


def test_a_container_that_never_ran_starts_at_once_without_back_off() -> None:
    decided = act(pod("web"), picture())
    assert decided.backing_off == ()
    assert [start.back_off_ns for start in decided.start] == [0]


def killed(times: int, lived_s: int) -> list[int]:
    """The waits, in seconds, after each of so many kills for a failed probe.

    The container lives `lived_s` each time.
    """
    waits: list[int] = []
    group: list[ObservedContainer] = []
    owed_ns, now_ns = 0, NOW_NS
    for attempt in range(times):
        now_ns += lived_s * SECOND_NS
        ran_ns = lived_s * SECOND_NS
        group.insert(0, seen("web", EXITED, attempt, 137, ended_ns=now_ns, back_off_ns=owed_ns, ran_ns=ran_ns))
        wait = after_own_kill(back_off(WEB, group[0], PERIODS, now_ns), group[0], group)
        waits.append(max(0, wait.until_ns - now_ns) // SECOND_NS)
        owed_ns = wait.next_delay_ns
        now_ns = max(now_ns, wait.until_ns)
    return waits


@pytest.mark.parametrize(
    ("lived_s", "waits"),
    [
        (2, [0, 0, 10, 20, 40, 80]),
        (15, [0, 0, 0, 20, 40, 80]),
        (30, [0, 0, 0, 0, 40, 80]),
        (300, [0, 0, 0, 0, 0, 0]),
    ],
)
def test_a_container_killed_by_a_probe_waits_only_if_it_lived_less_than_its_back_off(
    lived_s: int, waits: list[int]
) -> None:
    assert killed(6, lived_s) == waits


def test_a_killed_container_whose_predecessor_is_gone_waits_as_after_any_end() -> None:
    last = seen("web", EXITED, 3, 137, ended_ns=NOW_NS, back_off_ns=20 * SECOND_NS)
    wait = back_off(WEB, last, PERIODS, NOW_NS)
    assert after_own_kill(wait, last, [last]) == wait


# (spec 3.5.3)
def test_the_message_names_delay_container_and_pod() -> None:
    text = back_off_message(pod("web"), "web", 10 * SECOND_NS)
    assert text == "back-off 10s restarting failed container=web pod=web_shop(uid-1)"
    assert back_off_message(pod("web"), "web", 80 * SECOND_NS).startswith("back-off 1m20s restarting")
    assert back_off_message(pod("web"), "web", 300 * SECOND_NS).startswith("back-off 5m0s restarting")
    assert back_off_event(pod("web"), "web") == "Back-off restarting failed container web in pod web_shop(uid-1)"
