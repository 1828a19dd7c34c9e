"""Who may do what. `AlwaysAllow`: everybody everything. `Node`: admins all, the agent of a node what its node needs.

An agent may do what Kubernetes allows it by the Node authorizer and NodeRestriction: its own node, lease and CSINode;
the pods bound to it; the secrets, config maps, claims, volumes and service account tokens that these refer to; services
and runtime classes; mirror pods that refer to nothing. `refusal` judges the request alone, `check_node_object` what an
agent writes. Refuses to know RBAC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from config.pods.identity import CONFIG_MIRROR
from simulation.apiserver.core import Core
from simulation.apiserver.custom.json_paths import Path, find_all, parse_path
from simulation.apiserver.requests import ApiUser, ResourceCall
from simulation.apiserver.resources import NODES, PODS, SERVED, ServedResource
from simulation.apiserver.status import Json, StatusError, forbidden

MASTERS = "system:masters"
LEASE_NAMESPACE = "kube-node-lease"
_READ = frozenset({"get", "list", "watch"})
_WRITE = frozenset({"create", "update", "patch"})
Key = tuple[str, str]
"""Namespace and name."""
_RESTRICTED = "node-restriction.kubernetes.io/"


class AccessAttributes(msgspec.Struct, frozen=True):
    """What is asked for."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_node: str = ""
    """The only node whose objects a list or watch asks for."""
    field_name: str = ""
    """The only name that a list or watch asks for."""

    @property
    def what(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


_REVIEWS = frozenset({"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"})
_OF_ALL_SERVERS = frozenset((resource.group, resource.plural) for resource in SERVED)
"""What is defined besides concerns no agent, whatever it is called."""
_AGENT_VERBS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("services", "runtimeclasses", "csidrivers"), _READ),
    **dict.fromkeys(("tokenreviews", "subjectaccessreviews", "localsubjectaccessreviews"), frozenset({"create"})),
    "events": _WRITE,
    "certificatesigningrequests": _READ | {"create"},
}
"""What agents may do with any object of these resources, not with its parts."""
_SINGLE = "can only get individual resources of this type"


class Authorizer:
    """See the module."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.lets_all = core.options.authorization == "AlwaysAllow"
        """Nothing is refused to anybody."""
        self._rules: dict[str, Callable[[str, AccessAttributes], str | None]] = {
            "configmaps": self._referred,
            "csinodes": self._own,
            "leases": self._own,
            "nodes": self._nodes,
            "persistentvolumeclaims": self._referred,
            "persistentvolumes": self._volumes,
            "pods": self._pods,
            "secrets": self._secrets,
            "serviceaccounts": self._accounts,
            "volumeattachments": self._attachments,
        }

    def may_everything(self, user: ApiUser) -> bool:
        """Whether nothing is refused to this user."""
        return self.lets_all or MASTERS in user.groups

    def check(self, call: ResourceCall) -> None:
        """Raises StatusError (403)."""
        if self.may_everything(call.user):
            return
        attributes = attributes_of(call)
        reason = self.refusal(call.user, attributes)
        if reason is not None:
            raise _forbidden(call.resource, call.user, attributes, reason)

    def refusal(self, user: ApiUser, asked: AccessAttributes) -> str | None:
        """Why it is refused ("" for no particular reason); None when it is not."""
        if self.may_everything(user) or (asked.resource in _REVIEWS and asked.verb == "create"):
            return None
        if not user.node or (asked.group, asked.resource) not in _OF_ALL_SERVERS:
            return ""
        rule = self._rules.get(asked.resource)
        if rule is not None:
            return rule(user.node, asked)
        return None if asked.verb in _AGENT_VERBS.get(asked.resource, ()) and not asked.subresource else ""

    # --- by resource ------------------------------------------------------------------------------------------------

    def _own(self, node: str, asked: AccessAttributes) -> str | None:
        if asked.verb == "create":
            return None
        if asked.resource == "leases" and asked.namespace != LEASE_NAMESPACE:
            return "can only access leases in the namespace kube-node-lease"
        if node not in (asked.name, asked.field_name):
            return f"can only access {asked.resource.removesuffix('s')} with the same name as the requesting node"
        return None if asked.verb in _READ | _WRITE | {"delete"} else ""

    def _nodes(self, node: str, asked: AccessAttributes) -> str | None:
        if asked.subresource not in ("", "status"):
            return ""
        if asked.verb in _READ:
            own = node in (asked.name, asked.field_name)
            return None if own else f"node {node!r} cannot read all nodes, only its own Node object"
        if asked.verb != "create" and asked.name != node:
            return f"node {node!r} is not allowed to modify node {asked.name!r}"
        return None if asked.verb in _WRITE else ""

    def _pods(self, node: str, asked: AccessAttributes) -> str | None:
        if asked.subresource not in ("", "status", "eviction"):
            return ""
        if asked.verb in ("list", "watch"):
            own = asked.field_node == node
            return None if own else "can only list/watch pods with spec.nodeName field selector"
        if asked.verb == "create" and not asked.subresource:
            return None
        pod = self._core.store.get("pods", asked.namespace, asked.name)
        if pod is None:
            return None if asked.verb in ("get", "delete") or asked.subresource else ""
        if pod.node != node:
            return f"node {node!r} can only get or change pods with spec.nodeName set to itself"
        return "" if asked.verb in ("update", "patch") and asked.subresource != "status" else None

    def _secrets(self, node: str, asked: AccessAttributes) -> str | None:
        refusal, secret = self._referred(node, asked), (asked.namespace, asked.name or asked.field_name)
        if refusal and asked.verb in _READ and not asked.subresource:
            for volume in self._core.store.of["persistentvolumes"].all():
                if secret in volume_secrets(volume.object) and self._claims(node, volume.object):
                    return None
        return refusal

    def _volumes(self, node: str, asked: AccessAttributes) -> str | None:
        if asked.verb != "get":
            return _SINGLE
        volume = self._core.store.get("persistentvolumes", "", asked.name)
        return None if volume is not None and self._claims(node, volume.object) else self._unrelated(node)

    def _attachments(self, node: str, asked: AccessAttributes) -> str | None:
        if asked.verb != "get":
            return _SINGLE
        found = self._core.store.get("volumeattachments.storage.k8s.io", "", asked.name)
        own = found is not None and (found.object.get("spec") or {}).get("nodeName") == node
        return None if own else self._unrelated(node)

    def _accounts(self, node: str, asked: AccessAttributes) -> str | None:
        if asked.verb != "get" and (asked.verb, asked.subresource) != ("create", "token"):
            return "can only get individual service accounts, and create tokens"
        known = self._refers(node, "serviceaccounts", (asked.namespace, asked.name))
        return None if known else self._unrelated(node)

    def _referred(self, node: str, asked: AccessAttributes) -> str | None:
        name, part = asked.name or asked.field_name, asked.subresource
        of_claim = (asked.resource, part) == ("persistentvolumeclaims", "status")
        allowed = asked.verb in ("get", "update", "patch") if of_claim else asked.verb in _READ and not part
        if not allowed or not name:
            return "can only read resources of this type"
        return None if self._refers(node, asked.resource, (asked.namespace, name)) else self._unrelated(node)

    def _claims(self, node: str, volume: Json) -> bool:
        """Whether a pod of that node claims the persistent volume."""
        claim = (volume.get("spec") or {}).get("claimRef") or {}
        return self._refers(node, "persistentvolumeclaims", (claim.get("namespace", ""), claim.get("name", "")))

    def _refers(self, node: str, plural: str, key: Key) -> bool:
        """Whether a pod of that node refers to it. Pods that show static ones give no rights."""
        return any(
            key in references_of(pod)[plural]
            for pod in self._core.store.of["pods"].on_node(node)
            if CONFIG_MIRROR not in (pod["metadata"].get("annotations") or {})
        )

    @staticmethod
    def _unrelated(node: str) -> str:
        return f"no relationship found between node {node!r} and this object"


# --- what pods and volumes refer to -----------------------------------------------------------------------------------

_CONTAINERS = ("containers[*]", "initContainers[*]", "ephemeralContainers[*]")
_SECRET_VOLUMES = ("csi", "flexVolume", "cephfs", "iscsi", "rbd", "scaleIO", "storageos")
_PATHS: Mapping[str, tuple[Path, ...]] = {
    plural: tuple(parse_path(f".{path}") for path in paths)
    for plural, paths in {
        "secrets": (
            "imagePullSecrets[*].name",
            *(f"{each}.env[*].valueFrom.secretKeyRef.name" for each in _CONTAINERS),
            *(f"{each}.envFrom[*].secretRef.name" for each in _CONTAINERS),
            *(f"volumes[*].{each}.secretName" for each in ("secret", "azureFile")),
            *(f"volumes[*].{each}.secretRef.name" for each in _SECRET_VOLUMES),
            "volumes[*].csi.nodePublishSecretRef.name",
            "volumes[*].projected.sources[*].secret.name",
        ),
        "configmaps": (
            *(f"{each}.env[*].valueFrom.configMapKeyRef.name" for each in _CONTAINERS),
            *(f"{each}.envFrom[*].configMapRef.name" for each in _CONTAINERS),
            "volumes[*].configMap.name",
            "volumes[*].projected.sources[*].configMap.name",
        ),
        "persistentvolumeclaims": ("volumes[*].persistentVolumeClaim.claimName",),
        "serviceaccounts": ("serviceAccountName",),
    }.items()
}
"""Where the spec of a pod names objects of its namespace."""


def references_of(pod: Json) -> dict[str, set[Key]]:
    """Plural -> namespace and name of what the pod refers to."""
    namespace, spec = pod["metadata"].get("namespace", ""), pod["spec"]
    found = {
        plural: {(namespace, name) for path in paths for name in find_all(spec, path) if name}
        for plural, paths in _PATHS.items()
    }
    ephemeral = (volume["name"] for volume in spec.get("volumes") or () if volume.get("ephemeral"))
    found["persistentvolumeclaims"] |= {(namespace, f"{pod['metadata']['name']}-{name}") for name in ephemeral}
    return found


def volume_secrets(volume: Json) -> set[Key]:
    """The secrets of a persistent volume that nodes need; those of controllers are not among them."""
    spec: Json = volume.get("spec") or {}
    source, file = spec.get("csi") or {}, spec.get("azureFile") or {}
    names = ("nodeStageSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
    found = {(one.get("namespace", ""), one["name"]) for name in names if (one := source.get(name) or {}).get("name")}
    if file.get("secretName"):
        home = file.get("secretNamespace") or (spec.get("claimRef") or {}).get("namespace", "")
        found.add((home, file["secretName"]))
    return found


# --- requests and objects ---------------------------------------------------------------------------------------------


def attributes_of(call: ResourceCall) -> AccessAttributes:
    """What a request asks for."""
    target = call.target
    selection = call.selection() if call.verb in ("list", "watch", "deletecollection") else None
    return AccessAttributes(
        verb=call.verb,
        group=target.resource.group,
        resource=target.resource.plural,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name or (target.namespace if target.resource.plural == "namespaces" else ""),
        field_node=(selection.node or "") if selection is not None else "",
        field_name=(selection.name or "") if selection is not None else "",
    )


def check_node_object(call: ResourceCall, old: Json | None, new: Json) -> None:
    """NodeRestriction: what an agent may write in the objects it may write. Raises StatusError (403)."""
    node = call.user.node
    if not node or MASTERS in call.user.groups:
        return
    resource = call.resource
    if resource is NODES:
        _check_node(call, node, old, new)
    elif resource is PODS and old is None:
        _check_mirror_pod(node, new)
    elif resource.plural in ("leases", "csinodes") and old is None and new["metadata"]["name"] != node:
        why = f"can only access {resource.plural.removesuffix('s')} with the same name as the requesting node"
        raise forbidden(resource, new["metadata"]["name"], why)


def _check_node(call: ResourceCall, node: str, old: Json | None, new: Json) -> None:
    name = new["metadata"]["name"]
    if name != node:
        raise forbidden(NODES, name, f"node {node!r} is not allowed to modify node {name!r}")
    before = ((old or {}).get("metadata") or {}).get("labels") or {}
    after = new["metadata"].get("labels") or {}
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    bad = [key for key in changed if not _may_label(key)]
    if bad:
        raise forbidden(NODES, name, f"is not allowed to modify labels: {', '.join(bad)}")
    taints = ((old or {}).get("spec") or {}).get("taints"), (new.get("spec") or {}).get("taints")
    if old is not None and taints[0] != taints[1]:
        raise forbidden(NODES, name, f"node {node!r} is not allowed to modify taints")


_LABELS = frozenset(
    {
        *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"),
        *("beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type"),
        *("node.kubernetes.io/instance-type", "failure-domain.beta.kubernetes.io/region"),
        *("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region", "topology.kubernetes.io/zone"),
    }
)
_LABEL_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")


def _may_label(key: str) -> bool:
    prefix = key.partition("/")[0] if "/" in key else ""
    if prefix.endswith(_RESTRICTED.removesuffix("/")):
        return False
    if not (prefix in ("kubernetes.io", "k8s.io") or prefix.endswith((".kubernetes.io", ".k8s.io"))):
        return True
    if key in _LABELS:
        return True
    return any(prefix == allowed or prefix.endswith(f".{allowed}") for allowed in _LABEL_PREFIXES)


def _check_mirror_pod(node: str, pod: Json) -> None:
    name = pod["metadata"]["name"]

    def refuse(why: str) -> StatusError:
        return forbidden(PODS, name, why)

    if CONFIG_MIRROR not in (pod["metadata"].get("annotations") or {}):
        raise refuse(f"pod does not have {CONFIG_MIRROR!r} annotation, node {node!r} can only create mirror pods")
    if pod["spec"].get("nodeName") != node:
        raise refuse(f"node {node!r} can only create pods with spec.nodeName set to itself")
    owners = pod["metadata"].get("ownerReferences") or []
    if len(owners) != 1 or owners[0].get("kind") != "Node" or owners[0].get("name") != node:
        raise refuse(f"node {node!r} can only create pods with an owner reference set to itself")
    if owners[0].get("controller") is not True or owners[0].get("blockOwnerDeletion"):
        raise refuse("the owner reference of a mirror pod has controller true and no blockOwnerDeletion")
    if pod["spec"].get("serviceAccountName"):
        raise refuse("a mirror pod may not reference service accounts")
    for plural, found in references_of(pod).items():
        if found:
            raise refuse(f"a mirror pod may not reference {plural}")


def _forbidden(resource: ServedResource, user: ApiUser, asked: AccessAttributes, reason: str) -> StatusError:
    where = (
        f'in the namespace "{asked.namespace}"' if resource.namespaced and asked.namespace else "at the cluster scope"
    )
    why = f'User "{user.name}" cannot {asked.verb} resource "{asked.what}" in API group "{asked.group}" {where}'
    return forbidden(resource, asked.name, f"{why}: {reason}" if reason else why)
