"""The Node authorizer: what the agent of a node may do.

`_GRANTS` is the table: resource and part, verbs, and how the object must be related to the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from config.pods.identity import CONFIG_MIRROR
from simulation.apiserver.access.attributes import AccessAttributes
from simulation.apiserver.access.references import Key, references_of, volume_secrets
from simulation.apiserver.kinds.table import PODS, SERVED
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Store

LEASE_NAMESPACE = "kube-node-lease"


def may(store: Store, node: str, asked: AccessAttributes) -> tuple[bool, str]:
    """Whether the agent of that node may do it; if not, the reason, or "" for no particular one."""
    if (asked.group, asked.resource) in _OF_ALL_SERVERS:
        for grant in _GRANTS.get(asked.what, ()):
            if asked.verb in grant.verbs:
                allowed = grant.related(store, node, asked)
                return allowed, "" if allowed else grant.otherwise
    return False, ""


# --- how an object is related to a node -------------------------------------------------------------------------------


def _any(store: Store, node: str, asked: AccessAttributes) -> bool:
    return True


def _own(store: Store, node: str, asked: AccessAttributes) -> bool:
    """The object has the name of the node."""
    is_home = asked.resource != "leases" or asked.namespace == LEASE_NAMESPACE
    return is_home and node in (asked.name, asked.field_name)


def _selected(store: Store, node: str, asked: AccessAttributes) -> bool:
    """Only objects of the node are selected."""
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


def _sliced(store: Store, node: str, asked: AccessAttributes) -> bool:
    """The slice is of the node."""
    found = store.get("resourceslices.resource.k8s.io", "", asked.name)
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
_SELECT_SLICES = "can only list/watch/deletecollection resourceslices with nodeName field selector"
SAME_NAME = "can only access the object with the same name as the requesting node"
_GRANTS: Mapping[str, tuple[_Grant, ...]] = {
    **dict.fromkeys(("clustertrustbundles", "csidrivers", "runtimeclasses", "services"), (_Grant(_READ),)),
    **dict.fromkeys(("localsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"), (_Grant(_CREATE),)),
    **dict.fromkeys(("csinodes", "leases"), (_Grant(_CREATE), _Grant(_READ | _CHANGE | {"delete"}, _own, SAME_NAME))),
    **dict.fromkeys(("nodes", "nodes/status"), (_Grant(_CREATE), _Grant(_READ | _CHANGE, _own, SAME_NAME))),
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
    "resourceclaims": (_Grant(_GET, _referred),),
    "resourceslices": (
        _Grant(_CREATE),
        _Grant(frozenset({"list", "watch", "deletecollection"}), _selected, _SELECT_SLICES),
        _Grant(_CHANGE | {"delete"}, _sliced),
    ),
    "secrets": (_Grant(_READ, _secret),),
    "serviceaccounts": (_Grant(_GET, _referred),),
    "serviceaccounts/token": (_Grant(_CREATE, _referred),),
    "volumeattachments": (_Grant(_GET, _attached),),
}
"""Rules by resource and part; everything else is refused."""
_OF_ALL_SERVERS = frozenset((resource.group, resource.plural) for resource in SERVED)
"""The built-in resources. `_GRANTS` is for these alone: a custom resource may have the same name."""
