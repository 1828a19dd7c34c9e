"""Calls to the runtime that never return for one pod.

The others start and end as they do without it.

Every verb hangs in turn, about one pod or, where it is about none, once. Verbs are read from `runtime.cri.verbs`, so
that a new one is covered by itself.
"""

from __future__ import annotations

import pytest

from runtime.cri.verbs import ALL_VERBS
from simulation.cri.hung_calls import HungCalls
from simulation.play.play import Play
from tests.simulation.hung_plays import OWN_IMAGE, SECOND_NS, Played, bounded, names

VERBS = [verb.name for verb in ALL_VERBS if not verb.streaming]
OF_THE_NODE = ("Status", "ListImages", "ImageFsInfo")
"""Verbs about no pod that this world calls: one call of each hangs."""
NOT_CALLED = frozenset(
    {"Version", "RemoveContainer", "UpdateContainerResources", "Exec", "Attach", "PortForward", "ContainerStats"}
    | {"ListContainerStats", "PodSandboxStats", "ListPodSandboxStats", "UpdateRuntimeConfig", "CheckpointContainer"}
    | {"ListMetricDescriptors", "ListPodSandboxMetrics", "RuntimeConfig", "UpdatePodSandboxResources", "RemoveImage"}
)
"""Verbs that an agent calls before its node is ready, for users alone, or never.

The test says when one is called.
"""


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in OF_THE_NODE])
def test_a_verb_that_hangs_for_one_pod_holds_up_no_other_and_is_named(verb: str):
    def hang(play: Play) -> HungCalls:
        hung = HungCalls(play.world.nodes["node-0"].cri)
        hung.hang(verb, pod="sick-0", image=OWN_IMAGE)
        return hung

    both = [Played(bounded(sick_stays=stays), hang) for stays in (False, True)]
    assert [played.broken for played in both] == [[], []]
    assert any(played.hung.hung for played in both) == (verb not in NOT_CALLED)
    if verb not in NOT_CALLED:
        waits = {"ExecSync": "hook", "PullImage": "pull"}.get(verb, verb)
        assert any(names(played.said, verb, waits) for played in both), [played.said for played in both]


@pytest.mark.parametrize("verb", OF_THE_NODE)
def test_one_call_of_the_node_that_hangs_costs_a_moment_and_is_logged(verb: str):
    def hang(play: Play) -> HungCalls:
        hung = HungCalls(play.world.nodes["node-0"].cri)
        hung.hang(verb, times=1)
        return hung

    played = Played(bounded(patience_ns=2 * SECOND_NS), hang)
    assert played.hung.hung[verb] == 1
    assert played.broken == []
    assert names(played.node_said, verb)
