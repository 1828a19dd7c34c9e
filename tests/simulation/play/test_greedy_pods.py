"""Greedy pods come, are updated, restart and go; nothing else in their play comes at another time."""

from __future__ import annotations

import msgspec
import pytest

from simulation.play.greedy_pods import is_compared, without_greedy
from simulation.play.play import Play
from simulation.scenarios.scenario import Scenario, ScenarioError, read_scenario
from simulation.world.timings import Timings

SECOND_NS = 10**9
SCENARIO = b"""
about: a greedy pod and small ones
node: {workTakesTime: true}
pods:
  - {name: web, count: 4, arrives: [0s, 20s], lives: [5s, 10s], slowerAtMost: 1.5}
  - name: greedy
    count: 1
    greedy: {field: "spec.volumes[*]", size: 16Ki}
    hopeless: true
    arrives: [1s, 3s]
    updated: [5s, 6s]
    lives: [15s, 20s]
    behaviour: {run-for: "3s,forever"}
"""


def scenario(field: str = "spec.volumes[*]", text: bytes = SCENARIO) -> Scenario:
    return read_scenario(text.replace(b"spec.volumes[*]", field.encode()))


def come(played: Scenario, seed: int = 1) -> dict[str, int]:
    """By name: when each pod was created."""
    play = Play(played, seed, usual=Timings())
    created_ns: dict[str, int] = {}
    while not play.done:
        play.advance(SECOND_NS // 10)
        created_ns.update((pod.name, pod.created_ns) for pod in play.world.chronicle.pods.values())
    assert play.outcome().violations == ()
    return {name: ns for name, ns in created_ns.items() if not name.startswith("newcomer")}


def test_other_pods_come_at_the_same_times_with_and_without_greedy_ones():
    with_greedy, without = come(scenario()), come(without_greedy(scenario()))
    assert with_greedy.pop("greedy-0") > 0
    assert with_greedy == without


def test_a_greedy_pod_is_updated_and_restarts_and_goes():
    play = Play(scenario(), 1)
    labels: set[str] = set()
    restarts = 0
    while not play.done:
        play.advance(SECOND_NS // 10)
        shown = play.world.server.store.get("pods", "default", "greedy-0")
        if shown is not None:
            labels |= shown.object["metadata"]["labels"].keys()
            statuses = shown.object.get("status", {}).get("containerStatuses", ())
            restarts = max([restarts, *(each["restartCount"] for each in statuses)])
    assert "updated" in labels
    assert restarts == 1
    assert play.world.server.store.get("pods", "default", "greedy-0") is None
    assert play.outcome().violations == ()


def test_ephemeral_containers_come_with_the_update():
    play = Play(scenario("spec.ephemeralContainers[*]"), 1)
    counts: list[int] = []
    while not play.done:
        play.advance(SECOND_NS // 10)
        shown = play.world.server.store.get("pods", "default", "greedy-0")
        if shown is not None:
            counts.append(len(shown.object["spec"].get("ephemeralContainers", ())))
    assert counts[0] == 0
    assert max(counts) > 30, "as many as fit into the object that is stored, with what the server adds to each"


def test_the_seed_draws_a_field():
    drawn = scenario("*")
    assert Play(drawn, 3).greedy.fields == Play(drawn, 3).greedy.fields
    assert len({Play(drawn, seed).greedy.fields["greedy"] for seed in range(5)}) > 1


def test_pods_that_wait_longer_beside_a_greedy_one_are_told_of_with_what_it_grows():
    usual = Timings()
    web = scenario().pods[0]
    usual.waited(web, "start", 1)
    play = Play(scenario(), 1, usual=usual)
    while not play.done:
        play.advance(SECOND_NS)
    found = [each for each in play.outcome().violations if each["invariant"] == "no-pod-takes-anothers-turn"]
    assert len(found) == 2
    assert "greedy grows spec.volumes[*]" in found[0]["what"]


def test_only_a_play_with_greedy_pods_and_limits_for_others_is_compared():
    assert is_compared(scenario())
    assert not is_compared(without_greedy(scenario()))
    assert not is_compared(scenario(text=SCENARIO.replace(b", slowerAtMost: 1.5", b"")))


def test_a_greedy_pod_that_is_never_gone_is_unsettled():
    stays = SCENARIO.replace(b'behaviour: {run-for: "3s,forever"}', b"behaviour: {hang: StopContainer}")
    play = Play(msgspec.structs.replace(scenario(text=stays), converges_within="30s"), 1, usual=Timings())
    while not play.done:
        play.advance(SECOND_NS)
    assert "greedy-0 was deleted and is still there" in [each["what"] for each in play.outcome().violations]


def test_a_field_that_no_pod_has_is_refused_with_the_nearest():
    with pytest.raises(ScenarioError, match=r"\$\.pods\[1\]\.greedy\.field: .*did you mean spec.volumes\[\*\].nfs"):
        scenario("spec.volumes[*].nsf")
