"""Where a pod may run: affinity, tolerations, spreading. The node only reads it.

Its RuntimeClass says which handler of the container runtime runs it (spec 6.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from config.objects.base import ApiObject, ApiStruct, Int32, Int64, Quantity, written
from config.objects.meta import ObjectMeta
from config.objects.selectors import LabelSelector, NodeSelector, NodeSelectorTerm


class PreferredSchedulingTerm(ApiStruct, frozen=True):
    """core/v1 PreferredSchedulingTerm."""

    preference: NodeSelectorTerm | None = None
    weight: Int32 = written(0)


class NodeAffinity(ApiStruct, frozen=True):
    """core/v1 NodeAffinity."""

    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(ApiStruct, frozen=True):
    """core/v1 PodAffinityTerm."""

    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = written("")


class WeightedPodAffinityTerm(ApiStruct, frozen=True):
    """core/v1 WeightedPodAffinityTerm."""

    pod_affinity_term: PodAffinityTerm | None = None
    weight: Int32 = written(0)


class PodAffinity(ApiStruct, frozen=True):
    """core/v1 PodAffinity."""

    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class PodAntiAffinity(ApiStruct, frozen=True):
    """core/v1 PodAntiAffinity."""

    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()
    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()


class Affinity(ApiStruct, frozen=True):
    """core/v1 Affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class Toleration(ApiStruct, frozen=True):
    """core/v1 Toleration."""

    effect: str | None = None
    key: str | None = None
    operator: str | None = None
    toleration_seconds: Int64 | None = None
    value: str | None = None


class TopologySpreadConstraint(ApiStruct, frozen=True):
    """core/v1 TopologySpreadConstraint."""

    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    max_skew: Int32 = written(0)
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    topology_key: str = written("")
    when_unsatisfiable: str = written("")


class PodSchedulingGate(ApiStruct, frozen=True):
    """core/v1 PodSchedulingGate."""

    name: str = written("")


class PodSchedulingGroup(ApiStruct, frozen=True):
    """core/v1 PodSchedulingGroup."""

    pod_group_name: str | None = None


class PodReadinessGate(ApiStruct, frozen=True):
    """core/v1 PodReadinessGate."""

    condition_type: str = written("")


class PodOS(ApiStruct, frozen=True):
    """core/v1 PodOS."""

    name: str = written("")


class Overhead(ApiStruct, frozen=True):
    """node/v1 Overhead."""

    pod_fixed: Mapping[str, Quantity] = {}


class Scheduling(ApiStruct, frozen=True):
    """node/v1 Scheduling."""

    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(ApiObject, frozen=True):
    """node/v1 RuntimeClass."""

    api_version: Literal["node.k8s.io/v1"] = written("node.k8s.io/v1")
    kind: Literal["RuntimeClass"] = written("RuntimeClass")
    metadata: ObjectMeta = ObjectMeta()
    handler: str = written("")
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None
