"""A saved failure played again: the same in whatever pieces, and what is seen on the way."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from simulation.cri.behaviour_values import duration_ns
from simulation.play.failure import failure_alike, saved
from simulation.play.play import Play
from simulation.play.replay import Finding, Replay, named_alike
from simulation.play.saved_run import FoundIn, SavedRun
from simulation.scenarios.faults import RuntimeCalls
from simulation.scenarios.pods import ContainerMix, PodMix
from simulation.scenarios.scenario import Scenario

MS = 10**6
SLOW = Scenario(
    about="starts that take their time",
    nodes=2,
    pods=(
        PodMix(name="a", count=6, starts_within="50ms", containers=(ContainerMix(readiness_every=1),)),
        PodMix(name="b", count=2, lives=("5s", "9s")),
    ),
    faults=(RuntimeCalls(slow=0.2),),
    lasts="20s",
)


@pytest.fixture(scope="module")
def run() -> SavedRun:
    failure = failure_alike(SLOW, 5, "starts-in-time")
    assert failure is not None
    return saved(failure, actorlet="0.1.0", found_in=FoundIn(scenario="slow", seed=5, pods=8, nodes=2))


def lines_of(run: SavedRun) -> tuple[Replay, list[str]]:
    lines: list[str] = []
    return Replay(run, lines.append), lines


def test_it_fails_again_message_by_message(run: SavedRun):
    replay, lines = lines_of(run)
    replay.until_found()
    assert replay.finding() is Finding.SAME
    assert replay.step == run.step
    assert replay.now_ns == run.violated.at_ns
    assert len(lines) > 100


@pytest.mark.parametrize("pieces", ["steps", "milliseconds", "whole"])
def test_it_makes_no_difference_in_which_pieces_it_is_played(run: SavedRun, pieces: str):
    whole = Play(SLOW, 5)
    while not whole.done:
        whole.advance(3600 * 10**9)
    play = Play(SLOW, 5)
    while not play.done:
        if pieces == "steps":
            play.step()
        else:
            play.advance(7 * MS if pieces == "milliseconds" else 20 * 10**9)
    assert play.outcome() == whole.outcome()


def test_a_step_is_one_turn_of_an_actor_and_gives_its_lines(run: SavedRun):
    replay, lines = lines_of(run)
    replay.next()
    assert replay.step == 1
    replay.next(99)
    assert replay.step == 100
    before = len(lines)
    replay.until_step(100)
    replay.until_step(50)
    assert (replay.step, len(lines)) == (100, before)
    assert replay.finding() is Finding.NOT_YET


def test_replaying_until_a_time_includes_everything_at_that_time(run: SavedRun):
    replay, lines = lines_of(run)
    replay.until_ns(250 * MS)
    assert replay.now_ns == 250 * MS
    assert all(int(line.split()[0]) <= 250 * MS for line in lines)
    replay.until_ns(100 * MS)
    assert replay.now_ns == 250 * MS


def test_a_replay_can_be_stopped_at_a_step(run: SavedRun):
    replay, _ = lines_of(run)
    replay.until_found(go_on=lambda: replay.step < 10)
    assert replay.step == 10


def test_another_hash_or_step_is_another_code(run: SavedRun):
    for other in (replace(run, trace_hash="0" * 32), replace(run, step=run.step + 1)):
        replay, _ = lines_of(other)
        replay.until_found()
        assert replay.finding() is Finding.OTHERWISE


def test_a_failure_that_is_mended_is_gone(run: SavedRun):
    mended = replace(run.scenario, pods=tuple(replace(mix, starts_within=None) for mix in run.scenario.pods))
    replay, _ = lines_of(replace(run, scenario=mended))
    replay.until_found()
    assert replay.play.done
    assert replay.finding() is Finding.GONE


def test_any_actor_can_be_looked_at_where_it_stands(run: SavedRun):
    replay, _ = lines_of(run)
    replay.until_ns(duration_ns("2s"))
    pleg = named_alike("pleg", replay.actors())
    assert pleg == ("node-0/node/pleg", "node-1/node/pleg")
    state = replay.look_at("node-0/node/pleg")
    assert state is not None
    assert state.info.actor_class == "PlegActor"
    assert "_picture" in dict(state.fields)
    assert replay.look_at("node-0/node/nobody") is None


def test_a_look_changes_nothing(run: SavedRun):
    replay, _ = lines_of(run)
    while replay.finding() is Finding.NOT_YET:
        replay.next(50)
        for name in replay.actors()[::7]:
            replay.look_at(name)
    assert replay.finding() is Finding.SAME


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("n-0/node/pleg", ("n-0/node/pleg",)),
        ("pleg", ("n-0/node/pleg",)),
        ("/node", ("n-0/node",)),
        ("loop", ("n-0/node/sync-loop", "n-0/node/sync-loop/ab-1")),
        ("ab-1", ("n-0/node/sync-loop/ab-1",)),
        ("xyz", ()),
    ],
)
def test_actors_are_found_by_the_end_of_their_name_or_a_part_of_it(name: str, meant: tuple[str, ...]):
    there = ("n-0/node", "n-0/node/pleg", "n-0/node/sync-loop", "n-0/node/sync-loop/ab-1")
    assert named_alike(name, there) == meant
