"""The declarative table of kinds: names, verbs, parts, selectable fields, columns.

`table.yaml` is the table; discovery, OpenAPI, tables, field selectors and the strategies use the values made of
it here. A kind without its own code is one entry there. Entries under `published` have the schema that Kubernetes
publishes (`schemas.published`). A resource that is neither in `SERVED` nor in a `Catalog` gets a 404.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from simulation.apiserver.schemas.kind_schema import KindSchema
from simulation.apiserver.schemas.published import resolved, schema_name

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CHANGE = ("get", "patch", "update")


class SubResource(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """A part of an object.

    `kind`, `group` and `version` describe the body that is sent and answered there.
    """

    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = "v1"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class ServedResource(msgspec.Struct, frozen=True, eq=False, weakref=True, forbid_unknown_fields=True):
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
    subresources: Mapping[str, SubResource] = {}
    storage: str = ""
    stores: bool = True
    """Whether objects are stored in this version."""
    list_kind: str = ""
    described: KindSchema | None = None
    """The schema of its objects; None for a kind that a struct of `config` describes."""
    columns: Mapping[str, str] = {}
    """Name -> source of each table column; see `documents/tables.py`."""
    selectable: tuple[str, ...] = ()
    """Dotted paths that field selectors may use, besides name and namespace."""
    first_status: Mapping[str, Any] | None = None
    """The status of every new object, whatever the client sends."""
    keeps_first_status: bool = False
    """Whether a client may set the status of a new object."""
    dropped: tuple[str, ...] = ()
    """Dotted paths of fields whose feature is off by default, `*` for each item: they are not stored."""
    nulls: tuple[str, ...] = ()
    """Dotted paths of lists that are null where they are empty, as Go writes some."""
    kind_group: str = ""
    """The group that refusals name beside the kind; "core" for none. By default that of the resource."""
    generation: tuple[str, ...] = ()
    """Dotted paths whose change raises the generation; `*` is all but metadata and parts."""
    first_generation: int = -1
    """The generation of a new object; 0 for none. By default 1 where something raises it."""
    fixed_by_status: tuple[str, ...] = ()
    """Fields of the metadata that a change of the status keeps; `*` for all, as of every custom resource."""
    create_on_update: bool = False
    """Whether PUT creates an object that does not exist."""
    blind_update: bool = True
    """Whether PUT works without a resourceVersion."""
    delete_answers_object: bool = False
    """Whether DELETE answers with the deleted object instead of a Status."""
    orphans: bool = False
    """Whether dependents stay after a DELETE that says nothing of them."""
    orphan_warning: str = ""
    """The warning for such a DELETE, or ""."""
    api_version: str = ""
    group_resource: str = ""
    store_key: str = ""

    def __post_init__(self) -> None:
        named = f"{self.plural}.{self.group}" if self.group else self.plural
        force_setattr(self, "api_version", f"{self.group}/{self.version}" if self.group else self.version)
        force_setattr(self, "group_resource", named)
        force_setattr(self, "store_key", self.storage or named)
        if self.first_generation < 0:
            force_setattr(self, "first_generation", 1 if self.generation else 0)
        kind_group = self.kind_group or self.group
        force_setattr(self, "kind_group", "" if kind_group == "core" else kind_group)
        force_setattr(self, "list_kind", self.list_kind or f"{self.kind}List")

    @property
    def is_defined(self) -> bool:
        """Whether a CustomResourceDefinition makes it."""
        return self.described is not None and not self.described.published

    @property
    def stored(self) -> bool:
        """Whether objects of it exist; reviews and bindings are only answered."""
        return "get" in self.verbs


def _entry(kind: str, parts: Iterable[str] = (), **more: Any) -> ServedResource:
    """An entry of the table, with the names that follow from others."""
    singular, group, version = kind.lower(), more.get("group", ""), more.get("version", "v1")
    usual = {"group": group, "version": "v1", "singular": singular, "namespaced": True}
    usual["plural"] = f"{singular}es" if singular.endswith("s") else f"{singular}s"
    subresources = {part: {"kind": kind, "group": group, "version": version, "verbs": CHANGE} for part in parts}
    subresources |= more.pop("subresources", {})
    return msgspec.convert({**usual, "kind": kind, **more, "subresources": subresources}, ServedResource)


_SCALE_PATHS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def _published(kind: str, template: str = "", scaled: bool = False, warning: str = "", **more: Any) -> ServedResource:
    """The entry of a kind that is stored by its published schema."""
    group, version = more.get("group", ""), more.get("version", "v1")
    name = schema_name(group, version, kind)
    parts = tuple(template.split(".")) if template else ()
    scale = _SCALE_PATHS if scaled else None
    described = KindSchema(resolved(name), scale=scale, warning=warning, published=name, template=parts)
    subresources = {"scale": {"kind": "Scale", "group": "autoscaling", "verbs": CHANGE}} if scaled else {}
    entry = _entry(kind, **more, subresources=subresources)
    force_setattr(entry, "described", described)
    return entry


def _table() -> Mapping[str, list[Any]]:
    # The loader in C where PyYAML has it, which takes a tenth of the time.
    read: Mapping[str, list[Any]] = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes())
    return read


_TABLE = _table()
SERVED = (
    *(_entry(**entry) for entry in _TABLE["resources"]),
    *(_published(**entry) for entry in _TABLE["published"]),
)
USAGE = tuple(_entry(**entry) for entry in _TABLE["usage"])
"""The resources that `usage` answers. Discovery lists them; nothing of them is stored."""
_GROUPS: Mapping[str, int] = {group: place for place, group in enumerate(_TABLE["groups"])}
_BY_NAME = {(served.group, served.version, served.plural): served for served in SERVED}

CONFIG_MAPS, EVENTS, NAMESPACES, NODES, PODS, SECRETS, SERVICES, SERVICE_ACCOUNTS = (
    _BY_NAME["", "v1", plural]
    for plural in ("configmaps", "events", "namespaces", "nodes", "pods", "secrets", "services", "serviceaccounts")
)
LEASES = _BY_NAME["coordination.k8s.io", "v1", "leases"]
QUOTAS = _BY_NAME["", "v1", "resourcequotas"]
DEVICE_CLAIMS = _BY_NAME["resource.k8s.io", "v1", "resourceclaims"]
STORAGE_CLASSES = _BY_NAME["storage.k8s.io", "v1", "storageclasses"]
INGRESSES = _BY_NAME["networking.k8s.io", "v1", "ingresses"]
INGRESS_CLASSES = _BY_NAME["networking.k8s.io", "v1", "ingressclasses"]
RUNTIME_CLASSES = _BY_NAME["node.k8s.io", "v1", "runtimeclasses"]
CERTIFICATE_REQUESTS = _BY_NAME["certificates.k8s.io", "v1", "certificatesigningrequests"]
MUTATING_BINDINGS, MUTATING_POLICIES, VALIDATING_BINDINGS, VALIDATING_POLICIES = (
    _BY_NAME["admissionregistration.k8s.io", "v1", plural]
    for plural in (
        "mutatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingadmissionpolicies",
    )
)
LIMIT_RANGES = _BY_NAME["", "v1", "limitranges"]
CLAIMS = _BY_NAME["", "v1", "persistentvolumeclaims"]
VOLUMES = _BY_NAME["", "v1", "persistentvolumes"]
ATTRIBUTES_CLASSES = _BY_NAME["storage.k8s.io", "v1", "volumeattributesclasses"]
PRIORITY_CLASSES = _BY_NAME["scheduling.k8s.io", "v1", "priorityclasses"]
DEFINITIONS = _BY_NAME["apiextensions.k8s.io", "v1", "customresourcedefinitions"]


def find(group: str, version: str, plural: str) -> ServedResource | None:
    """The resource of that name; None when it is not served."""
    return _BY_NAME.get((group, version, plural))


def groups(served: Iterable[ServedResource] = SERVED) -> dict[str, tuple[str, ...]]:
    """Each group with its versions, in the order of discovery."""
    found: dict[str, list[str]] = {}
    for resource in sorted(served, key=_place):
        versions = found.setdefault(resource.group, [])
        if resource.version not in versions:
            versions.append(resource.version)
    return {group: tuple(versions) for group, versions in found.items()}


def _place(resource: ServedResource) -> tuple[int, bool, str]:
    return _GROUPS.get(resource.group, len(_GROUPS)), resource in USAGE, resource.group
