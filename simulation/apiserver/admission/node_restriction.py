"""NodeRestriction: what the agent of a node may write in the objects that it may write."""

from __future__ import annotations

from config.pods.identity import CONFIG_MIRROR
from simulation.apiserver.access.authorization import MASTERS
from simulation.apiserver.access.node_grants import SAME_NAME
from simulation.apiserver.access.references import references_of
from simulation.apiserver.admission.attributes import Attributes, Plugin
from simulation.apiserver.kinds.table import NODES, PODS
from simulation.apiserver.status import Json, forbidden


def admit(this: Attributes) -> None:
    """Raises StatusError (403)."""
    user, resource = this.call.user, this.call.resource
    if not user.node or MASTERS in user.groups or this.new is None:
        return
    if resource.plural in ("csinodes", "leases", "nodes") and this.name != user.node:
        raise forbidden(resource, this.name, SAME_NAME)
    if resource is NODES:
        _check_node(this.old or {}, this.new)
    elif resource is PODS and this.old is None:
        why = _fault_of_mirror_pod(user.node, this.new)
        if why:
            raise forbidden(PODS, this.name, why)


PLUGIN = Plugin("NodeRestriction", admit=admit)


def _check_node(old: Json, new: Json) -> None:
    name = new["metadata"]["name"]
    before, after = ((one.get("metadata") or {}).get("labels") or {} for one in (old, new))
    bad = sorted(key for key in {*before, *after} if before.get(key) != after.get(key) and not _may_label(key))
    if bad:
        raise forbidden(NODES, name, f"is not allowed to modify labels: {', '.join(bad)}")
    taints = [(one.get("spec") or {}).get("taints") for one in (old, new)]
    if old and taints[0] != taints[1]:
        raise forbidden(NODES, name, f"node {name!r} is not allowed to modify taints")


_LABELS = frozenset(
    {
        *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"),
        *("beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type"),
        *("node.kubernetes.io/instance-type", "failure-domain.beta.kubernetes.io/region"),
        *("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region", "topology.kubernetes.io/zone"),
    }
)
_LABEL_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")
_RESTRICTED = "node-restriction.kubernetes.io"


def _may_label(key: str) -> bool:
    prefix = key.partition("/")[0] if "/" in key else ""
    if prefix.endswith(_RESTRICTED):
        return False
    if key in _LABELS or not f".{prefix}".endswith((".kubernetes.io", ".k8s.io")):
        return True
    return f".{prefix}".endswith(tuple(f".{allowed}" for allowed in _LABEL_PREFIXES))


def _fault_of_mirror_pod(node: str, pod: Json) -> str:
    """Why an agent may not create the pod; empty when it may."""
    owners = pod["metadata"].get("ownerReferences") or [{}]
    if CONFIG_MIRROR not in (pod["metadata"].get("annotations") or {}):
        return f"pod does not have {CONFIG_MIRROR!r} annotation, node {node!r} can only create mirror pods"
    if pod["spec"].get("nodeName") != node:
        return f"node {node!r} can only create pods with spec.nodeName set to itself"
    if [(owner.get("kind"), owner.get("name")) for owner in owners] != [("Node", node)]:
        return f"node {node!r} can only create pods with an owner reference set to itself"
    if owners[0].get("controller") is not True or owners[0].get("blockOwnerDeletion"):
        return "the owner reference of a mirror pod has controller true and no blockOwnerDeletion"
    return next((f"a mirror pod may not reference {plural}" for plural in sorted(references_of(pod))), "")
