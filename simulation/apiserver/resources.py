"""The declarative table of kinds: names, verbs, parts, defaults, selectable fields.

Discovery, OpenAPI, field selectors, defaulting and the generic rules of objects read it; a kind that needs no code of
its own is one line here. A resource that is neither in `SERVED` nor defined as a custom resource gets a 404.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE_ONLY = ("create",)
CHANGE = ("get", "patch", "update")
STREAM = ("create", "get")
_NONE: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True, eq=False)
class SubResource:
    """A part of an object. `kind`, `group` and `version` describe the body that is sent and answered there."""

    kind: str
    group: str
    version: str
    verbs: tuple[str, ...]

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclass(frozen=True, slots=True, eq=False)
class CustomVersion:
    """One version of a custom resource as its definition describes it; schema and columns are JSON.

    `scale`: the paths of the scale part, or None. `warning`: the
    deprecation warning for each request, or "".
    """

    schema: Mapping[str, Any]
    columns: tuple[Mapping[str, Any], ...] = ()
    scale: Mapping[str, str] | None = None
    warning: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ServedResource:
    """One resource. Each exists once and compares by identity.

    `storage`: the store key of objects that several resources show (events, versions of a custom resource).
    `api_version`: as in `apiVersion`. `group_resource`: as errors name it, "leases.coordination.k8s.io".
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
    selectable: tuple[str, ...] = ()
    """Dotted paths that field selectors may use, besides name and namespace."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a new object: values for what it leaves out, at the top and one level below."""
    first_status: Mapping[str, Any] | None = None
    """The status of every new object, whatever the client sends."""
    fixed: tuple[str, ...] = ()
    """Fields of the spec that do not change once they are set."""
    create_on_update: bool = False
    """Whether PUT creates an object that does not exist."""
    blind_update: bool = True
    """Whether PUT works without a resourceVersion."""
    delete_answers_object: bool = False
    """Whether DELETE answers with the deleted object instead of a Status."""
    label_names: bool = False
    """Whether names are DNS labels instead of DNS subdomains."""
    api_version: str = field(init=False)
    group_resource: str = field(init=False)
    store_key: str = field(init=False)

    def __post_init__(self) -> None:
        named = f"{self.plural}.{self.group}" if self.group else self.plural
        object.__setattr__(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)
        object.__setattr__(self, "group_resource", named)
        object.__setattr__(self, "store_key", self.storage or named)
        object.__setattr__(self, "list_kind", self.list_kind or f"{self.kind}List")

    @property
    def stored(self) -> bool:
        """Whether objects of it exist; reviews and bindings are only answered."""
        return "get" in self.verbs


def _kind(kind: str, *short_names: str, group: str = "", parts: Iterable[str] = (), **more: Any) -> ServedResource:
    """A resource with the usual names and verbs. `parts`: the names of parts that have the kind of the object."""
    singular = kind.lower()
    plural = f"{singular}es" if singular.endswith("s") else f"{singular}s"
    subresources = {part: SubResource(kind, group, "v1", CHANGE) for part in parts} | more.pop("subresources", {})
    namespaced = more.pop("namespaced", True)
    return ServedResource(
        group, "v1", plural, singular, kind, namespaced, short_names, subresources=subresources, **more
    )


def _core(kind: str, *verbs: str) -> SubResource:
    return SubResource(kind, "", "v1", verbs)


_STATUS = ("status",)
_CERTIFICATES = "certificates.k8s.io"
_EXTENSIONS = "apiextensions.k8s.io"
_STORAGE = "storage.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"
_EVENT: Mapping[str, Any] = {
    "create_on_update": True,
    "defaults": {"type": "Normal"},
    "selectable": (
        *(f"involvedObject.{part}" for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")),
        *("involvedObject.fieldPath", "reason", "reportingComponent", "source", "type"),
    ),
}

CONFIG_MAPS = _kind("ConfigMap", "cm")
EVENTS = _kind("Event", "ev", **_EVENT)
LEASES = _kind("Lease", group="coordination.k8s.io", create_on_update=True, blind_update=False)
NAMESPACES = _kind(
    "Namespace",
    "ns",
    namespaced=False,
    verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    parts=_STATUS,
    subresources={"finalize": _core("Namespace", "update")},
    selectable=("status.phase", "name"),
    label_names=True,
)
NODES = _kind(
    "Node",
    "no",
    namespaced=False,
    parts=_STATUS,
    subresources={"proxy": _core("NodeProxyOptions", "create", "delete", "get", "patch", "update")},
    selectable=("spec.unschedulable",),
    defaults={"spec": {}, "status": {}},
    fixed=("podCIDR", "podCIDRs", "providerID"),
)
PODS = _kind(
    "Pod",
    "po",
    categories=("all",),
    parts=("ephemeralcontainers", "resize", "status"),
    subresources={
        "attach": _core("PodAttachOptions", *STREAM),
        "binding": _core("Binding", *CREATE_ONLY),
        "eviction": SubResource("Eviction", "policy", "v1", CREATE_ONLY),
        "exec": _core("PodExecOptions", *STREAM),
        "log": _core("Pod", "get"),
        "portforward": _core("PodPortForwardOptions", *STREAM),
    },
    selectable=(
        *("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"),
        *("spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName"),
    ),
    delete_answers_object=True,
)
SECRETS = _kind("Secret", selectable=("type",), defaults={"type": "Opaque"})
SERVICES = _kind(
    "Service",
    "svc",
    categories=("all",),
    parts=_STATUS,
    selectable=("spec.clusterIP", "spec.type"),
    delete_answers_object=True,
    label_names=True,
)
SERVICE_ACCOUNTS = _kind(
    "ServiceAccount",
    "sa",
    subresources={"token": SubResource("TokenRequest", _AUTHENTICATION, "v1", CREATE_ONLY)},
)
DEFINITIONS = _kind(
    "CustomResourceDefinition",
    *("crd", "crds"),
    group=_EXTENSIONS,
    namespaced=False,
    categories=("api-extensions",),
    parts=_STATUS,
    blind_update=False,
)

SERVED: tuple[ServedResource, ...] = (
    _kind("Binding", verbs=CREATE_ONLY),
    CONFIG_MAPS,
    EVENTS,
    NAMESPACES,
    NODES,
    _kind(
        "PersistentVolumeClaim",
        "pvc",
        parts=_STATUS,
        defaults={"spec": {"volumeMode": "Filesystem"}},
        first_status={"phase": "Pending"},
        delete_answers_object=True,
    ),
    _kind(
        "PersistentVolume",
        "pv",
        namespaced=False,
        parts=_STATUS,
        defaults={"spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}},
        first_status={"phase": "Pending"},
        delete_answers_object=True,
    ),
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    LEASES,
    _kind("Event", "ev", group="events.k8s.io", storage="events", **_EVENT),
    _kind("RuntimeClass", group="node.k8s.io", namespaced=False),
    _kind("CSIDriver", group=_STORAGE, namespaced=False),
    _kind("CSINode", group=_STORAGE, namespaced=False),
    _kind("VolumeAttachment", group=_STORAGE, namespaced=False, parts=_STATUS),
    _kind(
        "CertificateSigningRequest",
        "csr",
        group=_CERTIFICATES,
        namespaced=False,
        parts=("approval", "status"),
        selectable=("spec.signerName",),
        first_status={},
    ),
    DEFINITIONS,
    _kind("SelfSubjectReview", group=_AUTHENTICATION, namespaced=False, verbs=CREATE_ONLY),
    _kind("TokenReview", group=_AUTHENTICATION, namespaced=False, verbs=CREATE_ONLY),
    _kind("LocalSubjectAccessReview", group=_AUTHORIZATION, verbs=CREATE_ONLY),
    _kind("SelfSubjectAccessReview", group=_AUTHORIZATION, namespaced=False, verbs=CREATE_ONLY),
    _kind("SelfSubjectRulesReview", group=_AUTHORIZATION, namespaced=False, verbs=CREATE_ONLY),
    _kind("SubjectAccessReview", group=_AUTHORIZATION, namespaced=False, verbs=CREATE_ONLY),
)

USAGE: tuple[ServedResource, ...] = tuple(
    ServedResource("metrics.k8s.io", "v1beta1", plural, "", kind, namespaced, verbs=("get", "list"))
    for plural, kind, namespaced in (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))
)
"""What `usage` answers. Discovery lists it; nothing of it is stored."""

_BY_NAME = {(served.group, served.version, served.plural): served for served in SERVED}


def find(group: str, version: str, plural: str) -> ServedResource | None:
    """The resource of that name; None when it is not served."""
    return _BY_NAME.get((group, version, plural))


def groups(served: Iterable[ServedResource] = SERVED) -> dict[str, tuple[str, ...]]:
    """Each group with its versions, core ("") first, then by name."""
    found: dict[str, list[str]] = {}
    for resource in sorted(served, key=lambda one: one.group):
        versions = found.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)
    return {group: tuple(versions) for group, versions in found.items()}
