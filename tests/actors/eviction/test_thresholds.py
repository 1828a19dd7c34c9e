"""Which thresholds are in force and when one is met (spec 7.1).

What is short from sample to sample (spec 7.2).
"""

from __future__ import annotations

import pytest

from actors.eviction.pressure import PressureState, is_worth_writing, observe, recalled, seen_by_the_clock
from actors.eviction.reclaim import BOTH, Reclaim, reclaimable
from actors.eviction.signals import (
    ALLOCATABLE_MEMORY,
    CONTAINER_FS,
    IMAGE_FS,
    IMAGE_FS_INODES,
    MEMORY,
    NODE_FS,
    NODE_FS_INODES,
    PIDS,
    SignalReading,
)
from actors.eviction.thresholds import Amount, Layout, Threshold, configured_thresholds, is_met, thresholds_for
from config.kubelet import KubeletConfiguration
from config.kubelet.eviction import DEFAULT_EVICTION_HARD

MIB = 2**20
SECOND = 10**9
SINGLE, DEDICATED, SPLIT = Layout(), Layout(images_apart=True), Layout(images_apart=True, containers_apart=True)


def configuration(**fields):
    return KubeletConfiguration(**{"enforce_node_allocatable": (), **fields})


# (spec 7.1.1)
def test_the_default_thresholds_with_their_resources_and_conditions():
    found = configured_thresholds(configuration(eviction_hard=DEFAULT_EVICTION_HARD))
    assert [(each.signal, each.least, each.resource, each.condition) for each in found] == [
        (MEMORY, Amount(100 * MIB), "memory", "MemoryPressure"),
        (NODE_FS, Amount(percent=10.0), "ephemeral-storage", "DiskPressure"),
        (IMAGE_FS, Amount(percent=15.0), "ephemeral-storage", "DiskPressure"),
        (NODE_FS_INODES, Amount(percent=5.0), "inodes", "DiskPressure"),
        (IMAGE_FS_INODES, Amount(percent=5.0), "inodes", "DiskPressure"),
    ]


# (spec 7.1.4)
def test_a_soft_threshold_has_its_grace_and_a_minimum_to_reclaim_is_of_its_signal():
    found = configured_thresholds(
        configuration(
            eviction_hard={"pid.available": "100", "nodefs.available": "0%"},
            eviction_soft={"memory.available": "200Mi", "imagefs.available": "100%", "containerfs.available": "1Gi"},
            eviction_soft_grace_period=dict.fromkeys(
                ("memory.available", "imagefs.available", "containerfs.available"), "1m30s"
            ),
            eviction_minimum_reclaim={"memory.available": "10%"},
        )
    )
    assert found == (
        Threshold(PIDS, Amount(100)),
        Threshold(MEMORY, Amount(200 * MIB), 90 * SECOND, Amount(percent=10.0)),
    )


# (spec 7.1.6)
def test_allocatable_memory_uses_the_memory_threshold_when_enforced():
    found = configured_thresholds(KubeletConfiguration(eviction_hard={"memory.available": "100Mi"}))
    assert [each.signal for each in found] == [MEMORY, ALLOCATABLE_MEMORY]


@pytest.mark.parametrize(("layout", "origin"), [(SINGLE, NODE_FS), (DEDICATED, IMAGE_FS), (SPLIT, NODE_FS)])
# (spec 7.1.6)
def test_the_file_system_of_containers_has_the_threshold_of_the_one_it_shares(layout, origin):
    configured = (Threshold(NODE_FS, Amount(1)), Threshold(IMAGE_FS, Amount(2)))
    derived = thresholds_for(configured, layout)[2:]
    assert [(each.signal, each.least) for each in derived] == [(CONTAINER_FS, Amount(1 if origin == NODE_FS else 2))]


@pytest.mark.parametrize(
    ("available", "least", "reclaim", "again", "met"),
    [
        (99, Amount(100), Amount(), False, True),
        (100, Amount(100), Amount(), False, False),
        (109, Amount(percent=10.0), Amount(10), False, False),
        (99, Amount(percent=10.0), Amount(10), False, True),
        (109, Amount(percent=10.0), Amount(10), True, True),
        (110, Amount(percent=10.0), Amount(10), True, False),
        (149, Amount(percent=10.0), Amount(percent=5.0), True, True),
        (150, Amount(percent=10.0), Amount(percent=5.0), True, False),
    ],
)
# (spec 7.1.2)
def test_a_threshold_is_met_below_its_amount_and_past_with_the_minimum_on_top(available, least, reclaim, again, met):
    threshold = Threshold(MEMORY, least, None, reclaim)
    assert is_met(threshold, SignalReading(available, 1000, 0), with_reclaim=again) is met


@pytest.mark.parametrize(
    ("signal", "layout", "what"),
    [
        (MEMORY, SINGLE, ()),
        (PIDS, SPLIT, ()),
        (NODE_FS, SINGLE, BOTH),
        (IMAGE_FS, SINGLE, BOTH),
        (CONTAINER_FS, SINGLE, BOTH),
        (NODE_FS, DEDICATED, ()),
        (IMAGE_FS, DEDICATED, BOTH),
        (CONTAINER_FS, DEDICATED, BOTH),
        (NODE_FS_INODES, SPLIT, (Reclaim.CONTAINERS,)),
        (IMAGE_FS_INODES, SPLIT, (Reclaim.IMAGES,)),
        (CONTAINER_FS, SPLIT, (Reclaim.CONTAINERS,)),
    ],
)
# (spec 7.3.1)
def test_each_signal_names_what_is_reclaimed_before_an_eviction(signal, layout, what):
    assert reclaimable(signal, layout) == what


# --- from sample to sample ------------------------------------------------------------------------------------------

HARD = Threshold(MEMORY, Amount(100), None, Amount(50))
SOFT = Threshold(NODE_FS, Amount(100), 30 * SECOND)
FIVE_MINUTES = 300 * SECOND


def reading(available, at):
    return SignalReading(available, 1000, at)


def follow(thresholds, *samples):
    """samples: (seconds, {signal: (available, read at)}).

    What came of each: (decisive signals, conditions).
    """
    state, told = PressureState(), []
    for at, signals in samples:
        readings = {signal: reading(*numbers) for signal, numbers in signals.items()}
        seen = observe(state, thresholds, readings, at * SECOND, FIVE_MINUTES)
        state = seen.state
        told.append(([each.signal for each in seen.decisive], sorted(state.conditions)))
    return told


# (spec 7.2.1)
def test_a_hard_threshold_decides_at_once_and_only_by_a_new_reading():
    assert follow(
        (HARD,), (0, {MEMORY: (99, 1)}), (10, {MEMORY: (99, 1)}), (20, {MEMORY: (99, 2)}), (30, {MEMORY: (120, 3)})
    ) == [([MEMORY], ["MemoryPressure"]), ([], ["MemoryPressure"]), *[([MEMORY], ["MemoryPressure"])] * 2]


# (spec 7.2.2)
def test_a_condition_stays_for_the_transition_period_after_it_was_last_seen():
    told = follow(
        (HARD,),
        (0, {MEMORY: (99, 1)}),
        (10, {MEMORY: (151, 2)}),
        (299, {MEMORY: (149, 3)}),
        (300, {MEMORY: (149, 4)}),
    )
    assert told == [([MEMORY], ["MemoryPressure"]), *[([], ["MemoryPressure"])] * 2, ([], [])]


# (spec 7.2.1)
def test_a_soft_threshold_decides_after_its_grace_without_a_break_and_shows_at_once():
    told = follow(
        (SOFT,),
        (0, {NODE_FS: (99, 1)}),
        (20, {NODE_FS: (100, 2)}),
        (30, {NODE_FS: (99, 3)}),
        (59, {NODE_FS: (99, 4)}),
        (60, {NODE_FS: (99, 5)}),
    )
    assert [decisive for decisive, _ in told] == [[], [], [], [], [NODE_FS]]
    assert told[0][1] == ["DiskPressure"]


# (spec 7.2.3)
def test_memory_is_handled_first_and_an_unreadable_signal_meets_no_threshold():
    disk = Threshold(NODE_FS, Amount(100))
    assert follow((disk, HARD), (0, {NODE_FS: (1, 1), MEMORY: (1, 1)}))[0][0] == [MEMORY, NODE_FS]
    assert follow((disk, HARD), (0, {}))[0] == ([], [])


def test_a_reading_after_the_clock_was_set_back_is_a_reading():
    assert follow((HARD,), (0, {MEMORY: (99, 100)}), (10, {MEMORY: (99, 50)}))[1][0] == [MEMORY]


# --- over a restart -------------------------------------------------------------------------------------------------

WALL = 10**18


@pytest.mark.parametrize(
    ("seen", "stays"),
    [
        ({"MemoryPressure": WALL - 299 * SECOND}, 299),
        ({"MemoryPressure": WALL - 300 * SECOND}, None),
        ({"MemoryPressure": WALL + 3600 * SECOND}, 0),
        ({"OfAnotherVersion": WALL}, None),
        ({}, None),
    ],
)
def test_a_condition_of_an_earlier_agent_lasts_for_the_rest_of_its_transition_period(seen, stays):
    state = recalled(seen, 1000 * SECOND, WALL, FIVE_MINUTES)
    expected = {} if stays is None else {"MemoryPressure": (1000 - stays) * SECOND}
    assert state.conditions_ns == expected


def test_saved_conditions_are_restored_with_their_times():
    state = PressureState(conditions_ns={"DiskPressure": 40 * SECOND})
    seen = seen_by_the_clock(state, 100 * SECOND, WALL, FIVE_MINUTES)
    assert seen == {"DiskPressure": WALL - 60 * SECOND}
    assert recalled(seen, 7 * SECOND, WALL + 10 * SECOND, FIVE_MINUTES).conditions_ns == {"DiskPressure": -63 * SECOND}
    assert seen_by_the_clock(state, 100 * SECOND, WALL, 0) == {}, "nothing stays"


@pytest.mark.parametrize(
    ("written", "seen", "worth"),
    [
        (None, {}, True),
        ({}, {}, False),
        ({}, {"MemoryPressure": 0}, True),
        ({"MemoryPressure": 0}, {"MemoryPressure": 59 * SECOND}, False),
        ({"MemoryPressure": 0}, {"MemoryPressure": 60 * SECOND}, True),
        ({"MemoryPressure": 0}, {}, True),
    ],
)
def test_a_condition_is_written_down_when_it_comes_and_goes_and_each_minute_while_it_lasts(written, seen, worth):
    assert is_worth_writing(written, seen, FIVE_MINUTES) is worth
