"""One sample: usage of a node, its pods and containers at one moment.

It comes from the runtime, the kernel and the disk.

Pure data, and the pure rules that combine it. The runtime's numbers win; the control group supplies the rest. The CPU
rate is the difference to the previous sample (spec 11.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from runtime.cri.identity import CONTAINER_NAME, POD_UID
from runtime.cri.messages import (
    Container,
    ContainerState,
    ContainerStats,
    PodSandbox,
    PodSandboxState,
    PodSandboxStats,
)
from runtime.stats.readings import (
    NO_DISK,
    CgroupReading,
    CpuReading,
    FsReading,
    LayerUsage,
    MemoryReading,
    NetworkReading,
    NodeReading,
    PodDisk,
    ProcessReading,
    StallPressure,
)
from runtime.stats.told import cpu_of, layer_of, memory_of, network_of, pressure_of, value_of

SECOND_NS = 1_000_000_000


class ContainerSample(msgspec.Struct, frozen=True):
    """A running container. `cgroup` None: the kernel's own numbers are unknown."""

    id: str
    name: str
    image: str
    created_ns: int
    cpu: CpuReading | None = None
    memory: MemoryReading | None = None
    layer: LayerUsage | None = None
    logs: FsReading | None = None
    cgroup: CgroupReading | None = None
    process: ProcessReading | None = None
    io_pressure: StallPressure | None = None


class PodSample(msgspec.Struct, frozen=True):
    """A ready sandbox and its running containers. `image`: the sandbox's; empty if unknown."""

    id: str
    uid: str
    name: str
    namespace: str
    created_ns: int
    containers: tuple[ContainerSample, ...] = ()
    cpu: CpuReading | None = None
    memory: MemoryReading | None = None
    network: NetworkReading | None = None
    processes: int | None = None
    disk: PodDisk = NO_DISK
    cgroup: CgroupReading | None = None
    io_pressure: StallPressure | None = None
    image: str = ""


class NodeSample(msgspec.Struct, frozen=True):
    """Everything. `taken_ns` monotonic. None: it could not be had. `problems`: why, for people.

    `image_fs` and `container_fs`: `used` is what the images and the layers take, the rest is of their file systems.
    `containers_apart`: whether layers lie on another file system than images. `blind`: the runtime has not said which
    pods there are, so that nothing is known of any that is not in `pods`. `unsaid`: it has not said what they use; what
    is missing of a pod says nothing about it then. (Of a runtime that does not serve the question that is not said.)
    """

    taken_ns: int
    node: NodeReading | None = None
    root_fs: FsReading | None = None
    image_fs: FsReading | None = None
    container_fs: FsReading | None = None
    image_fs_apart: bool = False
    containers_apart: bool = False
    pods: tuple[PodSample, ...] = ()
    blind: bool = False
    unsaid: bool = False
    problems: tuple[str, ...] = ()


class StatsListing(msgspec.Struct, frozen=True):
    """The runtime's answers. `pod_stats`: empty when it reports none for pods."""

    sandboxes: tuple[PodSandbox, ...] = ()
    containers: tuple[Container, ...] = ()
    stats: Mapping[str, ContainerStats] = {}
    pod_stats: Mapping[str, PodSandboxStats] = {}

    def ids(self) -> tuple[str, ...]:
        """Ids of ready sandboxes, then of running containers."""
        return (*(each.id for each in self._ready()), *(each.id for each in self._running()))

    def _ready(self) -> Iterable[PodSandbox]:
        return (each for each in self.sandboxes if each.state == PodSandboxState.SANDBOX_READY and each.metadata)

    def _running(self) -> Iterable[Container]:
        return (each for each in self.containers if each.state == ContainerState.CONTAINER_RUNNING)

    def pods(
        self,
        processes: Mapping[str, ProcessReading],
        disks: Mapping[str, PodDisk],
        rates: Rates,
        images: Mapping[str, str] = {},
    ) -> tuple[PodSample, ...]:
        """A sample of every pod that runs. `processes` by container and sandbox id, `disks` by UID.

        `images`: of sandboxes, by id.
        """
        inside: dict[str, list[ContainerSample]] = {}
        logs: dict[str, Mapping[str, FsReading]] = {}
        for container in self._running():
            uid = container.labels.get(POD_UID, "")
            of_pod = logs.get(uid)
            if of_pod is None:
                of_pod = logs[uid] = dict(disks.get(uid, NO_DISK).logs)
            stats, process = self.stats.get(container.id), processes.get(container.id)
            sample = _container(container, stats, process, of_pod, rates)
            inside.setdefault(container.pod_sandbox_id, []).append(sample)
        newest: dict[str, PodSandbox] = {}
        for sandbox in self._ready():
            uid = sandbox.metadata.uid if sandbox.metadata else ""
            if uid not in newest or newest[uid].created_at < sandbox.created_at:
                newest[uid] = sandbox
        return tuple(
            _pod(
                sandbox,
                tuple(sorted(inside.get(sandbox.id, ()), key=lambda each: each.name)),
                self.pod_stats.get(sandbox.id),
                processes.get(sandbox.id),
                disks.get(uid, NO_DISK),
                rates,
                images.get(sandbox.id, ""),
            )
            for uid, sandbox in newest.items()
        )


class Rates:
    """CPU rates between two samples.

    `before`: id -> (when, CPU time) of the sample before; `now` becomes the next.
    """

    def __init__(self, before: Mapping[str, tuple[int, int]]) -> None:
        self._before = before
        self.now: dict[str, tuple[int, int]] = {}

    def rated(self, key: str, cpu: CpuReading | None) -> CpuReading | None:
        """The reading with its rate, if there is an earlier one to compare with."""
        if cpu is None:
            return None
        self.now[key] = (cpu.at_ns, cpu.used_ns)
        before = self._before.get(key)
        if before is None or cpu.at_ns <= before[0] or cpu.used_ns < before[1]:
            return cpu
        rate = (cpu.used_ns - before[1]) * SECOND_NS // (cpu.at_ns - before[0])
        return msgspec.structs.replace(cpu, nano_cores=rate)


def _container(
    container: Container,
    stats: ContainerStats | None,
    process: ProcessReading | None,
    logs: Mapping[str, FsReading],
    rates: Rates,
) -> ContainerSample:
    name = container.labels.get(CONTAINER_NAME, "")
    cgroup = None if process is None else process.cgroup
    told_cpu = None if stats is None else cpu_of(stats.cpu)
    told_memory = None if stats is None else memory_of(stats.memory, stats.swap)
    cpu, memory = told_cpu, told_memory
    if cgroup is not None:
        cpu = _either_cpu(told_cpu, cgroup.cpu)
        memory = _either_memory(told_memory, cgroup.memory)
    io = None if stats is None or stats.io is None else pressure_of(stats.io.psi)
    return ContainerSample(
        container.id,
        name,
        image_name(container),
        container.created_at,
        cpu=rates.rated(container.id, cpu),
        memory=memory,
        layer=None if stats is None else layer_of(stats.writable_layer),
        logs=logs.get(name),
        cgroup=cgroup,
        process=process,
        io_pressure=io or (None if cgroup is None else cgroup.io_pressure),
    )


def _pod(
    sandbox: PodSandbox,
    containers: tuple[ContainerSample, ...],
    told: PodSandboxStats | None,
    process: ProcessReading | None,
    disk: PodDisk,
    rates: Rates,
    image: str,
) -> PodSample:
    meta, linux = sandbox.metadata, None if told is None else told.linux
    assert meta is not None, "only sandboxes with metadata are taken"
    own = None if process is None else process.pod
    told_cpu = None if linux is None else cpu_of(linux.cpu)
    told_memory = None if linux is None else memory_of(linux.memory, None)
    cpu = _either_cpu(told_cpu, None if own is None else own.cpu) or _sum_cpu(containers)
    memory = _either_memory(told_memory, None if own is None else own.memory) or _sum_memory(containers)
    counts = [_tasks(each) for each in containers]
    processes = None if linux is None or linux.process is None else value_of(linux.process.process_count)
    if processes is None:
        known = [each for each in counts if each is not None]
        processes = sum(known) if known else None
    io = None if linux is None or linux.io is None else pressure_of(linux.io.psi)
    return PodSample(
        sandbox.id,
        meta.uid,
        meta.name,
        meta.namespace,
        sandbox.created_at,
        containers=containers,
        cpu=rates.rated(sandbox.id, cpu),
        memory=memory,
        network=network_of(linux) or (None if process is None else process.network),
        processes=processes,
        disk=disk,
        cgroup=own,
        io_pressure=io or (None if own is None else own.io_pressure),
        image=image,
    )


def image_name(container: Container) -> str:
    """The image as the pod named it, as far as the runtime remembers."""
    image = container.image
    return "" if image is None else image.user_specified_image or image.image or container.image_ref


def _tasks(container: ContainerSample) -> int | None:
    cgroup = container.cgroup
    return None if cgroup is None else cgroup.processes if cgroup.processes is not None else cgroup.tasks


def _either_cpu(told: CpuReading | None, own: CpuReading | None) -> CpuReading | None:
    """The runtime's own times, completed from the kernel's files."""
    if told is None or own is None:
        return told or own
    pressure = told.pressure or own.pressure
    return msgspec.structs.replace(
        own, at_ns=told.at_ns, used_ns=told.used_ns, nano_cores=told.nano_cores, pressure=pressure
    )


def _either_memory(told: MemoryReading | None, own: MemoryReading | None) -> MemoryReading | None:
    if told is None or own is None:
        return told or own
    changes = {name: value for name, value in msgspec.structs.asdict(told).items() if value is not None}
    # The runtime also says "0 left" when there is no limit; only the kernel's file is right.
    changes.pop("limit", None)
    return msgspec.structs.replace(own, **changes)


def _sum_cpu(containers: tuple[ContainerSample, ...]) -> CpuReading | None:
    found = [each.cpu for each in containers if each.cpu is not None]
    if not found:
        return None
    return CpuReading(max(each.at_ns for each in found), sum(each.used_ns for each in found))


def _sum_memory(containers: tuple[ContainerSample, ...]) -> MemoryReading | None:
    found = [each.memory for each in containers if each.memory is not None]
    if not found:
        return None
    limits = [each.limit for each in found if each.limit is not None]
    return MemoryReading(
        max(each.at_ns for each in found),
        working_set=sum(each.working_set for each in found),
        usage=sum(each.usage or 0 for each in found),
        rss=sum(each.rss or 0 for each in found),
        page_faults=sum(each.page_faults or 0 for each in found),
        major_page_faults=sum(each.major_page_faults or 0 for each in found),
        swap_usage=sum(each.swap_usage or 0 for each in found),
        limit=sum(limits) if len(limits) == len(found) else None,
    )
