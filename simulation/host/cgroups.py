"""`SimulatedCgroups`: the cgroups of a simulated machine, as in `runtime.cgroups.capability`.

They are a table of the written limits. As with a real kernel, removing a cgroup kills what runs in it. So an agent that
removes the cgroup of a running pod is exposed by the pod's containers. `broken`: why no cgroup can be made, as for an
agent without the rights. It may be set and cleared at any time.
"""

from __future__ import annotations

import msgspec

from runtime.cgroups.capability import CgroupLimits, Cgroups
from runtime.cgroups.names import CGROUPFS, KUBEPODS, POD, Words, path_of, uids_in, words_of
from runtime.cri.messages import ContainerState, LinuxContainerResources
from simulation.cri.simulated_cri import SimulatedCri
from simulation.cri.state import POD_UID_LABEL, ContainerRecord

_NOTHING = CgroupLimits()


class SimulatedCgroups:
    """Implements `CgroupTree`, and holds the table."""

    def __init__(self, cri: SimulatedCri) -> None:
        self._cri = cri
        self._below: dict[Words, dict[str, None]] = {}
        self._pods_in: dict[Words, tuple[str, ...]] = {}
        """The last limits by QoS class: read every minute, and seldom changed."""
        self.broken = ""
        self.like_v1 = False
        """Whether a pod may not get less CPU than one of its containers has, as with cgroup v1."""
        self.written: dict[Words, CgroupLimits] = {}
        self.meddled: dict[str, tuple[LinuxContainerResources | None, str]] = {}
        """Container id -> what the runtime had told when somebody else wrote other CPUs, and these CPUs."""
        self.entered: list[str] = []
        """Paths that the agent, or all others, were moved to."""

    def forget(self) -> None:
        """The machine boots: drop all of it."""
        self._below.clear()
        self._pods_in.clear()
        self.written.clear()

    def driven_by(self, driver: str) -> Cgroups:
        return _Driven(self, driver)

    def enter(self, path: str) -> tuple[str, ...]:
        return self._move(path)

    def gather(self, path: str) -> tuple[str, ...]:
        return self._move(path)

    def meddle(self, container: ContainerRecord, cpus: str) -> None:
        """Somebody writes other CPUs into the cgroup of a container; the runtime does not see it."""
        self.meddled[container.id] = (container.resources, cpus)

    def cpu_sets(self, path: str) -> tuple[tuple[str, str], ...]:
        found = []
        for container in self._cri.state.select_containers("", "", {}):
            linux, has = container.sandbox.config.linux, container.resources
            is_below = linux is not None and linux.cgroup_parent == path
            if is_below and container.state is ContainerState.CONTAINER_RUNNING:
                told, cpus = self.meddled.get(container.id, (None, ""))
                if told is not has:
                    cpus = "" if has is None else has.cpuset_cpus
                found.append((container.id, cpus))
        return tuple([(name, cpus) for name, cpus in found if cpus])

    def _move(self, path: str) -> tuple[str, ...]:
        if not self.broken:
            self.entered.append(path)
            self.make(words_of(path, ""))
        return self.problems(path)

    def problems(self, where: str) -> tuple[str, ...]:
        """The reasons why nothing can be written now."""
        return (f"{where} cannot be made: {self.broken}",) if self.broken else ()

    def refusal(self, words: Words, limits: CgroupLimits) -> str:
        """What the kernel says of limits that it does not take, or ""."""
        quota_us = limits.cpu_quota_us or -1
        if not self.like_v1 or quota_us < 0 or not words[-1].startswith(POD):
            return ""
        has_more = any(
            each.state is ContainerState.CONTAINER_RUNNING
            and each.resources is not None
            and each.resources.cpu_quota > quota_us
            for each in self._cri.state.select_containers("", "", {POD_UID_LABEL: words[-1].removeprefix(POD)})
        )
        return "Invalid argument" if has_more else ""

    def pods(self) -> dict[str, str]:
        """UID -> path of every pod's cgroup."""
        of_pods = (each for each in self.written if each[-1].startswith(POD))
        return {each[-1].removeprefix(POD): path_of(each, CGROUPFS) for each in of_pods}

    def memory_of_pods(self) -> int:
        """The memory limit of all pods together, in bytes; 0: none."""
        whole = self.written.get((KUBEPODS,))
        return max(0, whole.memory_bytes or 0) if whole is not None else 0

    def names_below(self, words: Words) -> tuple[str, ...]:
        """Last words of those right below."""
        return tuple(self._below.get(words, ()))

    def pods_in(self, words: Words) -> tuple[str, ...]:
        """UIDs of the pods right below, sorted."""
        found = self._pods_in.get(words)
        if found is None:
            found = self._pods_in[words] = uids_in(self.names_below(words), CGROUPFS)
        return found

    def make(self, words: Words) -> None:
        """Make a cgroup with all its parents."""
        for depth in range(len(words), 0, -1):
            here = words[:depth]
            if here in self.written:
                return
            self.written[here] = _NOTHING
            self._pods_in.pop(here[:-1], None)
            self._below.setdefault(here[:-1], {})[here[-1]] = None

    def remove(self, words: Words) -> None:
        """Remove a cgroup with all below it, and end its processes."""
        if self.written.pop(words, None) is None:
            return
        self._below[words[:-1]].pop(words[-1], None)
        self._pods_in.pop(words[:-1], None)
        for name in self.names_below(words):
            self.remove((*words, name))
        self._below.pop(words, None)
        if words[-1].startswith(POD):
            self._kill(words[-1].removeprefix(POD))

    def _kill(self, uid: str) -> None:
        for container in self._cri.state.select_containers("", "", {POD_UID_LABEL: uid}):
            linux = container.sandbox.config.linux
            if container.state is ContainerState.CONTAINER_RUNNING and linux is not None and linux.cgroup_parent:
                self._cri.kill_container(container.id)


class _Driven:
    def __init__(self, table: SimulatedCgroups, driver: str) -> None:
        self._table = table
        self._driver = driver

    def problems(self) -> tuple[str, ...]:
        return ()

    def apply(self, words: Words, limits: CgroupLimits) -> tuple[str, ...]:
        table, name = self._table, self.name(words)
        if table.broken:
            return table.problems(name)
        if refusal := table.refusal(words, limits):
            return (f"{name}: {refusal}",)
        table.make(words)
        before = table.written[words]
        table.written[words] = limits if before == _NOTHING else _over(before, limits)
        return ()

    def exists(self, words: Words) -> bool:
        return not words or words in self._table.written

    def pod_uids(self, words: Words) -> tuple[str, ...]:
        return self._table.pods_in(words)

    def remove(self, words: Words) -> tuple[str, ...]:
        if words not in self._table.written:
            return ()
        if self._table.broken:
            return (f"{self.name(words)} cannot be removed: {self._table.broken}",)
        self._table.remove(words)
        return ()

    def name(self, words: Words) -> str:
        return path_of(words, self._driver)


def _over(before: CgroupLimits, limits: CgroupLimits) -> CgroupLimits:
    """The limits before, replaced by those that are set now."""
    said = {field: value for field in CgroupLimits.__struct_fields__ if (value := getattr(limits, field))}
    return msgspec.structs.replace(before, **said)
