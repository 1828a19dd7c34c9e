"""A container that crashes again and again waits 10, 20, 40 s before its next starts (spec 2.1, 3.5).

That takes more than a minute, so it begins to crash when the session begins (`tests.real.crash_loop`), and this test,
which runs last, sees how it went. The agent is killed on the way and started again: the back-off is no memory of a
process.
"""

from __future__ import annotations

from itertools import pairwise

import msgspec

from tests.real.agent import Agent
from tests.real.cluster import Cluster
from tests.real.crash_loop import NAME, CrashLoop
from tests.real.pods import Life, Truth, container, pod

SECOND_NS = 1_000_000_000
STEPS_S = (10, 20, 40)
LATER = ("back-off 1m20s ", "back-off 2m40s ", "back-off 5m0s ")
"""What the agent says of the steps after those.

Which one it is at depends on when this test has its turn.
"""


def test_a_crashing_container_backs_off_10_20_40_seconds(crash_loop: CrashLoop) -> None:
    agent = crash_loop.agent
    agent.await_running(NAME)
    (beside,) = crash_loop.lives("beside")
    agent.await_that(lambda: len(crash_loop.ended()) >= 3, "it has not ended for the third time", 60)
    agent.await_that(lambda: _reason(crash_loop) == "CrashLoopBackOff", "it does not say that it backs off")
    agent.kill()
    crash_loop.start()
    agent.await_that(lambda: _reason(crash_loop) == "CrashLoopBackOff", "it does not say so after a restart")
    agent.await_that(lambda: len(crash_loop.ended()) >= 5, "it has not ended for the fifth time", 90)
    lives = [life.status for life in crash_loop.ended()[:5]]
    assert [life.attempt for life in crash_loop.lives()[:5]] == [0, 1, 2, 3, 4]
    pairs = pairwise(lives)
    waits_s = [(after.started_at - before.finished_at) / SECOND_NS for before, after in pairs]
    print("from each end to the next start:", ", ".join(f"{wait:.2f} s" for wait in waits_s))
    # The first restart is at once.
    assert all(wait_s >= step_s for wait_s, step_s in zip(waits_s, (0, *STEPS_S), strict=True)), waits_s
    agent.await_that(lambda: _message(crash_loop).startswith(LATER), "its steps do not double")
    assert [life.key for life in crash_loop.lives("beside")] == [beside.key], "its neighbour notices nothing"
    status = agent.container(NAME)
    assert status is not None
    assert status.last_state is not None
    assert status.last_state.terminated is not None
    assert (status.last_state.terminated.exit_code, status.last_state.terminated.reason) == (3, "Error")
    assert agent.status(NAME).phase == "Running"


def test_the_back_off_begins_anew_with_another_image(agent: Agent, cluster: Cluster, truth: Truth) -> None:
    cluster.join()
    cluster.run(pod("changed", container(script="exit 3")))

    def ended() -> dict[int, Life]:
        return {each.attempt: each for each in truth.lives("changed") if each.status.finished_at}

    agent.await_that(lambda: agent.waiting("changed")[1].startswith("back-off 20s "), "it has not ended thrice", 60)
    found = cluster.pod("changed")
    assert found is not None
    (crashing,) = found.spec.containers
    cluster.change_spec("changed", containers=(msgspec.structs.replace(crashing, image="actorlet.test/busybox:2"),))
    agent.await_that(lambda: 3 in ended(), "it is not started with its other image", 20)
    agent.await_that(lambda: agent.waiting("changed")[1].startswith("back-off 10s "), "it goes on where it was")
    earlier = ended()[3].status
    agent.await_that(lambda: 4 in ended(), "it is not started with its other image again", 60)
    wait_s = (ended()[4].status.started_at - earlier.finished_at) / SECOND_NS
    assert wait_s >= 10


def _reason(crash_loop: CrashLoop) -> str:
    """Why the container waits, as the agent tells it."""
    return crash_loop.agent.waiting(NAME)[0]


def _message(crash_loop: CrashLoop) -> str:
    return crash_loop.agent.waiting(NAME)[1]
