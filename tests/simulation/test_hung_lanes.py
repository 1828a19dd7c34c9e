"""Calls of lanes that never return: to disks, cgroups, logs, storage drivers.

Each hangs alone, in virtual time.

A play without hangs records what the node calls, so a new call must get its row here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import pytest

from actors.kernel.lanes import PATIENCE_NS
from runtime.csi.capability import NodeInfo
from simulation.play.play import Play
from tests.simulation.hung_plays import (
    Played,
    bounded,
    held_up,
    names,
    of_a_lane,
    scenario,
    undisturbed,
)

HANGS = "has not ended within 123 s"
OF_THE_SICK_POD = {
    "CgroupOperations.make": "CgroupOperations.make",
    "MeasuredVolumes.prepare": HANGS,
    "MeasuredVolumes.release": HANGS,
    "SimulatedLogFiles.compress": "SimulatedLogFiles.names_beside",
    "SimulatedLogFiles.move_log": "SimulatedLogFiles.move_log",
    "SimulatedLogFiles.names_beside": "SimulatedLogFiles.names_beside",
    "SimulatedLogFiles.remove": "SimulatedLogFiles.remove",
    "SimulatedNodeVolumes.make_pod": HANGS,
    "SimulatedNodeVolumes.remove_pod": HANGS,
    "SimulatedPodFiles.link_log": "SimulatedPodFiles.link_log",
    "SimulatedPodFiles.prepare_container": "SimulatedPodFiles.prepare_container",
    "SimulatedPodFiles.read_node_file": "SimulatedPodFiles.read_node_file",
    "SimulatedPodFiles.read_termination_message": "SimulatedPodFiles.read_termination_message",
    "SimulatedPodFiles.write_record": "SimulatedPodFiles.write_record",
    "SimulatedPodLogs.remove_pod": "SimulatedPodLogs.remove_pod",
    "SimulatedSubPaths.prepare": "SimulatedSubPaths.prepare",
}
"""What hangs for the sick pod -> the words that name it.

In an event, the log or the explanation of the pod.
"""
OF_ITS_DISK = {
    "MeasuredVolumes.stage": "staging of kubernetes.io/csi/disks.example^sick-disk: it has not ended",
    "MeasuredVolumes.unstage": "unstaging of kubernetes.io/csi/disks.example^sick-disk: it has not ended",
}
"""The same of its storage driver, named by the handle of the disk."""
OF_THE_NODE = {
    "CgroupOperations.prepare": "CgroupOperations.prepare",
    "CgroupOperations.remove": "CgroupOperations.remove",
    "CgroupOperations.uids": "CgroupOperations.uids",
    "FileSourceActor._read_all": "FileSourceActor._read_all",
    "NodeSurveyActor.look.<locals>.<lambda>": "facts of the node",
    "PluginWatcherActor.look.<locals>.list_them": "new plugins are not noticed at once",
    "save_allocations": "save_allocations",
    "SimulatedPullRecordFiles.apply": "SimulatedPullRecordFiles.apply",
    "SimulatedHostStats.filesystem": "the file system of images",
    "SimulatedIdFiles.records": "SimulatedIdFiles.records",
    "SimulatedIdFiles.remove": "SimulatedIdFiles.remove",
    "SimulatedIdFiles.subordinate": "SimulatedIdFiles.subordinate",
    "SimulatedIdFiles.write": "SimulatedIdFiles.write",
    "SimulatedLogFiles.sizes": "SimulatedLogFiles.sizes",
    "SimulatedNodeVolumes.list_uids": "SimulatedNodeVolumes.list_uids",
    "SimulatedPodLogs.dead_links": "SimulatedPodLogs.dead_links",
    "SimulatedPodLogs.list_pods": "SimulatedPodLogs.list_pods",
}
"""What hangs once, about no pod -> the words that name it in the log."""
TRIED_AGAIN = {"CgroupOperations.make", "SimulatedSubPaths.prepare"}
"""Here the sick pod stays: each new try must hold up nobody."""
FEW = 4


def test_every_call_of_a_lane_has_a_row():
    assert undisturbed().lane_calls == {*OF_THE_SICK_POD, *OF_ITS_DISK, *OF_THE_NODE}


@pytest.mark.parametrize("what", sorted({*OF_THE_SICK_POD, *OF_ITS_DISK}))
def test_a_call_that_hangs_for_one_pod_holds_up_others_once_at_most_and_is_named(what: str):
    word = {**OF_THE_SICK_POD, **OF_ITS_DISK}[what]
    played = Played(bounded(patience_ns=PATIENCE_NS, sick_stays=what in TRIED_AGAIN), of_a_lane(what))
    assert played.broken == []
    assert played.hung[what] >= 1
    assert held_up(played) <= FEW
    assert names(played.node_said if what in OF_ITS_DISK else played.said, word)


@pytest.mark.parametrize("what", sorted(OF_THE_NODE))
def test_a_call_of_the_node_that_hangs_once_holds_up_nobody_for_long_and_is_named(what: str):
    played = Played(bounded(patience_ns=PATIENCE_NS), of_a_lane(what, times=1))
    assert played.broken == []
    assert played.hung[what] == 1
    assert held_up(played) <= FEW
    assert names(played.node_said, OF_THE_NODE[what])


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_plugin_that_hangs_while_it_registers_holds_up_no_other_plugin_and_is_named(number: int):
    def hang(play: Play) -> Counter[str]:
        calls, hung = Counter[str](), Counter[str]()

        def hangs(name: str, key: Hashable) -> bool:
            if "hung.example" not in str(key):
                return False
            calls["all"] += 1
            hung[name] += calls["all"] >= number
            return calls["all"] >= number

        node = play.world.nodes["node-0"]
        node.agent.hangs = hangs
        node.plugins.add("hung.example", NodeInfo("node-0"))
        play.world.after(20 * 10**9, lambda: node.plugins.add("well.example", NodeInfo("node-0")))
        return hung

    played = Played(scenario(), hang)
    assert played.broken == []
    assert len(played.hung) >= 1
    assert ("well.example", "") in played.plugins_told
    assert ("hung.example", "") not in played.plugins_told
    assert names(played.node_said, "hung.example")
