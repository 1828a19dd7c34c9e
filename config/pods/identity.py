"""The identity of a pod for its node: its source, its priority, its names (spec 1.3, 1.4).

Pure predicates and keys over a Pod; nothing here can fail on a pod that passed validation. Owns the keys of the
annotations that the agent itself sets. Refuses to know what anybody does with the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from config.objects import Container, Pod, PodSpec
from config.pods.once_per_spec import once_per_spec
from config.values.quantity import ZERO, Quantity, parse_quantity

CONFIG_SOURCE = "kubernetes.io/config.source"
CONFIG_SEEN = "kubernetes.io/config.seen"
CONFIG_HASH = "kubernetes.io/config.hash"
CONFIG_MIRROR = "kubernetes.io/config.mirror"

# Set by this node on its own copy of a pod: carried over from one version to the next, no part of a comparison.
LOCAL_ANNOTATIONS = frozenset({CONFIG_SOURCE, CONFIG_SEEN, CONFIG_MIRROR})

SOURCE_FILE = "file"
SOURCE_HTTP = "http"
SOURCE_API = "api"
SOURCE_PUSH = "http-push"
"""The source of manifests that are pushed to the node; a kubelet does not have it."""

# Priority classes system-cluster-critical and system-node-critical start here.
SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
SYSTEM_NODE_CRITICAL = "system-node-critical"
SYSTEM_CLUSTER_CRITICAL = "system-cluster-critical"

DEFAULT_NAMESPACE = "default"

FINAL_PHASES = ("Failed", "Succeeded")

# Resources that make up the class of service of a pod; others (huge pages, devices) do not count.
_QOS_RESOURCES = ("cpu", "memory")


class QosClass(StrEnum):
    """How far the resources of a pod are guaranteed; the values are those of `status.qosClass`."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


_CLASS_OF: Mapping[str, QosClass] = {each.value: each for each in QosClass}


def source_of(pod: Pod) -> str | None:
    """The source of the pod (file, http, http-push, api).

    None for a pod that no source has handed over.
    """
    return pod.metadata.annotations.get(CONFIG_SOURCE)


def title(pod: Pod) -> str:
    """How messages name a pod, so that people and programs know which of that name it was."""
    meta = pod.metadata
    return f"{meta.name}_{meta.namespace}({meta.uid})"


def is_static(pod: Pod) -> bool:
    """Whether the node got the pod from a file or a URL, not from the API server."""
    return pod.metadata.annotations.get(CONFIG_SOURCE, SOURCE_API) != SOURCE_API


def is_mirror(pod: Pod) -> bool:
    """Whether the pod is the API server's picture of a static pod."""
    return CONFIG_MIRROR in pod.metadata.annotations


def is_critical(pod: Pod) -> bool:
    """Whether the node may push others out for this pod, and never evicts it for pressure."""
    priority = pod.spec.priority
    return is_static(pod) or is_mirror(pod) or (priority is not None and priority >= SYSTEM_CRITICAL_PRIORITY)


def is_node_critical(pod: Pod) -> bool:
    """Whether the node itself depends on the pod."""
    return is_critical(pod) and pod.spec.priority_class_name == SYSTEM_NODE_CRITICAL


def full_name(pod: Pod) -> str:
    """Unique among the pods of a node at one time, over all incarnations: "name_namespace"."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}"


def display_name(pod: Pod) -> str:
    """The name for people: "namespace/name"."""
    return f"{pod.metadata.namespace or DEFAULT_NAMESPACE}/{pod.metadata.name}"


def config_hash(pod: Pod) -> str | None:
    """The version of a static pod's manifest, as a hash."""
    return pod.metadata.annotations.get(CONFIG_HASH)


def mirror_hash(pod: Pod) -> str | None:
    """The version of the static pod that a mirror pod shows."""
    return pod.metadata.annotations.get(CONFIG_MIRROR)


def comparable_annotations(pod: Pod) -> Mapping[str, str]:
    """The annotations without the local ones.

    For its worker, a change of any of these is a change of the pod.
    """
    annotations = pod.metadata.annotations
    if LOCAL_ANNOTATIONS.isdisjoint(annotations):
        return annotations
    comparable = dict(annotations)
    for key in sorted(LOCAL_ANNOTATIONS):
        comparable.pop(key, None)
    return comparable


def has_ended(pod: Pod | None) -> bool:
    """Whether the object shows a final phase; False for None."""
    return pod is not None and pod.status is not None and pod.status.phase in FINAL_PHASES


def is_sidecar(container: Container) -> bool:
    """Whether this init container keeps running beside the regular ones (KEP-753)."""
    return container.restart_policy == "Always"


@once_per_spec
def lasting_containers(spec: PodSpec) -> tuple[Container, ...]:
    """The containers that run as long as the pod: sidecars, then the regular ones."""
    return (*filter(is_sidecar, spec.init_containers), *spec.containers)


@once_per_spec
def containers_by_name(spec: PodSpec) -> Mapping[str, Container]:
    """Every container of the pod: init, regular and ephemeral ones. No two have one name."""
    groups = (spec.init_containers, spec.containers, spec.ephemeral_containers)
    return {container.name: container for group in groups for container in group}


def field_path(pod: Pod, name: str) -> str:
    """How events name a container: `spec.containers{web}` (spec 15).

    Empty if the pod has none of that name.
    """
    return _field_paths(pod.spec).get(name, "")


@once_per_spec
def _field_paths(spec: PodSpec) -> dict[str, str]:
    return {
        **{each.name: f"spec.ephemeralContainers{{{each.name}}}" for each in spec.ephemeral_containers},
        **{each.name: f"spec.initContainers{{{each.name}}}" for each in spec.init_containers},
        **{each.name: f"spec.containers{{{each.name}}}" for each in spec.containers},
    }


@once_per_spec
def sidecar_names(spec: PodSpec) -> tuple[str, ...]:
    """The names of sidecars in the order of the spec, which is the order of their start."""
    return tuple(container.name for container in spec.init_containers if is_sidecar(container))


def qos_class(pod: Pod) -> QosClass:
    """The class of the pod: what its status says if it says so, else as its resources make it.

    A class does not change while a pod lives, therefore the recorded one wins.
    """
    recorded = pod.status.qos_class if pod.status is not None else None
    known = None if recorded is None else _CLASS_OF.get(recorded)
    return compute_qos_class(pod.spec) if known is None else known


@once_per_spec
def compute_qos_class(spec: PodSpec) -> QosClass:
    """The class of a pod of this spec.

    Resources of the pod as a whole, where given, decide alone (KEP-2837).

    BestEffort: neither cpu nor memory is asked for or limited. Guaranteed: both are limited in every container (or
    for the pod), and what is asked for is the limit. Else Burstable. Amounts of zero count as absent.
    """
    if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
        parts = [(spec.resources.requests, spec.resources.limits)]
    else:
        parts = [
            (container.resources.requests, container.resources.limits) if container.resources else ({}, {})
            for container in (*spec.init_containers, *spec.containers)
        ]
    requests = [_amounts(requests) for requests, _ in parts]
    limits = [_amounts(limits) for _, limits in parts]
    if not any(requests) and not any(limits):
        return QosClass.BEST_EFFORT
    # What is limited but not asked for counts as asked for to the limit, as the API server fills it in.
    promised = all(
        len(limit) == len(_QOS_RESOURCES) and {**limit, **request} == limit
        for request, limit in zip(requests, limits, strict=True)
    )
    return QosClass.GUARANTEED if promised else QosClass.BURSTABLE


def _amounts(resources: Mapping[str, str]) -> dict[str, Quantity]:
    """The amounts of cpu and memory above zero."""
    amounts = ((name, parse_quantity(resources[name])) for name in _QOS_RESOURCES if name in resources)
    return {name: amount for name, amount in amounts if amount > ZERO}


@once_per_spec
def has_probes(spec: PodSpec) -> bool:
    """Whether any container that is to keep running has a probe."""
    return any(
        each.startup_probe is not None or each.liveness_probe is not None or each.readiness_probe is not None
        for each in lasting_containers(spec)
    )


RESTART_ALL = "RestartAllContainers"
"""The action of a restart rule."""


@once_per_spec
def restarts_all_containers(spec: PodSpec) -> bool:
    """Whether the end of any container may restart all of them."""
    return any(
        rule.action == RESTART_ALL
        for container in (*spec.containers, *spec.init_containers)
        for rule in container.restart_policy_rules
    )
