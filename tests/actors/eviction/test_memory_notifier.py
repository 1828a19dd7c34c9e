"""The eviction looks when the kernel says that memory runs short (spec 7.8)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from actors.eviction.memory_notifier import PAUSE_NS, RENEW_NS, MemoryNotifierActor, memory_marks
from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.eviction import MemoryRanShort
from config.kubelet import KubeletConfiguration
from runtime.memory_notices import MemoryMark
from simulation.host.memory_notices import SimulatedMemoryNotices
from tests.actors.recorders import Recorder

MIB = 2**20
GIB = 2**30


@pytest.mark.parametrize(
    ("fields", "marks"),
    [
        ({"eviction_hard": {"memory.available": "100Mi"}}, (MemoryMark(False, 100 * MIB), MemoryMark(True, 100 * MIB))),
        (
            {"eviction_hard": {"memory.available": "5%"}, "enforce_node_allocatable": ()},
            (MemoryMark(False, 0, 5.0),),
        ),
        (
            {
                "eviction_hard": {"memory.available": "100Mi"},
                "eviction_soft": {"memory.available": "300Mi"},
                "eviction_soft_grace_period": {"memory.available": "1m"},
                "enforce_node_allocatable": (),
            },
            (MemoryMark(False, 100 * MIB), MemoryMark(False, 300 * MIB)),
        ),
        ({"eviction_hard": {"memory.available": "0%", "pid.available": "5"}}, ()),
        ({"eviction_hard": {"memory.available": "100Mi"}, "kernel_memcg_notification": False}, ()),
    ],
)
def test_every_threshold_of_memory_is_a_mark_where_the_kernel_is_asked(
    fields: dict[str, Any], marks: tuple[MemoryMark, ...]
) -> None:
    assert memory_marks(KubeletConfiguration(**{"kernel_memcg_notification": True, **fields})) == marks


@pytest.mark.parametrize(
    ("mark", "left"), [(MemoryMark(left_bytes=100), 100), (MemoryMark(left_percent=5.0), 5), (MemoryMark(True, 0), 0)]
)
def test_a_mark_is_an_amount_or_a_share(mark: MemoryMark, left: int) -> None:
    assert mark.left_of(100) == left


class Scene:
    def __init__(self, *problems: str) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.kernel = SimulatedMemoryNotices(*problems)
        eviction, self.looks = Recorder.spawn_in(self.system, "eviction", MemoryRanShort)
        marks = (MemoryMark(False, GIB),)
        self.notifier = self.system.spawn(MemoryNotifierActor, self.kernel, marks, eviction, name="notifier")
        self.dispatcher.run_for(RENEW_NS // 2)


# (spec 7.8.1)
def test_a_notice_makes_the_eviction_look_at_once() -> None:
    scene = Scene()
    assert scene.kernel.marks == (MemoryMark(False, GIB),)
    scene.kernel.run_short()
    scene.dispatcher.run_for(PAUSE_NS // 1000)
    assert scene.looks == [MemoryRanShort()]


def test_many_memory_notices_cause_one_look_per_second() -> None:
    scene = Scene()
    for _ in range(100):
        scene.kernel.run_short()
        scene.dispatcher.run_for(PAUSE_NS // 50)
    scene.dispatcher.run_for(2 * PAUSE_NS)
    assert len(scene.looks) == 3  # at once, after the first second, after the second


# (spec 7.8.2)
def test_the_kernel_is_asked_anew_every_ten_seconds_and_its_refusal_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        scene = Scene("/proc/pressure/memory: Operation not supported")
        scene.dispatcher.run_for(10 * RENEW_NS)
    assert scene.kernel.renewals == 11
    assert caplog.text.count("looks at its memory every ten seconds only: /proc/pressure/memory") == 1


def test_a_stopped_notifier_clears_its_marks() -> None:
    scene = Scene()
    scene.notifier.stop()
    scene.dispatcher.run_for(RENEW_NS)
    assert scene.kernel.marks == ()
