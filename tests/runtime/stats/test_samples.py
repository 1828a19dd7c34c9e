"""How a sample of pods is put together from what the runtime tells and what the kernel shows."""

from __future__ import annotations

import pytest

from runtime.cri.identity import POD_UID
from runtime.cri.messages import (
    Container,
    ContainerState,
    ContainerStats,
    CpuUsage,
    LinuxPodSandboxStats,
    MemoryUsage,
    PodSandbox,
    PodSandboxMetadata,
    PodSandboxState,
    PodSandboxStats,
    PsiData,
    PsiStats,
    UInt64Value,
)
from runtime.stats.readings import CgroupReading, CpuReading, MemoryReading, ProcessReading, Stall, StallPressure
from runtime.stats.samples import Rates, StatsListing

SHOWN, TOLD = StallPressure(Stall(4), Stall(2)), StallPressure(Stall(8), Stall(6))
GROUP = CgroupReading(
    "/kubepods/poda",
    cpu=CpuReading(9, 90, periods=3, pressure=SHOWN),
    memory=MemoryReading(9, working_set=900, page_faults=5, limit=4000, swap_usage=7, pressure=SHOWN),
)
STALLS = PsiStats(Some=PsiData(Total=8), Full=PsiData(Total=6))


def cpu_told(stalls: PsiStats | None) -> CpuUsage:
    return CpuUsage(timestamp=7, usage_core_nano_seconds=UInt64Value(value=70), psi=stalls)


def memory_told(stalls: PsiStats | None) -> MemoryUsage:
    return MemoryUsage(timestamp=7, working_set_bytes=UInt64Value(value=700), psi=stalls)


def listed(stalls: PsiStats | None, *, tells: bool = True) -> StatsListing:
    """One pod with one container, and what the runtime tells of both."""
    meta = PodSandboxMetadata(name="a", namespace="default", uid="a")
    sandbox = PodSandbox(id="s", metadata=meta, state=PodSandboxState.SANDBOX_READY)
    running = ContainerState.CONTAINER_RUNNING
    container = Container(id="c", pod_sandbox_id="s", state=running, labels={POD_UID: "a"})
    if not tells:
        return StatsListing((sandbox,), (container,))
    cpu, memory = cpu_told(stalls), memory_told(stalls)
    return StatsListing(
        (sandbox,),
        (container,),
        {"c": ContainerStats(cpu=cpu, memory=memory)},
        {"s": PodSandboxStats(linux=LinuxPodSandboxStats(cpu=cpu, memory=memory))},
    )


@pytest.mark.parametrize(
    ("stalls", "pressure"), [(None, SHOWN), (STALLS, TOLD)], ids=["the runtime tells none", "the runtime tells them"]
)
def test_what_the_runtime_does_not_tell_of_a_pod_or_container_is_taken_from_its_cgroup(
    stalls: PsiStats | None, pressure: StallPressure
) -> None:
    processes = {"c": ProcessReading(cgroup=GROUP), "s": ProcessReading(pod=GROUP)}
    [pod] = listed(stalls).pods(processes, {}, Rates({}))
    for each in (pod, pod.containers[0]):
        assert each.cpu == CpuReading(7, 70, periods=3, pressure=pressure)
        assert each.memory == MemoryReading(
            7, working_set=700, page_faults=5, limit=4000, swap_usage=7, pressure=pressure
        )


def test_a_runtime_that_tells_nothing_leaves_the_numbers_to_the_cgroup() -> None:
    processes = {"c": ProcessReading(cgroup=GROUP), "s": ProcessReading(pod=GROUP)}
    [pod] = listed(None, tells=False).pods(processes, {}, Rates({}))
    assert (pod.cpu, pod.memory) == (GROUP.cpu, GROUP.memory)


def test_without_a_cgroup_a_pod_uses_what_its_containers_use() -> None:
    [pod] = listed(None, tells=False).pods({"c": ProcessReading(cgroup=GROUP)}, {}, Rates({}))
    assert pod.cpu == CpuReading(9, 90)
    assert pod.memory is not None
    assert (pod.memory.working_set, pod.memory.limit) == (900, 4000)
