"""The Node object of a registration, and the corrections of an existing one (spec 9.1).

An existing node of this name comes from an earlier life of this agent, or from somebody who prepared it. Its labels,
taints and annotations are kept. Only three things are corrected. They are labels that describe the machine, the
annotation that says who attaches volumes, and old device resources (of another agent or of an earlier machine).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.node_object.capacity import HUGE_PAGES, is_extended
from actors.node_object.settings import AGENT, NodeSettings
from config.objects import Node, NodeSpec, NodeStatus, ObjectMeta, Taint
from runtime.host.machine import MachineFacts

CONTROLLER_ATTACHES = "volumes.kubernetes.io/controller-managed-attach-detach"
PROVIDED_IP = "alpha.kubernetes.io/provided-node-ip"
UNINITIALIZED = Taint(key="node.cloudprovider.kubernetes.io/uninitialized", value="true", effect="NoSchedule")
HOST_NAME = "kubernetes.io/hostname"

SYNCED_LABELS = (
    HOST_NAME,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
)
"""Labels that are corrected in an existing node; all others stay."""


def initial_node(settings: NodeSettings, machine: MachineFacts, status: NodeStatus) -> Node:
    """The object to create."""
    return Node(
        metadata=ObjectMeta(
            name=settings.name, labels=own_labels(settings, machine), annotations=own_annotations(settings)
        ),
        spec=NodeSpec(provider_id=settings.configuration.provider_id or None, taints=own_taints(settings)),
        status=status,
    )


def own_labels(settings: NodeSettings, machine: MachineFacts) -> dict[str, str]:
    """The machine's labels and those of flags; the flags win."""
    return {
        HOST_NAME: settings.host_name,
        **machine_labels(machine),
        "beta.kubernetes.io/os": machine.operating_system,
        "beta.kubernetes.io/arch": machine.architecture,
        **settings.registration.labels,
    }


def machine_labels(machine: MachineFacts) -> dict[str, str]:
    """The labels that are set right whenever the status is written, as by a kubelet (`updateNode`)."""
    return {"kubernetes.io/os": machine.operating_system, "kubernetes.io/arch": machine.architecture}


def own_annotations(settings: NodeSettings) -> dict[str, str]:
    own = {CONTROLLER_ATTACHES: "true"} if settings.configuration.enable_controller_attach_detach else {}
    return {**own, **provided_ip(settings)}


def provided_ip(settings: NodeSettings) -> dict[str, str]:
    """The annotation that passes `--node-ip` on to an external cloud provider."""
    wished = settings.registration
    return {PROVIDED_IP: ",".join(wished.node_ips)} if wished.external_cloud and wished.node_ips else {}


def own_taints(settings: NodeSettings) -> tuple[Taint, ...]:
    """The taints of a new node."""
    given = tuple(
        Taint(key=taint.key, value=taint.value or None, effect=taint.effect)
        for taint in settings.configuration.register_with_taints
    )
    return (*given, UNINITIALIZED) if settings.registration.external_cloud else given


def reconciled(existing: Node, initial: Node) -> Node:
    """`existing` with its corrections; equal to it when there are none."""
    status = existing.status or NodeStatus()
    known, own = status.capacity, initial.status or NodeStatus()
    gone = {} if _was_ours(status, own) else {name: "0" for name in known if is_extended(name)}
    return msgspec.structs.replace(
        existing,
        metadata=msgspec.structs.replace(
            existing.metadata,
            labels=_synced_labels(existing.metadata.labels, initial.metadata.labels),
            annotations=_with_attacher(existing.metadata.annotations, initial.metadata.annotations),
        ),
        status=msgspec.structs.replace(
            status,
            capacity=_with_own_pages({**known, **gone}, own.capacity),
            allocatable=_with_own_pages({**status.allocatable, **gone}, own.allocatable),
        ),
    )


def _was_ours(published: NodeStatus, own: NodeStatus) -> bool:
    """Whether an agent of this kind published the status on this machine.

    A kubelet reads that from its device file; the object itself tells it too, even after the disk was replaced.
    """
    before, now = published.node_info, own.node_info
    if before is None or now is None or before.machine_id != now.machine_id:
        return False
    return AGENT in (before.kubelet_version or "")


def _synced_labels(existing: Mapping[str, str], initial: Mapping[str, str]) -> dict[str, str]:
    wanted = {**existing, **{name: initial[name] for name in SYNCED_LABELS if name in initial}}
    return {name: value for name, value in wanted.items() if value or name not in SYNCED_LABELS}


def _with_attacher(existing: Mapping[str, str], initial: Mapping[str, str]) -> dict[str, str]:
    others = {name: value for name, value in existing.items() if name != CONTROLLER_ATTACHES}
    return others | {name: initial[name] for name in (CONTROLLER_ATTACHES,) if name in initial}


def _with_own_pages(existing: Mapping[str, str], initial: Mapping[str, str]) -> dict[str, str]:
    """Huge pages as the machine has them now; sizes that are gone are left out."""
    kept = {name: amount for name, amount in existing.items() if not name.startswith(HUGE_PAGES)}
    return kept | {name: amount for name, amount in initial.items() if name.startswith(HUGE_PAGES)}
