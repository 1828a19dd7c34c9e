"""`NodeStatsActor`: samples the usage of the node, its pods and containers on request (spec 11.6).

It keeps the last sample and takes another when that is older than the request allows. Without requests it does
nothing. A sample combines the runtime's answers, the kernel's files, and the disks of pods (`pod_disks`).

The CPU rate needs two samples. If there is none of the last two minutes, a second one follows the first after half a
second. Data that cannot be had is left out and named in the sample; a request never fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from actors.kernel import Actor, DeadlineExceededError, LaneExhaustedError, Outcome, Pending, handles
from actors.messages.stats import StatsTaken, TakeStats, WantStats
from actors.node.pod_disks import PodDisks, disk_lane
from runtime.cri import Cri, CriError, StatusCode
from runtime.cri.messages import (
    ContainerStatusRequest,
    FilesystemUsage,
    ImageFsInfoRequest,
    ImageFsInfoResponse,
    ListContainersRequest,
    ListContainerStatsRequest,
    ListPodSandboxRequest,
    ListPodSandboxStatsRequest,
    PodSandboxStatusRequest,
)
from runtime.cri.verbs import (
    CONTAINER_STATUS,
    IMAGE_FS_INFO,
    LIST_CONTAINER_STATS,
    LIST_CONTAINERS,
    LIST_POD_SANDBOX,
    LIST_POD_SANDBOX_STATS,
    POD_SANDBOX_STATUS,
)
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.stats.capability import HostStats
from runtime.stats.readings import FsReading, NodeReading, ProcessReading
from runtime.stats.samples import NodeSample, Rates, StatsListing
from runtime.stats.told import pid_and_image, value_of
from runtime.volumes.capability import NodeVolumes

T = TypeVar("T")

SECOND_NS = 1_000_000_000
CALL_NS = 8 * SECOND_NS
"""The limit for one answer of the runtime, which has to read files for every container."""
READ_NS = 5 * SECOND_NS
FILESYSTEM_NS = 2 * SECOND_NS
BASE_NS = SECOND_NS // 2
"""The time between the two samples of a first request."""
BASE_LASTS_NS = 120 * SECOND_NS
LOOKUPS_AT_ONCE = 16
LOOKUPS_AT_MOST = 512
"""The most lookups of process ids in one sample; the rest follows in the next one."""


class NodeStatsActor(Actor):
    """See the module. `count_every_ns`: how often a pod's disk is counted; zero or less: never."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(
        self,
        cri: Cri,
        host: HostStats,
        root_directory: str,
        pod_logs: str,
        volumes: NodeVolumes,
        count_every_ns: int = 60 * SECOND_NS,
        meters: Meters = UNMEASURED,
    ) -> None:
        super().__init__()
        self._cri = cri
        self._host = host
        self._root_directory = root_directory
        self._disks = PodDisks(self, host, volumes, pod_logs, count_every_ns, meters)
        self._sample: NodeSample | None = None
        self._rates: dict[str, tuple[int, int]] = {}
        self._pids: dict[str, int] = {}
        self._images: dict[str, str] = {}
        """The image of each sandbox whose process was looked up."""
        self._tells_pids = True
        self._file_systems: dict[str, FsReading] = {}
        self._problems: list[str] = []

    @handles(TakeStats)
    async def take(self, message: TakeStats) -> NodeSample:
        """Work: all containers that the runtime lists, and the volumes of their pods."""
        return await self._fresh(message.max_age_ns)

    @handles(WantStats)
    async def want(self, message: WantStats) -> None:
        """Work: all containers that the runtime lists, and the volumes of their pods."""
        sample = await self._fresh(message.max_age_ns) if message.pods else await self._take_node()
        message.asker.tell(StatsTaken(sample, message.pods))

    async def _fresh(self, max_age_ns: int) -> NodeSample:
        known, now_ns = self._sample, self.now_ns()
        if known is not None and now_ns - known.taken_ns <= max_age_ns:
            return known
        if known is None or now_ns - known.taken_ns > BASE_LASTS_NS:
            await self._take()
            await self.sleep(BASE_NS)
        self._sample = await self._take()
        return self._sample

    # --- one sample -------------------------------------------------------------------------------------------------

    async def _take(self) -> NodeSample:
        self._problems = []
        taken_ns = self.now_ns()
        listed, images, blind, unsaid = await self._ask_runtime()
        await self._find_processes(listed)
        of_processes = {id_: self._pids[id_] for id_ in listed.ids() if self._pids.get(id_)}
        readings: dict[int, ProcessReading] = dict(
            await self._read("processes", self._host.processes, tuple(of_processes.values())) or {}
        )
        node = await self._read("node", self._host.node)
        root_fs = await self._file_system("the root directory", self._root_directory)
        image_fs, container_fs, apart = await self._image_file_systems(images)
        self._problems += await self._disks.count(listed)
        rates = Rates(self._rates)
        by_id = {id_: readings[pid] for id_, pid in of_processes.items() if pid in readings}
        pods = listed.pods(by_id, self._disks.known(), rates, self._images)
        sample = NodeSample(
            taken_ns,
            node=None if node is None else _rated(node, rates),
            root_fs=root_fs,
            image_fs=image_fs,
            container_fs=container_fs,
            image_fs_apart=_differ(root_fs, image_fs),
            containers_apart=apart,
            pods=pods,
            blind=blind,
            unsaid=unsaid,
            problems=tuple(self._problems),
        )
        self._rates = rates.now
        return sample

    async def _take_node(self) -> NodeSample:
        """Sample the machine and its disks alone. This leaves the base of the next CPU rate untouched."""
        self._problems = []
        taken_ns = self.now_ns()
        asked = self._cri.call(IMAGE_FS_INFO, ImageFsInfoRequest(), timeout_ns=CALL_NS)
        (answer,) = await self.gather(asked, what="the runtime's file systems")
        node = await self._read("node", self._host.node)
        root_fs = await self._file_system("the root directory", self._root_directory)
        image_fs, container_fs, apart = await self._image_file_systems(self._answer(answer))
        return NodeSample(
            taken_ns,
            node=node,
            root_fs=root_fs,
            image_fs=image_fs,
            container_fs=container_fs,
            image_fs_apart=_differ(root_fs, image_fs),
            containers_apart=apart,
            problems=tuple(self._problems),
        )

    async def _ask_runtime(self) -> tuple[StatsListing, ImageFsInfoResponse | None, bool, bool]:
        """The runtime's answers; whether the lists failed (blind), and whether the usage failed (unsaid)."""
        call = self._cri.call
        answers = await self.gather(
            call(LIST_POD_SANDBOX, ListPodSandboxRequest(), timeout_ns=CALL_NS),
            call(LIST_CONTAINERS, ListContainersRequest(), timeout_ns=CALL_NS),
            call(LIST_CONTAINER_STATS, ListContainerStatsRequest(), timeout_ns=CALL_NS),
            call(LIST_POD_SANDBOX_STATS, ListPodSandboxStatsRequest(), timeout_ns=CALL_NS),
            call(IMAGE_FS_INFO, ImageFsInfoRequest(), timeout_ns=CALL_NS),
            what="the runtime's numbers",
        )
        sandboxes, containers, stats, pod_stats, images = (self._answer(each) for each in answers)
        listed = StatsListing(
            () if sandboxes is None else sandboxes.items,
            () if containers is None else containers.containers,
            {} if stats is None else {each.attributes.id: each for each in stats.stats if each.attributes},
            {} if pod_stats is None else {each.attributes.id: each for each in pod_stats.stats if each.attributes},
        )
        unsaid = any(each.error is not None and not _is_not_served(each.error) for each in answers[2:4])
        return listed, images, sandboxes is None or containers is None, unsaid

    def _answer(self, outcome: Outcome[Any]) -> Any:
        """The value of a call. On failure None and a problem; an unserved verb is no problem."""
        error = outcome.error
        if error is None:
            return outcome.value
        if not _is_not_served(error):
            self._problems.append(f"the runtime: {error}")
        return None

    # --- processes --------------------------------------------------------------------------------------------------

    async def _find_processes(self, listed: StatsListing) -> None:
        """Look up the process ids of new containers. A runtime that tells none is not asked again."""
        ids = listed.ids()
        self._pids = {id_: self._pids[id_] for id_ in ids if id_ in self._pids}
        self._images = {id_: self._images[id_] for id_ in ids if id_ in self._images}
        sandboxes = {each.id for each in listed.sandboxes}
        unknown = [id_ for id_ in ids if id_ not in self._pids][:LOOKUPS_AT_MOST]
        while unknown and self._tells_pids:
            some, unknown = unknown[:LOOKUPS_AT_ONCE], unknown[LOOKUPS_AT_ONCE:]
            asked = [self._ask_for_pid(id_, is_sandbox=id_ in sandboxes) for id_ in some]
            outcomes = await self.gather(*asked, what="process ids")
            for id_, outcome in zip(some, outcomes, strict=True):
                if outcome.value is not None:
                    self._pids[id_], image = pid_and_image(outcome.value.info)
                    if id_ in sandboxes:
                        self._images[id_] = image
            answered = [outcome for outcome in outcomes if outcome.value is not None]
            if answered and not any(self._pids.values()):
                self._tells_pids = False

    def _ask_for_pid(self, id_: str, *, is_sandbox: bool) -> Pending[Any]:
        if is_sandbox:
            request = PodSandboxStatusRequest(pod_sandbox_id=id_, verbose=True)
            return self._cri.call(POD_SANDBOX_STATUS, request, timeout_ns=CALL_NS)
        return self._cri.call(
            CONTAINER_STATUS, ContainerStatusRequest(container_id=id_, verbose=True), timeout_ns=CALL_NS
        )

    # --- files ------------------------------------------------------------------------------------------------------

    async def _read(self, what: str, read: Callable[..., T], *args: object) -> T | None:
        """Read the kernel's files on a lane; None and a problem on failure."""
        lane = self.lane("stats", size=2, per_key=2)
        try:
            return await self.wait(lane.submit(what, read, *args), timeout_ns=READ_NS, what=what)
        except (OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            self._problems.append(f"{what}: {failure}")
            return None

    async def _file_system(self, what: str, path: str) -> FsReading | None:
        """The file system at `path`; its last reading when it does not answer."""
        try:
            submitted = disk_lane(self).submit(f"file system {path}", self._host.filesystem, path)
            self._file_systems[path] = await self.wait(submitted, timeout_ns=FILESYSTEM_NS, what=what)
        except (OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            self._problems.append(f"{what}: {failure}")
        return self._file_systems.get(path)

    async def _image_file_systems(
        self, told: ImageFsInfoResponse | None
    ) -> tuple[FsReading | None, FsReading | None, bool]:
        """The file systems of images and of writable layers, and whether they differ."""
        if told is None:
            return None, None, False
        images = await self._usage_of("images", told.image_filesystems)
        if not told.container_filesystems:
            return images, images, False
        layers = await self._usage_of("layers", told.container_filesystems)
        return images, layers, _differ(images, layers)

    async def _usage_of(self, what: str, told: Sequence[FilesystemUsage]) -> FsReading | None:
        usage = next(iter(told), None)
        if usage is None or usage.fs_id is None or not usage.fs_id.mountpoint:
            return None
        whole = await self._file_system(what, usage.fs_id.mountpoint)
        used, inodes = value_of(usage.used_bytes), value_of(usage.inodes_used)
        if whole is None or used is None:
            return whole
        return msgspec.structs.replace(whole, used=used, inodes_used=whole.inodes_used if inodes is None else inodes)


def _is_not_served(error: BaseException) -> bool:
    return isinstance(error, CriError) and error.code == StatusCode.UNIMPLEMENTED


def _rated(node: NodeReading, rates: Rates) -> NodeReading:
    replace = msgspec.structs.replace
    group = replace(node.cgroup, cpu=rates.rated("/", node.cgroup.cpu))
    system = tuple(replace(each, cpu=rates.rated(f"/{each.name}", each.cpu)) for each in node.system)
    return replace(node, cgroup=group, system=system)


def _differ(one: FsReading | None, other: FsReading | None) -> bool:
    return one is not None and other is not None and one.device != other.device
