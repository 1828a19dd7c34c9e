"""The simulated world is one thread, one seed, one trace."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from typing import Any

import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher
from tests.actors.kernel.cast import MS, QUICK, SECOND, Crash, Do, Fail, Hang, Later, Latest, Puppet, Say, Tick


def busy_world(seed: int) -> tuple[str, list[Any]]:
    """A world with everything in it that could be random; the hash of its trace, and what its actors drew."""
    dispatcher = SimulatedDispatcher(seed)
    trace = hashlib.sha256()
    dispatcher.trace = lambda *line: trace.update(repr(line).encode())
    system = ActorSystem(dispatcher)
    drawn: list[Any] = []

    def work(puppet: Puppet) -> None:
        drawn.append((puppet.path, puppet.chance.random(), puppet.new_uid()))
        puppet.after(puppet.chance.randrange(SECOND), Latest(puppet.path, 1))
        puppet.begin(lambda: puppet.lane("lane", size=2).submit(puppet.path, int), lambda done: Tick())

    refs = [system.spawn(Puppet, name=f"n{number}", strategy=QUICK) for number in range(20)]
    crash = system.spawn(Crash, [], name="crash")
    hang = system.spawn(Hang, name="hang")
    hang.tell(Say("hang"))
    for ref in refs:
        ref.tell(Do(work))
        ref.tell(Later(lambda puppet: puppet.sleep(puppet.chance.randrange(SECOND))))
        crash.tell(Fail())
    refs[0].tell(Do(lambda puppet: 1 / 0))
    dispatcher.run_for(100 * SECOND)
    assert system.stop()
    return trace.hexdigest(), drawn


def test_the_same_seed_gives_the_same_trace():
    assert busy_world(7) == busy_world(7)


def test_another_seed_gives_another_order():
    assert len({busy_world(seed)[0] for seed in range(5)}) == 5


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_trace_does_not_depend_on_the_hash_seed_of_the_process(hash_seed: str):
    code = "from tests.actors.kernel.test_simulated_dispatcher import busy_world; print(busy_world(7)[0])"
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.strip() == busy_world(7)[0]


def test_the_order_of_ready_actors_is_drawn_and_every_order_comes_up():
    orders = set()
    for seed in range(60):
        dispatcher = SimulatedDispatcher(seed)
        system = ActorSystem(dispatcher)
        notes: list[Any] = []
        refs = [system.spawn(Puppet, notes, name=name) for name in "abc"]
        for ref, name in zip(refs, "abc", strict=True):
            ref.tell(Say(name))
        dispatcher.run_until_idle()
        orders.add("".join(notes))
    assert len(orders) == 6


def test_random_draws_of_actors_do_not_change_the_schedule():
    def order(draws: int) -> list[Any]:
        dispatcher = SimulatedDispatcher(3)
        system = ActorSystem(dispatcher)
        notes: list[Any] = []
        for number in range(30):
            ref = system.spawn(Puppet, notes, name=f"n{number}")
            ref.tell(Do(lambda puppet: [puppet.chance.random() for _ in range(draws)]))
            ref.tell(Say(str(number)))
        dispatcher.run_until_idle()
        return notes

    assert order(0) == order(5)


def test_time_stands_still_while_anyone_is_ready_and_then_jumps():
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    seen: list[int] = []

    class Clock(Puppet):
        def heard(self, message: Any) -> None:
            seen.append(self.now_ns())

    system.spawn(Clock, None, lambda puppet: puppet.after(3_600 * SECOND, Tick()), name="it")
    began_wall_ns = dispatcher.wall_ns()
    dispatcher.run_until_idle()
    assert dispatcher.now_ns() == 0
    dispatcher.run_for(7_200 * SECOND)
    assert seen == [3_600 * SECOND]
    assert dispatcher.now_ns() == 7_200 * SECOND
    assert dispatcher.wall_ns() - began_wall_ns == 7_200 * SECOND


def test_running_until_a_condition_stops_at_it_or_at_the_limit():
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    notes: list[Any] = []
    system.spawn(Puppet, notes, lambda puppet: puppet.every(SECOND, Tick()), name="it")
    assert dispatcher.run_until(lambda: len(notes) == 3, 10 * SECOND)
    assert dispatcher.now_ns() == 3 * SECOND
    assert not dispatcher.run_until(lambda: len(notes) == 100, 10 * SECOND)
    assert dispatcher.now_ns() == 13 * SECOND


def test_a_question_lets_time_pass_until_it_is_answered():
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    ref = system.spawn(Puppet, name="it")
    ref.ask(Later(lambda puppet: puppet.sleep(90 * SECOND)))
    assert dispatcher.now_ns() == 90 * SECOND


def test_two_worlds_live_side_by_side():
    first, second = SimulatedDispatcher(1), SimulatedDispatcher(2)
    refs = [ActorSystem(dispatcher).spawn(Puppet, name="it") for dispatcher in (first, second)]
    first.run_for(5 * SECOND)
    assert [ref.ask(Do(lambda puppet: puppet.now_ns())) for ref in refs] == [5 * SECOND, 0]


def test_names_have_the_form_of_uuids_and_are_never_the_same():
    dispatcher = SimulatedDispatcher(1)
    names = {dispatcher.new_uid() for _ in range(1_000)}
    assert len(names) == 1_000
    assert all([len(part) for part in name.split("-")] == [8, 4, 4, 4, 12] for name in names)


def test_the_trace_tells_time_actor_message_and_outcome():
    lines: list[tuple[int, str, str, str]] = []
    dispatcher = SimulatedDispatcher(1)
    dispatcher.trace = lambda *line: lines.append(line)
    system = ActorSystem(dispatcher)
    ref = system.spawn(Puppet, name="it")
    ref.tell(Latest("pod-1", 1))
    dispatcher.run_for(MS)
    ref.tell(Do(lambda puppet: 1 / 0))
    dispatcher.run_until_idle()
    assert lines[:2] == [(0, "/it", "Latest(pod-1)", "ok"), (MS, "/it", "Do", "failed: ZeroDivisionError")]


def test_a_message_sent_between_turns_has_an_outside_sender():
    dispatcher = SimulatedDispatcher(1)
    system = ActorSystem(dispatcher)
    ref = system.spawn(Puppet, name="it")
    ref.tell(Do(lambda puppet: puppet.ref.tell("from itself")))
    dispatcher.schedule(SECOND, lambda: ref.tell("from a timer"))
    dispatcher.run_for(2 * SECOND)
    ref.tell("from here")
    dispatcher.step()
    assert [letter.sender for letter in system.dead_letters.last()] == ["/it", "outside", "outside"]
    assert ref.ask(Do(lambda puppet: puppet.path)) == "/it"  # nor is this a question in a handler
