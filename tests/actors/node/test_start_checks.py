"""Whether an agent may start, by table (spec 10.1)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.node.start_checks import asked_cgroups, reservable_capacity, start_faults, start_remarks, start_warnings
from actors.node_object.settings import Remark
from config.kubelet import KubeletConfiguration
from runtime.host.machine import MachineFacts
from runtime.host.start_facts import StartFacts

GIB = 2**30
MACHINE = MachineFacts(host_name="n", cpus=4, memory_bytes=16 * GIB)
CAPACITY = reservable_capacity(MACHINE, 100 * GIB, 32_768)
V1 = {"cgroup_version": 1, "controllers": frozenset({"cpu", "cpuacct", "cpuset", "memory", "pids"})}
V2: dict[str, Any] = {"cgroup_version": 2, "controllers": frozenset({"cpu", "cpuset", "hugetlb", "memory", "pids"})}


def faults(fields: dict[str, Any], facts: dict[str, Any]) -> list[str]:
    return [str(each) for each in start_faults(KubeletConfiguration(**fields), StartFacts(**facts), CAPACITY)]


@pytest.mark.parametrize(
    ("fields", "facts"),
    [
        ({}, V2),
        ({"fail_cgroup_v1": False}, V1),
        ({"fail_swap_on": False}, {**V2, "swaps": ("/dev/sda2",)}),
        ({"fail_swap_on": False}, {**V2, "swaps": None, "swap_fault": "Permission denied"}),
        ({}, {**V2, "controllers": frozenset()}),  # v2 has what it offers
        ({"system_reserved": {"cpu": "2", "memory": "8Gi"}, "kube_reserved": {"cpu": "2", "memory": "8Gi"}}, V2),
        ({"reserved_system_cpus": "0-1"}, {**V2, "online_cpus": frozenset({0, 1, 2, 3})}),
        ({"reserved_system_cpus": "0-1"}, {**V2, "online_cpus": None}),
        # CPUs that are set aside by number replace what is reserved of them by amount.
        ({"reserved_system_cpus": "0", "system_reserved": {"cpu": "8"}, "kube_reserved": {"cpu": "9"}}, V2),
        # What is kept free for evictions may be more than there is: then no pod comes, and nothing is broken.
        ({"eviction_hard": {"memory.available": "100Gi"}}, V2),
    ],
)
def test_an_agent_starts_on(fields: dict[str, Any], facts: dict[str, Any]) -> None:
    assert faults(fields, facts) == []


@pytest.mark.parametrize(
    ("fields", "facts", "told"),
    [
        ({}, V1, ["$.failCgroupV1: this machine has cgroup v1; boot it with v2, or set it to false"]),
        (
            {"fail_cgroup_v1": False},
            {**V1, "controllers": frozenset({"cpu", "memory"})},
            [
                "$.cgroupsPerQOS: the cgroup controllers cpuacct, cpuset are not mounted on this machine; "
                "mount them (mount -t cgroup -o cpuacct cgroup /sys/fs/cgroup/cpuacct), or boot with v2"
            ],
        ),
        (
            {},
            {**V2, "swaps": ("/dev/sda2", "/swap")},
            [
                "$.failSwapOn: this machine has swap on (/dev/sda2, /swap); run swapoff -a, or set it to false",
            ],
        ),
        (
            {},
            {**V2, "swaps": None, "swap_fault": "Permission denied"},
            [
                "$.failSwapOn: whether this machine swaps cannot be told: /proc/swaps: Permission denied; "
                "make it readable, or set it to false"
            ],
        ),
        (
            {"cgroup_root": "/nodes"},
            {**V2, "missing_cgroups": frozenset({"/nodes"})},
            ["$.cgroupRoot: there is no cgroup '/nodes'; make it, or leave it empty for the root"],
        ),
        (
            {"reserved_system_cpus": "2,4-5"},
            {**V2, "online_cpus": frozenset({0, 1, 2, 3})},
            ["$.reservedSystemCPUs: '2,4-5' names CPUs that are not online here: 4-5; choose among 0-3"],
        ),
        (
            {"system_reserved": {"memory": "10Gi"}, "kube_reserved": {"memory": "7Gi", "cpu": "500m"}},
            V2,
            [
                "$.systemReserved, $.kubeReserved: 17Gi of memory are reserved, and this machine has 16Gi; "
                "reserve less, and leave some to pods"
            ],
        ),
    ],
)
# (spec 9.8.2, 10.1.1, 10.1.4)
def test_an_agent_does_not_start_on(fields: dict[str, Any], facts: dict[str, Any], told: list[str]) -> None:
    assert faults(fields, facts) == told


@pytest.mark.parametrize(
    ("name", "too_much", "there"),
    [("cpu", "5", "4"), ("memory", "17Gi", "16Gi"), ("ephemeral-storage", "101Gi", "100Gi"), ("pid", "40k", "32768")],
)
# (spec 10.1.2)
def test_no_more_can_be_reserved_of_any_resource_than_there_is(name: str, too_much: str, there: str) -> None:
    (told,) = faults({"kube_reserved": {name: too_much}}, V2)
    assert f"{too_much} of {name} are reserved, and this machine has {there}" in told


def test_unknown_machine_facts_limit_no_reservation() -> None:
    configuration = KubeletConfiguration(kube_reserved={"memory": "1Ti", "pid": "99999"})
    nothing = reservable_capacity(MachineFacts(host_name="n", cpus=4, memory_bytes=0), None, None)
    assert start_faults(configuration, StartFacts(), nothing) == ()


def test_every_fault_is_told_at_once() -> None:
    told = faults({"cgroup_root": "/x"}, {**V1, "swaps": ("/s",), "missing_cgroups": frozenset({"/x"})})
    assert [text.split(":")[0] for text in told] == ["$.failCgroupV1", "$.cgroupRoot", "$.failSwapOn"]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (V2, []),
        ({**V2, "user_id": 1000}, ["runs as user 1000"]),
        ({**V2, "controllers": frozenset({"cpu", "memory"})}, ["controllers cpuset, hugetlb, pids"]),
        ({**V2, "root_cpu_stat": False}, ["has no cpu.stat"]),
        ({**V2, "swaps": None, "swap_fault": "Permission denied"}, ["/proc/swaps: Permission denied"]),
        ({**V1, "root_cpu_stat": False}, []),
    ],
)
# (spec 10.1.1)
def test_some_things_are_only_warned_of(facts: dict[str, Any], words: list[str]) -> None:
    told = start_warnings(KubeletConfiguration(fail_swap_on=False), StartFacts(**facts))
    assert len(told) == len(words)
    assert all(word in text for word, text in zip(words, told, strict=True))


@pytest.mark.parametrize(
    ("facts", "kernel", "reasons"),
    [
        (V2, "6.1.0", []),
        (V1, "6.1.0", ["CgroupV1"]),
        ({**V2, "swaps": ("/dev/sda2",)}, "6.4.0", []),
        ({**V2, "swaps": ("/dev/sda2",)}, "6.3.9", ["PossibleMemoryBackedVolumesOnDisk"]),
        ({**V1, "swaps": ("/dev/sda2",)}, "", ["CgroupV1", "PossibleMemoryBackedVolumesOnDisk"]),
        ({**V2, "swaps": None}, "5.15.0", []),
    ],
)
# (spec 2.2.2)
def test_cgroup_v1_and_swap_without_noswap_cause_remarks(
    facts: dict[str, Any], kernel: str, reasons: list[str]
) -> None:
    assert [remark.reason for remark in start_remarks(StartFacts(**facts), kernel)] == reasons


def test_a_remark_says_what_is_wrong_and_where() -> None:
    facts = StartFacts(**{**V2, "swaps": ("/dev/sda2",)})
    assert start_remarks(facts, "5.15.0") == (
        Remark(
            "PossibleMemoryBackedVolumesOnDisk",
            "This machine swaps to /dev/sda2, and its kernel (5.15.0) cannot keep memory-backed volumes out of that, "
            "as 6.4 does: secrets may reach the disk.",
        ),
    )


# (spec 10.1.3)
def test_only_a_root_that_pods_need_is_asked_for() -> None:
    assert asked_cgroups(KubeletConfiguration()) == ()
    assert asked_cgroups(KubeletConfiguration(cgroup_root="/x")) == ("/x",)
    assert asked_cgroups(KubeletConfiguration(cgroup_root="/x", cgroups_per_qos=False)) == ()
