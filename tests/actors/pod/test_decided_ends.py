"""Decisions to end containers, kept on disk: read once, merged, bounded, never in the way.

They are bounded to the containers that exist.
"""

from __future__ import annotations

import errno
from typing import Any

import pytest

from actors.kernel import Actor, ActorSystem, Message, SimulatedDispatcher, handles
from actors.pod.decided_ends import PATIENCE_NS, DecidedEnds, EndNote
from actors.pod_rules.action_types import BackOffWait, KillCause
from simulation.host.host import SimulatedHost

PATH = "/root/pods/u1/decided-ends"
NOTE = EndNote(1_000, 31_000, True)


class Recall(Message, frozen=True):
    pass


class Keep(Message, frozen=True):
    pass


class Owner(Actor):
    """Whose pod it is."""

    def __init__(self, host: SimulatedHost, made: list[DecidedEnds]) -> None:
        super().__init__()
        self.decided = DecidedEnds(self, host.pod_files, "/root/", "u1", self._on_disk)
        made.append(self.decided)

    def _on_disk(self, operation: Any, *args: Any, deadline_ns: int = PATIENCE_NS) -> Any:
        return self.lane("disk", size=1, per_key=1).submit("u1", operation, *args, deadline_ns=deadline_ns)

    @handles(Recall)
    async def recall(self, _: Recall) -> None:
        await self.decided.recall()

    @handles(Keep)
    async def keep(self, _: Keep) -> None:
        await self.decided.keep()


class Agent:
    """Agents that run one after the other on one host."""

    def __init__(self, host: SimulatedHost) -> None:
        made: list[DecidedEnds] = []
        self.dispatcher = SimulatedDispatcher(1)
        self.ref = ActorSystem(self.dispatcher).spawn(Owner, host, made, name="owner")
        self.dispatcher.run_until_idle()
        [self.decided] = made

    def do(self, message: Message) -> int:
        """How long it took, ns."""
        began_ns = self.dispatcher.now_ns()
        self.ref.tell(message)
        self.dispatcher.run_until_idle()
        return self.dispatcher.now_ns() - began_ns


@pytest.fixture
def host() -> SimulatedHost:
    made = SimulatedHost()
    made.tree.make_directories("/root/pods/u1")
    return made


def test_the_next_agent_reads_the_decided_ends(host: SimulatedHost) -> None:
    first = Agent(host)
    first.decided.ends["x"] = NOTE
    first.decided.killed["x"] = KillCause.CHANGED
    first.decided.owed["app"] = BackOffWait(1, 2, 3)
    first.do(Keep())
    second = Agent(host)
    second.do(Recall())
    assert second.decided.ends == {"x": NOTE}
    assert second.decided.killed == {"x": KillCause.CHANGED}
    assert second.decided.owed == {"app": BackOffWait(1, 2, 3)}


@pytest.mark.parametrize(
    ("note", "now_ns", "wall_ns", "passed_ns"),
    [
        pytest.param(EndNote(1_000, 31_000, begun_ns=50), 60, 1_010, 10, id="as both clocks say"),
        pytest.param(EndNote(1_000, 31_000, begun_ns=50), 60, 99_000, 10, id="the clock was put forward"),
        pytest.param(EndNote(1_000, 31_000, begun_ns=50), 60, 0, 10, id="the clock was put back"),
        pytest.param(EndNote(1_000, 31_000, begun_ns=50), 5, 1_010, 10, id="another boot"),
        pytest.param(EndNote(1_000, 31_000), 60, 1_010, 10, id="an earlier version wrote it"),
        pytest.param(EndNote(1_000, 31_000), 60, 0, 0, id="an earlier version wrote it, and the clock was put back"),
    ],
)
def test_the_elapsed_grace_is_measured_by_the_monotonic_clock(
    note: EndNote, now_ns: int, wall_ns: int, passed_ns: int
) -> None:
    assert note.passed_ns(now_ns, wall_ns) == passed_ns


def test_decisions_made_while_reading_win_over_the_file(host: SimulatedHost) -> None:
    first = Agent(host)
    first.decided.ends["x"] = NOTE
    first.do(Keep())
    second = Agent(host)
    second.decided.ends["x"] = EndNote(5, 6)
    second.do(Recall())
    second.decided.ends["y"] = NOTE
    second.do(Recall())
    assert second.decided.ends == {"x": EndNote(5, 6), "y": NOTE}


def test_decided_ends_of_removed_containers_are_forgotten_and_causes_with_their_successors(host: SimulatedHost) -> None:
    decided = Agent(host).decided
    decided.ends = {"x": NOTE, "y": NOTE}
    decided.killed = {"x": KillCause.CHANGED, "y": KillCause.LIVENESS}
    decided.forget_others_than(frozenset({"x", "y", "z"}), frozenset({"y", "z"}))
    assert decided.killed == {"y": KillCause.LIVENESS}
    decided.forget_others_than(frozenset({"z"}), frozenset({"z"}))
    assert (decided.ends, decided.killed) == ({}, {})


def test_a_pod_without_a_directory_gets_no_record_of_its_end(host: SimulatedHost) -> None:
    host.tree.remove_all("/root/pods/u1")
    agent = Agent(host)
    agent.decided.ends["x"] = NOTE
    agent.do(Keep())
    assert not host.tree.exists("/root/pods/u1")


@pytest.mark.parametrize("text", ["", "no document", '{"ends": 1}', '{"killed": {"x": "OF_ANOTHER_VERSION"}}'])
def test_an_unreadable_record_counts_as_no_decision(host: SimulatedHost, text: str) -> None:
    host.tree.write(PATH, text.encode())
    agent = Agent(host)
    agent.do(Recall())
    assert agent.decided.recalled
    assert (agent.decided.ends, agent.decided.killed, agent.decided.owed) == ({}, {}, {})


def test_a_hanging_disk_delays_a_decided_end_only_briefly(host: SimulatedHost) -> None:
    agent = Agent(host)
    host.tree.fail("/root/pods/u1", errno.EIO)
    assert agent.do(Recall()) == 0
    assert agent.do(Keep()) == 0
    other = Agent(host)
    host.tree.heal("/root/pods/u1")
    host.tree.hang("/root/pods/u1")
    assert other.do(Recall()) <= PATIENCE_NS
    assert other.do(Keep()) <= PATIENCE_NS
