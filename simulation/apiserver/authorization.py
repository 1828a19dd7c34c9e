"""Who may do what.

`AlwaysAllow`: everybody everything. `Node`: admins all, the agent of a node what its node needs. `RBAC`: the same,
and everybody what roles grant (see `simulation.rbac`).

An agent may do what Kubernetes allows it by the Node authorizer and NodeRestriction. `_GRANTS` is the table of the
first: resource and part, verbs, and how the object must be related to the node. `decide` judges the request alone,
`check_node_object` what an agent writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from config.pods.identity import CONFIG_MIRROR
from simulation.apiserver.core import Core
from simulation.apiserver.requests import ApiUser, ResourceCall
from simulation.apiserver.resources import NAMESPACES, NODES, PODS, SERVED, ServedResource
from simulation.apiserver.status import Json, StatusError, forbidden
from simulation.apiserver.store import Store
from simulation.rbac.roles import GROUP, Granted, granted
from simulation.rbac.rules import Access, allows

MASTERS = "system:masters"
LEASE_NAMESPACE = "kube-node-lease"
Key = tuple[str, str]
"""Namespace and name."""


class AccessAttributes(msgspec.Struct, frozen=True):
    """The attributes of a request for access."""

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

    @property
    def key(self) -> Key:
        """The only object that is meant."""
        return self.namespace, self.name or self.field_name

    @property
    def access(self) -> Access:
        """The access that roles must grant."""
        return Access(self.verb, self.group, self.what, self.name or self.field_name)


class StoredPolicies:
    """The roles and bindings of a store; see `simulation.rbac.roles.Policies`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def bindings(self, namespace: str) -> Iterable[Json]:
        kind = "rolebindings" if namespace else "clusterrolebindings"
        return [one.object for one in self._store.of[f"{kind}.{GROUP}"].all() if one.namespace == namespace]

    def role(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self._store.get(f"{kind.lower()}s.{GROUP}", namespace, name)
        return None if found is None else found.object


class Authorizer:
    def __init__(self, core: Core) -> None:
        self._store = core.store
        self.lets_all = core.options.authorization == "AlwaysAllow"
        """Nothing is refused to anybody."""
        self.has_roles = core.options.authorization == "RBAC"
        self.policies = StoredPolicies(core.store)

    def may_everything(self, user: ApiUser) -> bool:
        """Whether nothing is refused to this user."""
        return self.lets_all or MASTERS in user.groups

    def check(self, call: ResourceCall) -> None:
        """Raises StatusError (403)."""
        if self.may_everything(call.user):
            return
        asked = attributes_of(call)
        self.check_access(call.user, asked)
        if self.has_roles and asked.verb == "get" and asked.subresource in _STREAMS:
            self.check_access(call.user, msgspec.structs.replace(asked, verb="create"))

    def check_access(self, user: ApiUser, asked: AccessAttributes) -> None:
        """Check that the user may do it. Raises StatusError (403)."""
        allowed, reason = self.decide(user, asked)
        if not allowed:
            raise _forbidden(user, asked, reason)

    def check_path(self, user: ApiUser, method: str, path: str) -> None:
        """Check a request to a path that is no resource. Raises StatusError (403)."""
        if self.has_roles and not self.decide_path(user, method.lower(), path)[0]:
            why = f'User "{user.name}" cannot {method.lower()} path "{path}"'
            raise StatusError(403, "Forbidden", f"forbidden: {why}", {})

    def check_impersonation(self, user: ApiUser, other: ApiUser) -> None:
        """Check that the user may act for the other one. Raises StatusError (403)."""
        account = other.name.split(":")[2:] if other.name.startswith("system:serviceaccount:") else []
        named = [("", "groups", "", group) for group in other.groups]
        named += [(_IDENTITY, f"userextras/{key}", "", value) for key in other.extra for value in other.extra[key]]
        named += [(_IDENTITY, "uids", "", other.uid)] if other.uid else []
        who = ("", "serviceaccounts", *account) if len(account) == 2 else ("", "users", "", other.name)
        for group, what, namespace, name in (who, *named):
            resource, _, part = what.partition("/")
            self.check_access(user, AccessAttributes("impersonate", group, resource, part, namespace, name))

    def decide(self, user: ApiUser, asked: AccessAttributes) -> tuple[bool, str]:
        """Whether the access is allowed, and why; "" for no particular reason."""
        if self.may_everything(user):
            return True, ""
        if not self.has_roles and asked.resource in _REVIEWS and asked.verb == "create":
            return True, ""
        reason = ""
        if user.node and (asked.group, asked.resource) in _OF_ALL_SERVERS:
            for grant in _GRANTS.get(asked.what, ()):
                if asked.verb in grant.verbs:
                    if grant.related(self._store, user.node, asked):
                        return True, ""
                    reason = grant.otherwise
                    break
        return self._by_roles(user, asked.namespace, asked.access, reason)

    def decide_path(self, user: ApiUser, verb: str, path: str) -> tuple[bool, str]:
        """Whether the verb is allowed on a path that is no resource, and why."""
        return (True, "") if self.may_everything(user) else self._by_roles(user, "", Access(verb, path=path))

    def granted(self, user: ApiUser, namespace: str) -> Iterator[Granted]:
        """The rules that roles grant the user in the whole cluster and in that namespace; none without RBAC."""
        return granted(user, namespace, self.policies) if self.has_roles else iter(())

    def _by_roles(self, user: ApiUser, namespace: str, asked: Access, reason: str = "") -> tuple[bool, str]:
        lacking = []
        for one in self.granted(user, namespace):
            if one.lacks:
                lacking.append(one.lacks)
            elif allows(one.rule, asked):
                return True, one.by
        if lacking:
            missing = lacking[0] if len(lacking) == 1 else f"[{', '.join(lacking)}]"
            reason = "\n".join(filter(None, (reason, f"RBAC: {missing}")))
        return False, reason


# --- how an object is related to a node -------------------------------------------------------------------------------


def _any(store: Store, node: str, asked: AccessAttributes) -> bool:
    return True


def _own(store: Store, node: str, asked: AccessAttributes) -> bool:
    """The object has the name of the node."""
    is_home = asked.resource != "leases" or asked.namespace == LEASE_NAMESPACE
    return is_home and node in (asked.name, asked.field_name)


def _selected(store: Store, node: str, asked: AccessAttributes) -> bool:
    """Only pods of the node are selected."""
    return asked.field_node == node


def _bound(store: Store, node: str, asked: AccessAttributes) -> bool:
    """The pod is bound to the node. One that does not exist is not found later."""
    pod = store.get(PODS.store_key, asked.namespace, asked.name)
    return pod is None or pod.node == node


def _referred(store: Store, node: str, asked: AccessAttributes) -> bool:
    """A pod of the node refers to the object."""
    return _refers(store, node, asked.resource, asked.key)


def _secret(store: Store, node: str, asked: AccessAttributes) -> bool:
    """A pod of the node refers to the secret, or claims a volume that does."""
    return _referred(store, node, asked) or any(
        asked.key in volume_secrets(volume.object) and _claims(store, node, volume.object)
        for volume in store.of["persistentvolumes"].all()
    )


def _claimed(store: Store, node: str, asked: AccessAttributes) -> bool:
    """A pod of the node claims the volume."""
    volume = store.get("persistentvolumes", "", asked.name)
    return volume is not None and _claims(store, node, volume.object)


def _attached(store: Store, node: str, asked: AccessAttributes) -> bool:
    """The attachment is to the node."""
    found = store.get("volumeattachments.storage.k8s.io", "", asked.name)
    return found is not None and (found.object.get("spec") or {}).get("nodeName") == node


def _claims(store: Store, node: str, volume: Json) -> bool:
    claim = (volume.get("spec") or {}).get("claimRef") or {}
    return _refers(store, node, "persistentvolumeclaims", (claim.get("namespace", ""), claim.get("name", "")))


def _refers(store: Store, node: str, plural: str, key: Key) -> bool:
    """Whether a pod of that node refers to it. Pods that show static ones give no rights."""
    return any(
        key in references_of(pod).get(plural, ())
        for pod in store.of[PODS.store_key].on_node(node)
        if CONFIG_MIRROR not in (pod["metadata"].get("annotations") or {})
    )


class _Grant(msgspec.Struct, frozen=True):
    """The verbs that an agent may use on objects `related` to its node.

    `otherwise`: the reason of the refusal for others.
    """

    verbs: frozenset[str]
    related: Callable[[Store, str, AccessAttributes], bool] = _any
    otherwise: str = "no relationship found between the node and this object"


_GET = frozenset({"get"})
_CREATE = frozenset({"create"})
_READ = frozenset({"get", "list", "watch"})
_CHANGE = frozenset({"get", "update", "patch"})
_SELECT = "can only list/watch pods with spec.nodeName field selector"
_SAME_NAME = "can only access the object with the same name as the requesting node"
_GRANTS: Mapping[str, tuple[_Grant, ...]] = {
    **dict.fromkeys(("clustertrustbundles", "csidrivers", "runtimeclasses", "services"), (_Grant(_READ),)),
    **dict.fromkeys(("localsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"), (_Grant(_CREATE),)),
    **dict.fromkeys(("csinodes", "leases"), (_Grant(_CREATE), _Grant(_READ | _CHANGE | {"delete"}, _own, _SAME_NAME))),
    **dict.fromkeys(("nodes", "nodes/status"), (_Grant(_CREATE), _Grant(_READ | _CHANGE, _own, _SAME_NAME))),
    "certificatesigningrequests": (_Grant(_READ | _CREATE),),
    "configmaps": (_Grant(_READ, _referred),),
    "events": (_Grant(frozenset({"create", "update", "patch"})),),
    "persistentvolumeclaims": (_Grant(_READ, _referred),),
    "persistentvolumeclaims/status": (_Grant(_CHANGE, _referred),),
    "persistentvolumes": (_Grant(_GET, _claimed),),
    "podcertificaterequests": (_Grant(_READ | _CREATE),),
    "pods": (
        _Grant(_CREATE),
        _Grant(frozenset({"list", "watch"}), _selected, _SELECT),
        _Grant(frozenset({"get", "delete"}), _bound),
    ),
    "pods/eviction": (_Grant(_CREATE, _bound),),
    "pods/status": (_Grant(_CHANGE, _bound),),
    "secrets": (_Grant(_READ, _secret),),
    "serviceaccounts": (_Grant(_GET, _referred),),
    "serviceaccounts/token": (_Grant(_CREATE, _referred),),
    "volumeattachments": (_Grant(_GET, _attached),),
}
"""Rules by resource and part; everything else is refused."""
_STREAMS = frozenset({"attach", "exec", "portforward"})
"""Parts that a WebSocket requests by GET; they need the right to `create`, not only to `get`."""
_IDENTITY = "authentication.k8s.io"
_REVIEWS = frozenset({"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"})
_OF_ALL_SERVERS = frozenset((resource.group, resource.plural) for resource in SERVED)
"""The built-in resources. `_GRANTS` is for these alone: a custom resource may have the same name."""


# --- what pods and volumes refer to -----------------------------------------------------------------------------------

_REFERENCES: Mapping[str, str] = {
    **dict.fromkeys(("configMap", "configMapKeyRef", "configMapRef"), "configmaps"),
    **dict.fromkeys(("azureFile", "imagePullSecrets", "nodePublishSecretRef"), "secrets"),
    **dict.fromkeys(("secret", "secretKeyRef", "secretRef"), "secrets"),
    "persistentVolumeClaim": "persistentvolumeclaims",
}
"""Fields of a pod that name an object in its namespace, with the resource of that object."""
_NAMES = ("name", "secretName", "claimName")


def references_of(pod: Json) -> dict[str, set[Key]]:
    """Plural -> namespace and name of the objects that the pod refers to."""
    metadata, spec = pod["metadata"], pod["spec"]
    named = [*_named(spec), ("serviceaccounts", spec.get("serviceAccountName"))]
    named += [
        ("persistentvolumeclaims", f"{metadata['name']}-{volume['name']}")
        for volume in spec.get("volumes") or ()
        if volume.get("ephemeral")
    ]
    found: dict[str, set[Key]] = {}
    for plural, name in named:
        if name:
            found.setdefault(plural, set()).add((metadata.get("namespace", ""), name))
    return found


def _named(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Plural and name of each reference in a part of a spec, which is the content of that field."""
    if isinstance(value, list):
        for item in value:
            yield from _named(item, field)
    elif isinstance(value, dict):
        if field in _REFERENCES:
            yield from ((_REFERENCES[field], value[name]) for name in _NAMES if value.get(name))
        for name, item in value.items():
            yield from _named(item, name)


def volume_secrets(volume: Json) -> set[Key]:
    """The secrets of a persistent volume that nodes need, without those of controllers."""
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
    """The attributes of a request."""
    target = call.target
    selection = call.selection() if call.verb in ("list", "watch", "deletecollection") else None
    return AccessAttributes(
        verb=call.verb,
        group=target.resource.group,
        resource=target.resource.plural,
        subresource=target.subresource,
        # As in Kubernetes, the namespace of a Namespace object is its own name.
        namespace=target.name if target.resource is NAMESPACES else target.namespace,
        name=target.name,
        field_node=(selection.node or "") if selection is not None else "",
        field_name=(selection.name or "") if selection is not None else "",
    )


def check_node_object(call: ResourceCall, old: Json | None, new: Json) -> None:
    """NodeRestriction: what an agent may write in the objects it may write. Raises StatusError (403)."""
    node, resource, name = call.user.node, call.resource, new["metadata"]["name"]
    if not node or MASTERS in call.user.groups:
        return
    if resource.plural in ("csinodes", "leases", "nodes") and name != node:
        raise forbidden(resource, name, _SAME_NAME)
    if resource is NODES:
        _check_node(old or {}, new)
    elif resource is PODS and old is None:
        why = _fault_of_mirror_pod(node, new)
        if why:
            raise forbidden(PODS, name, why)


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


def _forbidden(user: ApiUser, asked: AccessAttributes, reason: str) -> StatusError:
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    why = f'User "{user.name}" cannot {asked.verb} resource "{asked.what}" in API group "{asked.group}" {where}'
    resource = ServedResource(asked.group, "", asked.resource, "", "", bool(asked.namespace))
    return forbidden(resource, asked.name, f"{why}: {reason}" if reason else why)
