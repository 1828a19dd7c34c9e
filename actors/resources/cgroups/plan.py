"""How this node groups its pods, by its configuration and its machine (spec 10.2 to 10.6). Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.node_object.capacity import reserved_amounts
from actors.resources.cgroups.limits import CgroupRules, node_limits, reserved_limits
from config.kubelet import KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates
from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.names import CGROUPFS, Words, path_of, root_words, words_of

MICROSECOND_NS = 1_000
PODS, SYSTEM_RESERVED, KUBE_RESERVED, COMPRESSIBLE = "pods", "system-reserved", "kube-reserved", "-compressible"
TIERED = "TieredReservation"
_NOTHING: Mapping[str, str] = {}


class Enforcement(msgspec.Struct, frozen=True):
    """One limit that `enforceNodeAllocatable` asks for.

    `exists`: the cgroup must exist; the agent does not make it.
    """

    what: str
    words: Words
    limits: CgroupLimits
    exists: bool = False

    @property
    def done(self) -> str:
        """The message of the event when the limit is in force."""
        if self.what == PODS:
            return "Updated Node Allocatable limit across pods"
        whose = "system" if self.what.startswith(SYSTEM_RESERVED) else "kube"
        return f"Updated limits on {whose} reserved cgroup /{'/'.join(self.words)}"


class CgroupPlan(msgspec.Struct, frozen=True):
    """See the module. `pids`: the most processes of this machine, 0 when unknown."""

    node: str
    root: str = "/"
    per_qos: bool = True
    driver: str = CGROUPFS
    rules: CgroupRules = CgroupRules()
    enforced: tuple[str, ...] = (PODS,)
    system_reserved: Mapping[str, str] = _NOTHING
    kube_reserved: Mapping[str, str] = _NOTHING
    system_reserved_cgroup: str = ""
    kube_reserved_cgroup: str = ""
    kubelet_cgroups: str = ""
    system_cgroups: str = ""
    pids: int = 0

    def words(self) -> Words:
        """The name of the cgroup of all pods."""
        return root_words(self.root, per_qos=self.per_qos)

    def parent_of_all(self, driver: str) -> str:
        """Without tiers: the parent of every sandbox for the runtime. Empty: the runtime decides."""
        words = self.words()
        return path_of(words, driver) if words else ""

    def enforcements(self, capacity: Mapping[str, str], driver: str) -> tuple[Enforcement, ...]:
        """The limits to enforce on a machine of this capacity."""
        found = []
        if PODS in self.enforced:
            there = dict(capacity) | ({"pid": str(self.pids)} if self.pids else {})
            kept = (self.system_reserved, self.kube_reserved)
            found.append(Enforcement(PODS, self.words(), node_limits(there, kept, self.rules)))
        for what, amounts, cgroup in (
            (SYSTEM_RESERVED, self.system_reserved, self.system_reserved_cgroup),
            (KUBE_RESERVED, self.kube_reserved, self.kube_reserved_cgroup),
        ):
            for value in (what, what + COMPRESSIBLE):
                if value in self.enforced:
                    limits = reserved_limits(
                        amounts, compressible_only=value != what, keeps_memory=self.rules.keeps_memory is not None
                    )
                    found.append(Enforcement(value, words_of(cgroup, driver), limits, exists=True))
        return tuple(found)


def cgroup_plan(
    node: str,
    configuration: KubeletConfiguration,
    gates: FeatureGates,
    *,
    version: int,
    page_sizes: tuple[int, ...] = (),
    pids: int = 0,
) -> CgroupPlan:
    """The plan of a node. `version`: the cgroup version of the machine."""
    system, kube = reserved_amounts(configuration)
    percent = configuration.qos_reserved.get("memory", "").removesuffix("%")
    keeps = configuration.memory_reservation_policy == TIERED if gates.enabled("MemoryQoS") and version == 2 else None
    return CgroupPlan(
        node=node,
        root=configuration.cgroup_root or "/",
        per_qos=configuration.cgroups_per_qos,
        driver=configuration.cgroup_driver,
        rules=CgroupRules(
            cpu_quota=configuration.cpu_cfs_quota,
            cpu_period_us=configuration.cpu_cfs_quota_period // MICROSECOND_NS,
            pids_limit=configuration.pod_pids_limit or -1,
            page_sizes=page_sizes,
            keeps_memory=keeps,
            held_back=int(percent) if percent and gates.enabled("QOSReserved") else None,
        ),
        enforced=tuple(each for each in configuration.enforce_node_allocatable if each != "none"),
        system_reserved=system,
        kube_reserved=kube,
        system_reserved_cgroup=configuration.system_reserved_cgroup,
        kube_reserved_cgroup=configuration.kube_reserved_cgroup,
        kubelet_cgroups=configuration.kubelet_cgroups,
        system_cgroups=configuration.system_cgroups,
        pids=pids,
    )
