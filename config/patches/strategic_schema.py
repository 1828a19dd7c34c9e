"""The lists that a strategic merge patch merges, by kind, and their keys.

One table serves every version of the API, because fields never change their patch rules. A test compares it with the
schema that the API publishes. `config.patches.strategic` applies patches.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

Schema = Mapping[str, "FieldRule"]
"""Rules of the fields of one type, by their JSON names.

A field without a rule: maps merge, all else is replaced.
"""

PLAIN: Schema = MappingProxyType({})


class FieldRule(NamedTuple):
    """How one field is patched.

    `schema` is of the map, or of the items of the list. `merge` is for lists: they merge by the field `key` of their
    items, or without a key as a set of plain values. `retain_keys`: a patch names all the fields that remain.
    `replace`: a map is replaced as a whole.
    """

    schema: Schema = PLAIN
    merge: bool = False
    key: str | None = None
    retain_keys: bool = False
    replace: bool = False


NO_RULE = FieldRule()


def _list_by(key: str, schema: Schema = PLAIN, *, retain_keys: bool = False) -> FieldRule:
    return FieldRule(schema, merge=True, key=key, retain_keys=retain_keys)


_SET = FieldRule(merge=True)

OBJECT_META: Schema = {"ownerReferences": _list_by("uid"), "finalizers": _SET}
_METADATA = FieldRule(OBJECT_META)
_CONDITIONS: Schema = {"conditions": _list_by("type")}

_CONTAINER: Schema = {
    "env": _list_by("name"),
    "ports": _list_by("containerPort"),
    "volumeDevices": _list_by("devicePath"),
    "volumeMounts": _list_by("mountPath"),
}
_VOLUME: Schema = {"ephemeral": FieldRule({"volumeClaimTemplate": FieldRule({"metadata": _METADATA})})}
_POD_SPEC: Schema = {
    "containers": _list_by("name", _CONTAINER),
    "ephemeralContainers": _list_by("name", _CONTAINER),
    "hostAliases": _list_by("ip"),
    "imagePullSecrets": _list_by("name"),
    "initContainers": _list_by("name", _CONTAINER),
    "resourceClaims": _list_by("name", retain_keys=True),
    "schedulingGates": _list_by("name"),
    "topologySpreadConstraints": _list_by("topologyKey"),
    "volumes": _list_by("name", _VOLUME, retain_keys=True),
}
_POD_STATUS: Schema = {
    **_CONDITIONS,
    "hostIPs": _list_by("ip"),
    "podIPs": _list_by("ip"),
    "resourceClaimStatuses": _list_by("name", retain_keys=True),
}
_NODE_STATUS: Schema = {**_CONDITIONS, "addresses": _list_by("type")}


def _kind(spec: Schema = PLAIN, status: Schema = PLAIN, **others: FieldRule) -> Schema:
    return {"metadata": _METADATA, "spec": FieldRule(spec), "status": FieldRule(status), **others}


_KINDS: Mapping[tuple[str, str], Schema] = {
    ("v1", "Namespace"): _kind(status=_CONDITIONS),
    ("v1", "Node"): _kind({"podCIDRs": _SET}, _NODE_STATUS),
    ("v1", "PersistentVolumeClaim"): _kind(status=_CONDITIONS),
    ("v1", "Pod"): _kind(_POD_SPEC, _POD_STATUS),
    ("v1", "Service"): _kind({"ports": _list_by("port")}, _CONDITIONS),
    ("v1", "ServiceAccount"): _kind(secrets=_list_by("name")),
    ("storage.k8s.io/v1", "CSINode"): _kind({"drivers": _list_by("name")}),
}
_OTHERS: Schema = {"metadata": _METADATA}


def schema_for(api_version: str, kind: str) -> Schema:
    """The rules of a kind. A kind that is not in the table has rules for its metadata only."""
    return _KINDS.get((api_version, kind), _OTHERS)
