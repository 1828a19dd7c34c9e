"""Which resources the server has: their names, their verbs, their parts. Pure data, as discovery tells it.

Owns the one list of what every server serves (`SERVED`); what is neither in it nor defined as a custom resource gets a
404. Nothing here can fail. Refuses to know
how a verb is carried out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE_ONLY = ("create",)
CHANGE = ("get", "patch", "update")
STREAM = ("create", "get")


@dataclass(frozen=True, slots=True, eq=False)
class SubResource:
    """A part of an object. `kind` with `group` and `version`: of what is sent and answered there. `api_version`: as in
    `apiVersion`. Told apart by identity, as resources are.
    """

    kind: str
    group: str
    version: str
    verbs: tuple[str, ...]
    api_version: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)


@dataclass(frozen=True, slots=True, eq=False)
class CustomVersion:
    """What a definition says of one version of a custom resource, as JSON: the schema of its objects, its columns.

    `selectable`: the dotted paths that a field selector may ask for. `scale`: where the replicas are; None without
    such a part. `warning`: what everybody is told who asks for a version that is deprecated.
    """

    schema: Mapping[str, Any]
    columns: tuple[Mapping[str, Any], ...] = ()
    selectable: frozenset[str] = frozenset()
    scale: Mapping[str, str] | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ServedResource:
    """One resource; there is one value of each, told apart by identity.

    `storage` names the resource that holds the objects where that need not look as this one does: for events their
    twin, for a custom resource the one of all its versions. `api_version`: as in `apiVersion`, "v1",
    "coordination.k8s.io/v1". `group_resource`: as errors say it, "pods", "leases.coordination.k8s.io". `store_key`:
    resources of the same key are the same objects. `custom`: for a resource that somebody has defined.

    `subresources`: name in the path -> what it is. `categories`: such as `all` of `kubectl get all`.
    """

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, SubResource] = field(default_factory=dict)
    storage: str = ""
    list_kind: str = ""
    custom: CustomVersion | None = None
    api_version: str = field(init=False)
    group_resource: str = field(init=False)
    store_key: str = field(init=False)

    def __post_init__(self) -> None:
        # Asked at every request, and always the same.
        named = f"{self.plural}.{self.group}" if self.group else self.plural
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)
        object.__setattr__(self, "group_resource", named)
        object.__setattr__(self, "store_key", self.storage or named)
        object.__setattr__(self, "list_kind", self.list_kind or f"{self.kind}List")

    @property
    def stored(self) -> bool:
        """Whether there are objects of it; the others (reviews, bindings) are only asked."""
        return "get" in self.verbs


def _core(kind: str, *verbs: str) -> SubResource:
    return SubResource(kind, "", "v1", verbs)


_POD_PARTS = {
    "attach": _core("PodAttachOptions", *STREAM),
    "binding": _core("Binding", *CREATE_ONLY),
    "ephemeralcontainers": _core("Pod", *CHANGE),
    "eviction": SubResource("Eviction", "policy", "v1", CREATE_ONLY),
    "exec": _core("PodExecOptions", *STREAM),
    "log": _core("Pod", "get"),
    "portforward": _core("PodPortForwardOptions", *STREAM),
    "resize": _core("Pod", *CHANGE),
    "status": _core("Pod", *CHANGE),
}
_NODE_PARTS = {
    "proxy": _core("NodeProxyOptions", "create", "delete", "get", "patch", "update"),
    "status": _core("Node", *CHANGE),
}
_NAMESPACE_PARTS = {"finalize": _core("Namespace", "update"), "status": _core("Namespace", *CHANGE)}
_ACCOUNT_PARTS = {"token": SubResource("TokenRequest", "authentication.k8s.io", "v1", CREATE_ONLY)}


def _status(kind: str, group: str = "") -> dict[str, SubResource]:
    return {"status": SubResource(kind, group, "v1", CHANGE)}


def _review(group: str, kind: str, *, namespaced: bool = False) -> ServedResource:
    """What is asked by being created, and never stored."""
    name = kind.lower()
    return ServedResource(group, "v1", f"{name}s", name, kind, namespaced, verbs=CREATE_ONLY)


_CERTIFICATES = "certificates.k8s.io"
_EXTENSIONS = "apiextensions.k8s.io"
_STORAGE = "storage.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"

SERVED: tuple[ServedResource, ...] = (
    ServedResource("", "v1", "bindings", "binding", "Binding", True, verbs=CREATE_ONLY),
    ServedResource("", "v1", "configmaps", "configmap", "ConfigMap", True, ("cm",)),
    ServedResource("", "v1", "events", "event", "Event", True, ("ev",)),
    ServedResource(
        "",
        "v1",
        "namespaces",
        "namespace",
        "Namespace",
        False,
        ("ns",),
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
        subresources=_NAMESPACE_PARTS,
    ),
    ServedResource("", "v1", "nodes", "node", "Node", False, ("no",), subresources=_NODE_PARTS),
    ServedResource(
        "",
        "v1",
        "persistentvolumeclaims",
        "persistentvolumeclaim",
        "PersistentVolumeClaim",
        True,
        ("pvc",),
        subresources=_status("PersistentVolumeClaim"),
    ),
    ServedResource(
        "",
        "v1",
        "persistentvolumes",
        "persistentvolume",
        "PersistentVolume",
        False,
        ("pv",),
        subresources=_status("PersistentVolume"),
    ),
    ServedResource("", "v1", "pods", "pod", "Pod", True, ("po",), ("all",), subresources=_POD_PARTS),
    ServedResource("", "v1", "secrets", "secret", "Secret", True),
    ServedResource(
        "", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", True, ("sa",), subresources=_ACCOUNT_PARTS
    ),
    ServedResource(
        "", "v1", "services", "service", "Service", True, ("svc",), ("all",), subresources=_status("Service")
    ),
    ServedResource("coordination.k8s.io", "v1", "leases", "lease", "Lease", True),
    ServedResource("events.k8s.io", "v1", "events", "event", "Event", True, ("ev",), storage="events"),
    ServedResource("node.k8s.io", "v1", "runtimeclasses", "runtimeclass", "RuntimeClass", False),
    ServedResource(_STORAGE, "v1", "csidrivers", "csidriver", "CSIDriver", False),
    ServedResource(_STORAGE, "v1", "csinodes", "csinode", "CSINode", False),
    ServedResource(
        _STORAGE,
        "v1",
        "volumeattachments",
        "volumeattachment",
        "VolumeAttachment",
        False,
        subresources=_status("VolumeAttachment", _STORAGE),
    ),
    ServedResource(
        _CERTIFICATES,
        "v1",
        "certificatesigningrequests",
        "certificatesigningrequest",
        "CertificateSigningRequest",
        False,
        ("csr",),
        subresources={
            "approval": SubResource("CertificateSigningRequest", _CERTIFICATES, "v1", CHANGE),
            "status": SubResource("CertificateSigningRequest", _CERTIFICATES, "v1", CHANGE),
        },
    ),
    ServedResource(
        _EXTENSIONS,
        "v1",
        "customresourcedefinitions",
        "customresourcedefinition",
        "CustomResourceDefinition",
        False,
        ("crd", "crds"),
        ("api-extensions",),
        subresources=_status("CustomResourceDefinition", _EXTENSIONS),
    ),
    _review(_AUTHENTICATION, "SelfSubjectReview"),
    _review(_AUTHENTICATION, "TokenReview"),
    _review(_AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
    _review(_AUTHORIZATION, "SelfSubjectAccessReview"),
    _review(_AUTHORIZATION, "SelfSubjectRulesReview"),
    _review(_AUTHORIZATION, "SubjectAccessReview"),
)

_BY_NAME = {(served.group, served.version, served.plural): served for served in SERVED}


def find(group: str, version: str, plural: str) -> ServedResource | None:
    """The resource of that name in that group and version; None when it is not served."""
    return _BY_NAME.get((group, version, plural))


def _served(group: str, plural: str) -> ServedResource:
    return _BY_NAME[(group, "v1", plural)]


CONFIG_MAPS = _served("", "configmaps")
EVENTS = _served("", "events")
LEASES = _served("coordination.k8s.io", "leases")
DEFINITIONS = _served(_EXTENSIONS, "customresourcedefinitions")
NAMESPACES = _served("", "namespaces")
NODES = _served("", "nodes")
PODS = _served("", "pods")
SECRETS = _served("", "secrets")
SERVICES = _served("", "services")
SERVICE_ACCOUNTS = _served("", "serviceaccounts")


def groups(served: Iterable[ServedResource] = SERVED) -> dict[str, tuple[str, ...]]:
    """Each group with its versions, core ("") first, then by name."""
    found: dict[str, list[str]] = {}
    for resource in sorted(served, key=lambda one: one.group):
        versions = found.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)
    return {group: tuple(versions) for group, versions in found.items()}
