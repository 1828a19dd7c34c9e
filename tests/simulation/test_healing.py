"""When a world is healed, nothing goes wrong any more.

It counts as desired only if that is not just its appearance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actors.cluster.list_watch import Follower
from runtime.api import ApiError
from simulation.host.host import SimulatedPodLogs
from simulation.play.play import Play, PlayOutcome
from simulation.scenarios.faults import AgentKills, AgentPauses, AnyFault, ApiOutage, DiskFull, FrozenActor
from simulation.scenarios.pods import ContainerMix, PodMix
from simulation.scenarios.scenario import NodeRules, Scenario
from simulation.world.world import World

SECOND = 10**9
FEW = (PodMix(name="a", count=3, arrives=("0s", "1s")),)


def scenario(*faults: AnyFault, lasts: str = "20s", **rest: Any) -> Scenario:
    return Scenario(about="few pods", pods=FEW, faults=faults, lasts=lasts, **rest)


def played(wanted: Scenario, sink: Callable[[str], object] | None = None) -> PlayOutcome:
    play = Play(wanted, 1, sink=sink)
    while not play.done:
        play.advance(SECOND)
    return play.outcome()


@pytest.mark.parametrize(
    "fault",
    [
        DiskFull(at="10s", lasts="2h"),
        FrozenActor(at="10s", lasts="2h", path="/node/status-manager"),
        AgentPauses(lasts=("2h", "2h"), at=("10s",)),
        ApiOutage(at="19s", lasts="2h"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_a_long_fault_ends_when_the_world_is_healed(fault: AnyFault):
    outcome = played(scenario(fault, nodes_stay_ready=False, converges_within="2m"))
    assert outcome.converged, outcome.violations
    assert outcome.virtual_ns < 150 * SECOND


def test_a_fault_planned_after_the_healing_never_comes():
    faults = (ApiOutage(at="21s", lasts="5m"), AgentKills(at=("22s",)), AgentPauses(at=("22s",), lasts=("9s", "9s")))
    outcome = played(scenario(*faults))
    assert outcome.converged
    assert {outcome.sometimes[name] for name in ("api-outage", "agent-killed", "agent-paused")} == {0}


def test_disks_that_are_filled_twice_have_their_room_back_in_the_end():
    world = World(1)
    tree = world.nodes["node-0"].host.tree
    before = tree.capacity_bytes
    world.fill_disks(5 * SECOND)
    world.run_for(2 * SECOND)
    world.fill_disks(5 * SECOND)
    world.run_for(4 * SECOND)
    assert tree.capacity_bytes == tree.used_bytes
    world.run_for(2 * SECOND)
    assert tree.capacity_bytes == before


def test_the_longer_of_two_pauses_or_outages_counts():
    world = World(1)
    agent = world.nodes["node-0"].agent
    world.pause_agent("node-0", 9 * SECOND)
    world.pause_agent("node-0", 2 * SECOND)
    world.api_outage(9 * SECOND)
    world.api_outage(2 * SECOND)
    world.run_for(5 * SECOND)
    assert not agent.runs
    assert world.apis["node-0"].is_down
    world.run_for(5 * SECOND)
    assert agent.runs
    assert not world.apis["node-0"].is_down


def test_a_dead_agent_is_not_killed_again_but_when_it_is_back():
    outcome = played(scenario(AgentKills(at=("5s", "6s"), away=("3s", "3s"))))
    assert outcome.converged
    assert outcome.sometimes["agent-killed"] == 2
    world = World(1)
    world.kill_agent("node-0", 3 * SECOND)
    world.kill_agent("node-0", 3 * SECOND)
    world.pause_agent("node-0", SECOND)
    assert world.sometimes()["agent-killed"] == 1
    assert world.sometimes()["agent-paused"] == 0


def test_an_agent_killed_at_an_operation_dies_once():
    outcome = played(scenario(AgentKills(at_operations=0.2)))
    assert outcome.converged
    assert 0 < outcome.sometimes["agent-killed-at-an-operation"] <= outcome.sometimes["agent-killed"]


def test_an_actor_that_is_frozen_when_its_agent_dies_need_not_be_named_by_the_next():
    frozen = FrozenActor(at="2s", lasts="10m", path="/node/status-manager")
    outcome = played(scenario(frozen, AgentKills(at=("5s",)), lasts="6m", nodes_stay_ready=False))
    assert outcome.violations == ()


def test_a_world_is_not_as_desired_while_an_agent_is_away():
    outcome = played(scenario(AgentKills(at=("19s",), away=("30s", "30s"))))
    assert outcome.converged
    assert outcome.virtual_ns > 49 * SECOND


def test_a_world_with_a_node_that_never_came_is_not_as_desired():
    quiet = scenario(converges_within="30s", node=NodeRules(configuration={"registerNode": False}))
    found = played(quiet)
    assert not found.converged
    assert "node node-0 is not Ready" in {each["what"] for each in found.violations}


def test_pods_that_are_for_ever_and_have_ended_are_not_as_desired():
    short = PodMix(name="a", count=1, spec={"activeDeadlineSeconds": 5}, containers=(ContainerMix(),))
    outcome = played(Scenario(about="a deadline", pods=(short,), lasts="20s", converges_within="30s"))
    assert [each["invariant"] for each in outcome.violations] == ["unsettled"]
    assert "although it runs for ever and nobody has ended it" in outcome.violations[0]["what"]


# --- newcomers --------------------------------------------------------------------------------------------------------


def test_an_agent_that_hears_of_no_new_pods_is_found_out_though_nothing_is_left_to_do(monkeypatch: pytest.MonkeyPatch):
    """Its watches of the API server get nothing any more, but its calls still arrive."""
    ended = Follower.attempt_ended

    def gives_up(self: Follower, key: Any, followed: Any, outcome: Any, error: ApiError | None) -> None:
        if error is None:
            ended(self, key, followed, outcome, error)

    monkeypatch.setattr(Follower, "attempt_ended", gives_up)
    outcome = played(scenario(ApiOutage(at="5s", lasts="2s"), converges_within="30s"))
    assert not outcome.converged
    assert [each["what"] for each in outcome.violations] == ["newcomer-node-0 is Pending, not ready"]


def test_newcomers_are_no_pods_of_the_scenario():
    lines: list[str] = []
    outcome = played(scenario(nodes=2), lines.append)
    assert outcome.converged
    assert (outcome.pods, len(outcome.startups_ns)) == (3, 3)
    operations = [line.split(maxsplit=2)[2] for line in "".join(lines).splitlines() if " world " in line]
    assert operations[-5:] == [
        "is healed",
        "creates newcomer-node-0",
        "creates newcomer-node-1",
        "deletes newcomer-node-0",
        "deletes newcomer-node-1",
    ]


@pytest.mark.parametrize(("most", "creates"), [(3, []), (4, ["creates newcomer-node-0"])])
def test_a_node_that_is_full_gets_none(most: int, creates: list[str]):
    lines: list[str] = []
    outcome = played(scenario(node=NodeRules(configuration={"maxPods": most})), lines.append)
    assert (outcome.converged, outcome.pods) == (True, 3)
    assert [line.split(maxsplit=2)[2] for line in "".join(lines).splitlines() if "creates newcomer" in line] == creates


def test_a_pod_of_the_scenario_may_have_the_name_of_a_newcomer():
    mix = PodMix(name="newcomer-node", count=1, arrives=("0s", "1s"))
    outcome = played(Scenario(about="one pod", pods=(mix,), lasts="5s"))
    assert (outcome.converged, outcome.pods, outcome.violations) == (True, 1, ())


def test_nodes_that_take_only_what_tolerates_them_get_one():
    taints = [{"key": "mine", "effect": "NoExecute"}, {"key": "mine", "effect": "NoSchedule"}]
    mine = PodMix(name="a", count=1, arrives=("0s", "1s"), spec={"tolerations": [{"key": "mine"}]})
    node = NodeRules(configuration={"registerWithTaints": taints})
    outcome = played(Scenario(about="one pod", pods=(mine,), lasts="5s", node=node))
    assert (outcome.converged, outcome.violations) == (True, ())


# --- logs -------------------------------------------------------------------------------------------------------------


def left_behind() -> str:
    """The first of what is left three minutes after the world was healed."""
    gone = PodMix(name="a", count=1, arrives=("0s", "1s"), lives=("3s", "4s"))
    outcome = played(Scenario(about="one pod", pods=(gone,), lasts="20s", converges_within="3m"))
    assert {each["invariant"] for each in outcome.violations} == {"left-behind"}
    what: str = outcome.violations[0]["what"]
    return what


def test_logs_of_pods_that_are_gone_are_found(monkeypatch: pytest.MonkeyPatch):
    """The agent does not remove them."""
    monkeypatch.setattr(SimulatedPodLogs, "remove_pod", lambda self, directory, links=(): None)
    assert "node-0 still has the logs " in left_behind()


def test_links_to_logs_that_are_gone_are_found(monkeypatch: pytest.MonkeyPatch):
    remove = SimulatedPodLogs.remove_pod
    monkeypatch.setattr(SimulatedPodLogs, "remove_pod", lambda self, directory, links=(): remove(self, directory))
    monkeypatch.setattr(SimulatedPodLogs, "remove_link", lambda self, path: None)
    assert "to a log that is gone" in left_behind()
