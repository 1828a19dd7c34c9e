"""Work takes virtual time: mostly that of its own actor, and alike on every machine."""

from __future__ import annotations

import gc
import importlib
import logging
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from actors.kernel import Actor, ActorRef, ActorSystem, Lane, Message, SimulatedDispatcher, handles
from actors.start.pod_fields import quoted
from simulation.host.file_tree import FileTree
from simulation.node.effort import Effort, EffortCounter
from simulation.node.killable import KillableDispatcher
from simulation.node.work import CALL_NS, CHANGE_NS, LANE_NS, WORKERS, WRITTEN_BYTE_NS, AgentWork
from simulation.play.play import Play
from simulation.scenarios.scenario import read_scenario

MS = 10**6
LONG = 50_000
"""Calls in a long turn."""
SCENARIO = b"""
about: pods of each kind come and go
node: {workTakesTime: true}
pods:
  - name: web
    count: 8
    arrives: [0s, 20s]
    lives: [5s, 30s]
    volumes: [{name: config, kind: configMap}, {name: labels, kind: downwardAPI}]
    containers: [{name: app, readinessEvery: 5, runsFor: "7s,forever"}]
"""


class Compute(Message, frozen=True):
    """Call a function of the agent so often."""

    calls: int


class Look(Message, frozen=True):
    pass


class Computer(Actor):
    """Computes on request, and notes when it was asked to look."""

    def __init__(self, looked_ns: list[int]) -> None:
        super().__init__()
        self._looked_ns = looked_ns

    @handles(Compute)
    def compute(self, message: Compute) -> None:
        for _ in range(message.calls):
            self.has_mail()

    @handles(Look)
    def look(self, _: Look) -> None:
        self._looked_ns.append(self.now_ns())


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.agent = KillableDispatcher(self.dispatcher)
        self.disk = FileTree()
        self.agent.work = AgentWork(self.agent, self.agent.enqueue, self.disk)
        self.system = ActorSystem(self.agent)
        self.looked_ns: dict[str, list[int]] = {}

    def actor(self, name: str) -> ActorRef:
        looked_ns = self.looked_ns.setdefault(name, [])
        ref = self.system.spawn(Computer, looked_ns, name=name)
        self.dispatcher.run_for(MS)
        return ref

    def lane(self) -> Lane:
        return self.agent.lane("disk", size=2, per_key=1)


def test_what_an_actor_computes_delays_its_messages_and_not_those_of_others():
    world = World()
    busy, other = world.actor("busy"), world.actor("other")
    began_ns = world.dispatcher.now_ns()
    busy.tell(Compute(LONG))
    world.dispatcher.run_for(0)
    for each in (busy, other):
        each.tell(Look())
    world.dispatcher.run_for(1000 * MS)
    assert world.looked_ns["other"] == [began_ns]
    assert LONG * CALL_NS <= world.looked_ns["busy"][0] - began_ns < 3 * LONG * CALL_NS


def test_actors_that_compute_at_once_share_one_cpu():
    world = World()
    busy = [world.actor(f"busy {number}") for number in range(WORKERS)]
    began_ns = world.dispatcher.now_ns()
    for each in busy:
        each.tell(Compute(LONG))
        each.tell(Look())
    world.dispatcher.run_for(10_000 * MS)
    ends_ns = sorted(world.looked_ns[f"busy {number}"][0] - began_ns for number in range(WORKERS))
    assert ends_ns[-1] >= WORKERS * LONG * CALL_NS


def test_an_actor_waits_while_every_worker_is_busy():
    world = World()
    busy, other = [world.actor(f"busy {number}") for number in range(WORKERS)], world.actor("other")
    began_ns = world.dispatcher.now_ns()
    for each in busy:
        each.tell(Compute(LONG))
    world.dispatcher.run_for(0)
    other.tell(Look())
    world.dispatcher.run_for(10_000 * MS)
    assert world.looked_ns["other"][0] - began_ns >= LONG * CALL_NS


def test_all_who_wait_for_a_worker_get_one_and_none_is_asked_twice():
    world = World()
    actors = [world.actor(f"busy {number}") for number in range(10 * WORKERS)]
    for each in actors:
        each.tell(Compute(100))
        each.tell(Look())
    world.dispatcher.run_for(10_000 * MS)
    assert [len(looked_ns) for looked_ns in world.looked_ns.values()] == [1] * len(actors)


def test_a_call_of_a_lane_keeps_its_place_for_as_long_as_it_writes():
    world = World()
    ended_ns: list[int] = []
    lane = world.lane()
    for number in range(3):
        write = partial(world.disk.write, f"/file{number}", bytes(MS))
        lane.submit("pod", write).add_done_callback(lambda _: ended_ns.append(world.dispatcher.now_ns()))
    world.dispatcher.run_for(1000 * MS)
    each_ns = LANE_NS + 2 * CHANGE_NS + MS * WRITTEN_BYTE_NS
    assert ended_ns == [each_ns, 2 * each_ns, 3 * each_ns], "one at a time, since they have one key"


def test_a_failure_of_a_call_takes_its_time_as_well():
    world = World()
    failing = world.lane().submit("pod", partial(world.disk.write, "/no/such/directory", b""))
    world.dispatcher.run_for(0)
    assert not failing.done()
    world.dispatcher.run_for(MS)
    assert isinstance(failing.exception(), FileNotFoundError)


def test_an_agent_that_stands_still_ends_no_call_and_takes_no_turn():
    world = World()
    busy = world.actor("busy")
    busy.tell(Compute(LONG))
    busy.tell(Look())
    pending = world.lane().submit("pod", partial(world.disk.write, "/file", b""))
    world.dispatcher.run_for(0)
    world.agent.pause()
    world.dispatcher.run_for(1000 * MS)
    assert not pending.done()
    assert world.looked_ns["busy"] == []
    world.agent.resume()
    world.dispatcher.run_for(1000 * MS)
    assert pending.done()
    assert len(world.looked_ns["busy"]) == 1


# --- what is counted --------------------------------------------------------------------------------------------------


def test_effort_counts_what_the_agent_does_and_not_what_the_world_does():
    counter = EffortCounter()
    counter.begin()
    FileTree().make_directories("/a/b/c")
    assert counter.end() == Effort(0, 0)
    counter.begin()
    text = quoted("abc")
    once = counter.end()
    assert once.calls > 0
    assert once.text_bytes >= len(text)


def test_what_is_counted_within_a_count_is_not_counted_twice():
    counter = EffortCounter()
    counter.begin()
    quoted("abc")
    counter.begin()
    quoted("abc" * 100)
    inner, outer = counter.end(), counter.end()
    counter.begin()
    quoted("abc")
    assert counter.end() == outer
    assert inner.text_bytes > 50 * outer.text_bytes


def test_rings_are_not_looked_for_within_a_count():
    passes: list[str] = []

    def look(phase: str, _: dict[str, int]) -> None:
        passes.append(phase)

    def make_rings() -> None:
        for _ in range(100_000):
            ring: list[object] = []
            ring.append(ring)

    counter = EffortCounter()
    gc.callbacks.append(look)
    try:
        counter.begin()
        make_rings()
        within = passes[:]
        counter.end()
        assert within == []
        make_rings()
        assert passes, "they are looked for again"
    finally:
        gc.callbacks.remove(look)


def test_what_libraries_do_the_first_time_alone_is_not_counted():
    def match() -> Effort:
        counter = EffortCounter()
        counter.begin()
        re.match("(first|second|third)+[a-z]*", "first")
        return counter.end()

    re.purge()
    first = match()
    assert match() == first


def test_an_import_within_a_count_is_not_counted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "config.values.nearest")
    counter = EffortCounter()
    counter.begin()
    importlib.import_module("config.values.nearest")
    assert counter.end() == Effort(0, 0)


# --- whole worlds -----------------------------------------------------------------------------------------------------


def trace_hash(seed: int, scenario: bytes = SCENARIO) -> str:
    play = Play(read_scenario(scenario), seed)
    while not play.done:
        play.advance(10**10)
    outcome = play.outcome()
    assert outcome.violations == ()
    return outcome.trace_hash


def test_the_same_seed_gives_the_same_trace_whatever_was_played_before():
    first = trace_hash(1)
    trace_hash(2)
    assert trace_hash(1) == first


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO, logging.CRITICAL])
def test_the_same_seed_gives_the_same_trace_whoever_reads_the_log(caplog: pytest.LogCaptureFixture, level: int):
    first = trace_hash(1)
    with caplog.at_level(level):
        assert trace_hash(1) == first


def test_the_same_seed_gives_the_same_trace_in_another_process_with_another_hash_seed():
    code = "from tests.simulation.node.test_work import trace_hash; print(trace_hash(1))"
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == trace_hash(1)


def test_pods_take_longer_to_start_where_work_takes_time():
    def slowest_ns(costs: bytes) -> int:
        scenario = SCENARIO.replace(b"true}", costs + b"}", 1).replace(b"[0s, 20s]", b"[0s, 0s]")
        play = Play(read_scenario(scenario), 1)
        while not play.done:
            play.advance(10**10)
        return play.outcome().startups_ns[-1]

    assert slowest_ns(b"true") > slowest_ns(b"false")
