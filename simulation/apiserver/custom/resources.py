"""The served resources that a definition makes: one for each version that is served. Pure."""

from __future__ import annotations

import re

from simulation.apiserver.custom.definitions import schema_of, versions_of
from simulation.apiserver.custom.json_paths import names_of, parse_path
from simulation.apiserver.resources import CHANGE, CustomVersion, ServedResource, SubResource
from simulation.apiserver.status import Json

_KUBE_VERSION = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")


def resources_of(spec: Json, names: Json) -> tuple[ServedResource, ...]:
    """In the order in which clients should prefer them. `names`: those that are accepted."""
    served = [version for version in versions_of(spec) if version.get("served")]
    return tuple(_resource(spec, names, version) for version in sorted(served, key=lambda one: priority(one["name"])))


def priority(version: str) -> tuple[int, int, int, str]:
    """Stable before beta before alpha, the higher number first, and what is named otherwise last, by its name."""
    match = _KUBE_VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (stage, -int(match[1]), -int(match[3] or 0), version)


def _warning(group: str, kind: str, version: Json) -> str:
    if not version.get("deprecated"):
        return ""
    return version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated"


def _resource(spec: Json, names: Json, version: Json) -> ServedResource:
    group, kind = spec["group"], names["kind"]
    parts: Json = version.get("subresources") or {}
    subresources = {}
    if parts.get("status") is not None:
        subresources["status"] = SubResource(kind, group, version["name"], CHANGE)
    scale = parts.get("scale")
    if scale is not None:
        subresources["scale"] = SubResource("Scale", "autoscaling", "v1", CHANGE)
    selectable = (names_of(parse_path(field["jsonPath"])) or () for field in version.get("selectableFields") or ())
    return ServedResource(
        group,
        version["name"],
        names["plural"],
        names["singular"],
        kind,
        spec["scope"] == "Namespaced",
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
        subresources=subresources,
        storage=f"{names['plural']}.{group}",
        list_kind=names["listKind"],
        custom=CustomVersion(
            schema=schema_of(version) or {},
            columns=tuple(version.get("additionalPrinterColumns") or ()),
            selectable=frozenset(".".join(path) for path in selectable),
            scale=scale,
            warning=_warning(group, kind, version),
        ),
    )
