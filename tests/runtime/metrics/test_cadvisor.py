"""`/metrics/cadvisor` of a sample: which series there are, with which labels."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from runtime.host.machine import MachineFacts
from runtime.metrics.cadvisor import cadvisor_metrics
from runtime.metrics.exposition import exposition
from runtime.stats.readings import (
    BlockDevice,
    CgroupReading,
    CpuReading,
    DeviceIo,
    InterfaceReading,
    IoCost,
    MemoryReading,
    NetworkReading,
    NodeReading,
    ProcessReading,
    Stall,
    StallPressure,
    SystemContainer,
)
from runtime.stats.samples import ContainerSample, NodeSample, PodSample

AT_NS = 5_000_000_000
NETWORK = NetworkReading(AT_NS, "eth0", (InterfaceReading("eth0", rx_bytes=9),))
CPU = CpuReading(AT_NS, 3_000_000_000)
MEMORY = MemoryReading(AT_NS, working_set=100, reserved=40)
IO = (DeviceIo("8:0", 1, 2, 3, 4, IoCost(usage_us=2_000_000)),)
PRESSURE = StallPressure(some=Stall(1_000_000), full=Stall(500_000))
MACHINE = MachineFacts("n", 4, 1000, machine_id="m", system_uuid="s", boot_id="b", physical_cores=2, sockets=1)
AGENT = CgroupReading("/system.slice/agent.service", CPU, MEMORY, io_pressure=PRESSURE)
NODE = NodeReading(
    AT_NS,
    booted_ns=1_000_000_000,
    cpus=4,
    cgroup=CgroupReading("/", CPU, MEMORY, devices=IO),
    memory_bytes=1000,
    swap_bytes=0,
    swap_free_bytes=0,
    network=NETWORK,
    pids_limit=None,
    pids=None,
    system=(SystemContainer("kubelet", 0, CPU, MEMORY, AGENT), SystemContainer("runtime", 0, CPU, MEMORY, AGENT)),
    disks=(BlockDevice("8:0", "/dev/sda", 1, 2, 3, 4_000, 5, 6, 7, 8_000, 9, 10_000, 11_000),),
    machine=MACHINE,
)
CONTAINER = ContainerSample(
    "c1",
    "app",
    "web",
    2_000_000_000,
    cpu=CPU,
    memory=MEMORY,
    cgroup=CgroupReading("/kubepods/c1", CPU, MEMORY, devices=IO),
    process=ProcessReading(file_descriptors=8, sockets=3, ulimits=(("max_open_files", -1),)),
)
POD = PodSample("s1", "u1", "web-0", "default", 2_000_000_000, (CONTAINER,), CPU, MEMORY, NETWORK, image="pause:3.9")


def page(sample: NodeSample) -> dict[str, list[Any]]:
    text = exposition(cadvisor_metrics(sample)).decode()
    found: dict[str, list[Any]] = {}
    for family in text_string_to_metric_families(text):
        for series in family.samples:
            found.setdefault(series.name, []).append(series)
    return found


PAGE = page(NodeSample(0, node=NODE, pods=(POD,)))


def one(name: str, /, **labels: str) -> float:
    [series] = [each for each in PAGE[name] if labels.items() <= each.labels.items()]
    return float(series.value)


def test_no_series_is_there_twice() -> None:
    every = [(each.name, tuple(sorted(each.labels.items()))) for rows in PAGE.values() for each in rows]
    assert len(every) == len(set(every))


def test_a_container_has_its_sockets_limits_and_reserved_memory() -> None:
    assert one("container_sockets", container="app") == 3
    assert one("container_file_descriptors", container="app") == 8
    assert one("container_ulimits_soft", container="app", ulimit="max_open_files") == -1
    assert one("container_spec_memory_reservation_limit_bytes", container="app") == 40


# (spec 11.7.4)
def test_disks_have_the_names_that_dashboards_look_for() -> None:
    assert one("container_fs_writes_bytes_total", container="app", device="/dev/sda") == 2
    blkio = {"device": "/dev/sda", "major": "8", "minor": "0", "operation": "Read"}
    assert one("container_blkio_device_usage_total", container="app", **blkio) == 1
    assert one("container_fs_io_cost_usage_seconds_total", container="app", device="/dev/sda") == 2


def test_disks_of_the_machine_are_told_in_seconds_and_bytes() -> None:
    expected = {
        "container_fs_reads_total": 1,
        "container_fs_reads_merged_total": 2,
        "container_fs_sector_reads_total": 3,
        "container_fs_reads_bytes_total": 3 * 512,
        "container_fs_read_seconds_total": 4,
        "container_fs_writes_total": 5,
        "container_fs_writes_merged_total": 6,
        "container_fs_sector_writes_total": 7,
        "container_fs_writes_bytes_total": 7 * 512,
        "container_fs_write_seconds_total": 8,
        "container_fs_io_current": 9,
        "container_fs_io_time_seconds_total": 10,
        "container_fs_io_time_weighted_seconds_total": 11,
    }
    assert {name: one(name, id="/", device="/dev/sda") for name in expected} == expected


def test_the_machine_has_its_cores_sockets_and_ids() -> None:
    labels = {"machine_id": "m", "system_uuid": "s", "boot_id": "b"}
    assert one("machine_cpu_cores", **labels) == 4
    assert one("machine_cpu_physical_cores", **labels) == 2
    assert one("machine_cpu_sockets", **labels) == 1
    assert one("machine_memory_bytes", **labels) == 1000


def test_a_machine_that_tells_no_cores_has_one_for_each_cpu() -> None:
    node = replace(NODE, machine=MachineFacts("n", 4, 1000))
    series = page(NodeSample(0, node=node))
    assert [each.value for each in series["machine_cpu_physical_cores"]] == [4]
    assert [each.value for each in series["machine_cpu_sockets"]] == [1]


def test_the_network_of_a_pod_has_the_image_of_its_sandbox() -> None:
    labels = {"pod": "web-0", "name": "s1", "image": "pause:3.9", "container": "", "interface": "eth0"}
    assert one("container_network_receive_bytes_total", **labels) == 9


def test_agent_and_runtime_in_one_group_are_told_once() -> None:
    assert one("container_memory_working_set_bytes", id=AGENT.path) == 100
    assert one("container_pressure_io_waiting_seconds_total", id=AGENT.path) == 1
