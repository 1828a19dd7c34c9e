"""Who may do what. `AlwaysAllow`: everybody everything. `Node`: admins all, the agent of a node what its node needs.

What an agent may is what Kubernetes lets it by the Node authorizer together with NodeRestriction: its own node, lease
and CSINode; the pods that are bound to it; the secrets, config maps, claims, volumes and service account tokens that
these refer to; services and runtime classes of all; mirror pods that refer to nothing. Everybody who is recognised may
ask what he may. `refusal` judges the request alone, `check_node_object` what an agent writes. Pure but for the look
into the store. Refuses to know RBAC.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from config.pods.identity import CONFIG_MIRROR
from simulation.apiserver.core import Core
from simulation.apiserver.pod_references import Key, References, references_of, volume_secrets
from simulation.apiserver.requests import Call, User
from simulation.apiserver.resources import NODES, PODS, SERVED, ServedResource
from simulation.apiserver.status import Json, StatusError, forbidden

MASTERS = "system:masters"
LEASE_NAMESPACE = "kube-node-lease"
_READ = frozenset({"get", "list", "watch"})
_WRITE = frozenset({"create", "update", "patch"})
_KNOWN_AT_LEAST = 1000
_RESTRICTED = "node-restriction.kubernetes.io/"


class Attributes(msgspec.Struct, frozen=True):
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
_AGENT_CREATES = frozenset({"tokenreviews", "subjectaccessreviews", "localsubjectaccessreviews"})
_READ_BY_AGENTS = frozenset({"services", "runtimeclasses", "csidrivers"})


class Authorizer:
    """See the module."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._known: dict[str, tuple[Json, References]] = {}
        self.lets_all = core.options.authorization == "AlwaysAllow"
        """Nothing is refused to anybody."""
        self._rules: dict[str, Callable[[str, Attributes], str | None]] = {
            "configmaps": self._config_maps,
            "csinodes": self._own,
            "leases": self._own,
            "nodes": self._nodes,
            "persistentvolumeclaims": self._claims,
            "persistentvolumes": self._volumes,
            "pods": self._pods,
            "secrets": self._secrets,
            "serviceaccounts": self._accounts,
            "volumeattachments": self._attachments,
        }

    def may_everything(self, user: User) -> bool:
        """Whether nothing is refused to this user."""
        return self.lets_all or MASTERS in user.groups

    def check(self, call: Call) -> None:
        """Raises StatusError (403)."""
        if self.may_everything(call.user):
            return
        attributes = attributes_of(call)
        reason = self.refusal(call.user, attributes)
        if reason is not None:
            raise _forbidden(call.resource, call.user, attributes, reason)

    def refusal(self, user: User, asked: Attributes) -> str | None:
        """Why it is refused ("" for no particular reason); None when it is not."""
        if self.may_everything(user):
            return None
        if asked.resource in _REVIEWS and asked.verb == "create":
            return None
        if not user.node:
            return ""
        return self._of_agent(user.node, asked)

    def _of_agent(self, node: str, asked: Attributes) -> str | None:
        if (asked.group, asked.resource) not in _OF_ALL_SERVERS:
            return ""
        resource, verb = asked.what, asked.verb
        rule = self._rules.get(asked.resource)
        if rule is not None:
            return rule(node, asked)
        if asked.resource in _READ_BY_AGENTS:
            return None if verb in _READ and not asked.subresource else ""
        if asked.resource in _AGENT_CREATES:
            return None if verb == "create" else ""
        if resource == "events":
            return None if verb in _WRITE else ""
        if asked.resource == "certificatesigningrequests":
            return None if verb in _READ | {"create"} and not asked.subresource else ""
        return ""

    # --- by resource ------------------------------------------------------------------------------------------------

    def _own(self, node: str, asked: Attributes) -> str | None:
        if asked.verb == "create":
            return None
        if asked.resource == "leases" and asked.namespace != LEASE_NAMESPACE:
            return "can only access leases in the namespace kube-node-lease"
        if asked.name != node and asked.field_name != node:
            return f"can only access {asked.resource.removesuffix('s')} with the same name as the requesting node"
        return None if asked.verb in ("get", "update", "patch", "delete", "list", "watch") else ""

    def _nodes(self, node: str, asked: Attributes) -> str | None:
        if asked.subresource not in ("", "status"):
            return ""
        if asked.verb in _READ:
            if node in (asked.name, asked.field_name):
                return None
            return f"node {node!r} cannot read all nodes, only its own Node object"
        if asked.verb == "create":
            return None
        if asked.name != node:
            return f"node {node!r} is not allowed to modify node {asked.name!r}"
        return None if asked.verb in ("update", "patch") else ""

    def _pods(self, node: str, asked: Attributes) -> str | None:
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
        if pod.object["spec"].get("nodeName") != node:
            return f"node {node!r} can only get or change pods with spec.nodeName set to itself"
        if asked.verb in ("update", "patch") and asked.subresource != "status":
            return ""
        return None

    def _secrets(self, node: str, asked: Attributes) -> str | None:
        refusal = self._referred(node, asked, "secrets")
        key = (asked.namespace, asked.name or asked.field_name)
        if refusal and asked.verb in _READ and not asked.subresource and self._is_of_volume(node, key):
            return None
        return refusal

    def _is_of_volume(self, node: str, secret: Key) -> bool:
        """Whether a persistent volume that a pod of that node claims has it for nodes."""
        for volume in self._core.store.of["persistentvolumes"].all():
            spec = volume.object.get("spec") or {}
            claim = spec.get("claimRef") or {}
            if secret in volume_secrets(spec) and self._refers(
                node, "claims", (claim.get("namespace", ""), claim.get("name", ""))
            ):
                return True
        return False

    def _config_maps(self, node: str, asked: Attributes) -> str | None:
        return self._referred(node, asked, "config_maps")

    def _claims(self, node: str, asked: Attributes) -> str | None:
        if asked.subresource == "status" and asked.verb in ("get", "update", "patch"):
            asked = Attributes("get", "", asked.resource, "", asked.namespace, asked.name)
        return self._referred(node, asked, "claims")

    def _volumes(self, node: str, asked: Attributes) -> str | None:
        if asked.verb != "get":
            return "can only get individual resources of this type"
        volume = self._core.store.get("persistentvolumes", "", asked.name)
        claim = ((volume.object.get("spec") or {}).get("claimRef") or {}) if volume is not None else {}
        key = (claim.get("namespace", ""), claim.get("name", ""))
        return None if self._refers(node, "claims", key) else self._unrelated(node)

    def _attachments(self, node: str, asked: Attributes) -> str | None:
        if asked.verb != "get":
            return "can only get individual resources of this type"
        found = self._core.store.get("volumeattachments.storage.k8s.io", "", asked.name)
        own = found is not None and (found.object.get("spec") or {}).get("nodeName") == node
        return None if own else self._unrelated(node)

    def _accounts(self, node: str, asked: Attributes) -> str | None:
        if asked.verb not in ("get", "create") or (asked.verb == "create" and asked.subresource != "token"):
            return "can only get individual service accounts, and create tokens"
        known = self._refers(node, "accounts", (asked.namespace, asked.name))
        return None if known else self._unrelated(node)

    def _referred(self, node: str, asked: Attributes, kind: str) -> str | None:
        name = asked.name or asked.field_name
        if asked.verb not in _READ or not name or asked.subresource:
            return "can only read resources of this type"
        return None if self._refers(node, kind, (asked.namespace, name)) else self._unrelated(node)

    def _refers(self, node: str, kind: str, key: Key) -> bool:
        """Whether a pod of that node refers to it. Pods that show static ones give no rights."""
        pods = self._core.store.of["pods"]
        if len(self._known) > 2 * len(pods) + _KNOWN_AT_LEAST:
            self._known.clear()
        return any(key in getattr(self._references(pod), kind) for pod in pods.on_node(node))

    def _references(self, pod: Json) -> References:
        """Of one pod; found once for each version of its spec, which a new status leaves as it is."""
        uid, spec = pod["metadata"]["uid"], pod["spec"]
        known = self._known.get(uid)
        if known is not None and known[0] is spec:
            return known[1]
        is_mirror = CONFIG_MIRROR in (pod["metadata"].get("annotations") or {})
        found = References() if is_mirror else references_of([pod])
        self._known[uid] = (spec, found)
        return found

    @staticmethod
    def _unrelated(node: str) -> str:
        return f"no relationship found between node {node!r} and this object"


def attributes_of(call: Call) -> Attributes:
    """What a request asks for."""
    target = call.target
    selection = call.selection() if call.verb in ("list", "watch", "deletecollection") else None
    return Attributes(
        verb=call.verb,
        group=target.resource.group,
        resource=target.resource.plural,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name or (target.namespace if target.resource.plural == "namespaces" else ""),
        field_node=(selection.node or "") if selection is not None else "",
        field_name=(selection.name or "") if selection is not None else "",
    )


def check_node_object(call: Call, old: Json | None, new: Json) -> None:
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


def _check_node(call: Call, node: str, old: Json | None, new: Json) -> None:
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
    for kind, found in references_of([pod]).by_kind():
        if found:
            raise refuse(f"a mirror pod may not reference {kind}")


def _forbidden(resource: ServedResource, user: User, asked: Attributes, reason: str) -> StatusError:
    where = (
        f'in the namespace "{asked.namespace}"' if resource.namespaced and asked.namespace else "at the cluster scope"
    )
    why = f'User "{user.name}" cannot {asked.verb} resource "{asked.what}" in API group "{asked.group}" {where}'
    return forbidden(resource, asked.name, f"{why}: {reason}" if reason else why)
