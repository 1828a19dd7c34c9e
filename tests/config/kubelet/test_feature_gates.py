"""Gates of spec 18: what is on, what may be changed, and what a choice of all of a stage does."""

import re
from pathlib import Path

import pytest

from config.kubelet.feature_gates import ALL_OF_STAGE, GATES, FeatureStage, choose_gates, parse_gates
from config.kubelet.gate_dependencies import NEEDS

NAMED = {"CPUCFSQuotaPeriod": "CustomCPUCFSQuotaPeriod", "RuntimeClassInImageCriAPI": "RuntimeClassInImageCriApi"}
"""The specification has the names of Go's constants. People write the names of the gates."""

SPEC = Path(__file__).parents[3].parent / "shared" / "spec" / "kubelet.md"


@pytest.mark.skipif(not SPEC.exists(), reason="the specification lies beside our checkouts only")
# (spec 18.1.1, 18.2.1)
def test_the_table_is_that_of_the_specification() -> None:
    section = SPEC.read_text().split("### 18.1")[1].split("## 19.")[0]
    on, off = section.split("### 18.2")
    expected = {}
    for part, default in ((on, True), (off, False)):
        for row in re.findall(r"^\| (\w+) \| (GA|Beta|Alpha|Deprecated) \| ([\d.]+) \|(.*)$", part, re.M):
            name, stage, since, rest = row
            locked = rest.startswith(" yes") or "locked off" in rest
            expected[NAMED.get(name, name)] = (stage, since, default, locked)
    assert len(expected) > 100
    assert expected == {
        name: (gate.stage.value, gate.since, gate.default, gate.locked)
        for name, gate in GATES.items()
        if name in expected
    }


# (spec 18.1.1)
def test_no_alpha_gate_is_on_and_no_ga_gate_is_off() -> None:
    assert not [gate.name for gate in GATES.values() if gate.stage is FeatureStage.ALPHA and gate.default]
    assert not [gate.name for gate in GATES.values() if gate.stage is FeatureStage.GA and not gate.default]


@pytest.mark.parametrize(
    ("chosen", "gate", "enabled"),
    [
        ({}, "NodeSwap", True),
        ({}, "MemoryQoS", False),
        ({"MemoryQoS": True}, "MemoryQoS", True),
        ({"ContainerCheckpoint": False}, "ContainerCheckpoint", False),
        ({"AllAlpha": True}, "MemoryQoS", True),
        ({"AllAlpha": True}, "SELinuxMount", False),
        ({"AllAlpha": True, "MemoryQoS": False}, "MemoryQoS", False),
        ({"AllBeta": True}, "SELinuxMount", True),
        ({"AllBeta": False}, "ContainerCheckpoint", False),
        ({"AllBeta": False}, "NodeSwap", True),
        ({"AllBeta": False, "ContainerCheckpoint": True}, "ContainerCheckpoint", True),
        ({"AllAlpha": True}, "GitRepoVolumeDriver", False),
    ],
)
def test_a_choice_decides_what_is_on(chosen: dict[str, bool], gate: str, enabled: bool) -> None:
    choice = choose_gates(chosen)
    assert not choice.faults
    assert choice.gates.enabled(gate) is enabled


# (spec 18.1.1)
def test_unknown_and_locked_gates_are_faults_and_change_nothing() -> None:
    choice = choose_gates({"MemoryQos": True, "NodeSwap": False, "GitRepoVolumeDriver": True, "MemoryQoS": True})
    assert [(fault.path, fault.hint) for fault in choice.faults] == [
        ("$.featureGates.MemoryQos", "did you mean MemoryQoS?"),
        ("$.featureGates.NodeSwap", "remove it; its effect cannot be changed"),
        ("$.featureGates.GitRepoVolumeDriver", "remove it; its effect cannot be changed"),
    ]
    assert choice.gates.enabled("NodeSwap")
    assert not choice.gates.enabled("GitRepoVolumeDriver")
    assert choice.gates.enabled("MemoryQoS")


@pytest.mark.parametrize(
    ("chosen", "path", "reason"),
    [
        (
            {"ClusterTrustBundleProjection": True},
            "ClusterTrustBundleProjection",
            "ClusterTrustBundleProjection is on, and needs ClusterTrustBundle, which is off",
        ),
        (
            {"GracefulNodeShutdown": False, "WindowsGracefulNodeShutdown": False},
            "GracefulNodeShutdown",
            "GracefulNodeShutdownBasedOnPodPriority is on, and needs GracefulNodeShutdown, which is off",
        ),
        (
            {"AllBeta": False, "InPlacePodLevelResourcesVerticalScaling": True},
            "InPlacePodLevelResourcesVerticalScaling",
            "InPlacePodLevelResourcesVerticalScaling is on, and needs NodeDeclaredFeatures and PodLevelResources, "
            "which are off",
        ),
    ],
)
def test_a_gate_that_is_on_without_what_it_needs_is_a_fault(chosen: dict[str, bool], path: str, reason: str) -> None:
    (fault,) = choose_gates(chosen).faults
    assert (fault.path, fault.reason) == (f"$.featureGates.{path}", reason)
    assert fault.hint.startswith("turn ")


@pytest.mark.parametrize("chosen", [{}, {"AllAlpha": True}, {"AllBeta": False}, {"AllBeta": True, "AllAlpha": True}])
def test_a_choice_for_whole_stages_meets_what_gates_need(chosen: dict[str, bool]) -> None:
    assert not choose_gates(chosen).faults


def test_only_gates_that_can_be_off_are_needed() -> None:
    for gate, needed in NEEDS.items():
        assert not GATES[gate].locked
        assert not [each for each in needed if GATES[each].locked]


def test_naming_a_locked_gate_with_its_own_value_is_a_warning() -> None:
    choice = choose_gates({"NodeSwap": True, "DisableNodeKubeProxyVersion": True, "ContainerCheckpoint": True})
    assert not choice.faults
    assert [warning.path for warning in choice.warnings] == [
        "$.featureGates.NodeSwap",
        "$.featureGates.DisableNodeKubeProxyVersion",
    ]


def test_the_flag_form_reads_what_it_can() -> None:
    chosen, faults = parse_gates(" MemoryQoS=true, AllBeta=f,Broken,Odd=maybe,,=true")
    assert chosen == {"MemoryQoS": True, "AllBeta": False}
    assert [fault.reason.split("'")[1] for fault in faults] == ["Broken", "Odd=maybe", "=true"]


def test_asking_for_a_gate_that_does_not_exist_is_a_mistake_of_the_agent() -> None:
    with pytest.raises(KeyError):
        choose_gates({}).gates.enabled("NoSuchGate")


def test_all_of_a_stage_is_no_gate_itself() -> None:
    assert not set(ALL_OF_STAGE) & set(GATES)
