"""The rules of CustomResourceDefinitions: validity, defaults, and allowed changes.

It also makes the resources of a definition.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from simulation.apiserver.kinds.table import CHANGE, ServedResource, SubResource
from simulation.apiserver.schemas.json_paths import names_of, parse_path
from simulation.apiserver.schemas.kind_schema import KindSchema
from simulation.apiserver.schemas.structural import Cause, faults_of_schema
from simulation.apiserver.schemas.validation import invalid_at
from simulation.apiserver.schemas.zeros import without_zeros
from simulation.apiserver.status import Json, forbidden_field, required
from simulation.webhooks.conversions import REVIEW_VERSIONS

_KUBE_VERSION = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")


def with_names(spec: Any) -> Any:
    """The spec as Go writes it, with the names that follow from others."""
    spec = without_zeros(spec)
    if not isinstance(spec, dict) or not isinstance(spec.get("names", {}), dict):
        return spec
    kind = str(spec.get("names", {}).get("kind", ""))
    derived = {"singular": kind.lower(), "listKind": f"{kind}List"} if kind else {}
    return {**spec, "names": {**derived, **spec.get("names", {})}}


def schema_of(version: Json) -> Any:
    """The schema of one version."""
    return version["schema"]["openAPIV3Schema"]


def storage_version(spec: Json) -> str:
    """The version in which objects are stored."""
    return next((str(version["name"]) for version in spec["versions"] if version.get("storage")), "")


def is_true(definition: Json, condition: str) -> bool:
    """Whether the status has the condition."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == condition and each.get("status") == "True" for each in conditions)


# --- faults ---------------------------------------------------------------------------------------------------------


def faults_of(definition: Json) -> Iterator[Cause]:
    """The faults of a definition whose single fields match `definition.yaml`."""
    spec, metadata = definition["spec"], definition["metadata"]
    group, names, versions = spec["group"], spec["names"], spec["versions"]
    if metadata["name"] != f"{names['plural']}.{group}":
        yield invalid_at("metadata.name", metadata["name"], 'must be spec.names.plural+"."+spec.group')
    if names["kind"] == names["listKind"]:
        yield invalid_at("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    called = [version["name"] for version in versions]
    if len(set(called)) != len(called):
        yield invalid_at("spec.versions", called, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield invalid_at("spec.versions", called, "must have exactly one version marked as storage version")
    yield from _conversion(spec["conversion"])
    for at, version in enumerate(versions):
        yield from _version(version, f"spec.versions[{at}]")


def _conversion(conversion: Json) -> Iterator[Cause]:
    """Faults have the paths of the internal version, as upstream tells them."""
    path, webhook = "spec.conversion", conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if conversion["strategy"] != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden_field(f"{path}.webhookClientConfig", why)
        if versions:
            yield forbidden_field(f"{path}.conversionReviewVersions", why)
        return
    if client is None:
        yield required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    elif (client.get("url") is None) == (client.get("service") is None):
        yield required(f"{path}.webhookClientConfig", "exactly one of url or service is required")
    if not versions:
        yield required(f"{path}.conversionReviewVersions")
    for at, name in enumerate(versions):
        if name in versions[:at]:
            yield invalid_at(f"{path}.conversionReviewVersions[{at}]", name, "duplicate version")
    if versions and not set(versions) & set(REVIEW_VERSIONS):
        known = ", ".join(sorted(REVIEW_VERSIONS))
        yield invalid_at(f"{path}.conversionReviewVersions", versions, f"must include at least one of {known}")


def faults_of_change(old: Json, new: Json) -> Iterator[Cause]:
    """The forbidden changes, whether the new definition is valid or not."""
    before, after = old["spec"], new["spec"]
    fixed = {f"spec.{name}": (before[name], after[name]) for name in ("group", "scope")}
    fixed |= {f"spec.names.{name}": (before["names"][name], after["names"][name]) for name in ("plural", "kind")}
    for path, (was, now) in fixed.items():
        if was != now:
            yield invalid_at(path, now, "field is immutable")
    known = {version.get("name") for version in after["versions"]}
    for at, stored in enumerate((new.get("status") or {}).get("storedVersions") or ()):
        if stored not in known:
            yield invalid_at(f"status.storedVersions[{at}]", stored, "must appear in spec.versions")


def _version(version: Json, path: str) -> Iterator[Cause]:
    schema, warning = schema_of(version), version.get("deprecationWarning")
    yield from faults_of_schema(schema, f"{path}.schema.openAPIV3Schema")
    if warning and not version.get("deprecated"):
        yield invalid_at(f"{path}.deprecationWarning", warning, "can only be set for deprecated versions")
    for at, selectable in enumerate(version.get("selectableFields") or ()):
        field = schema
        for name in _names_at(selectable):
            field = (field.get("properties") or {}).get(name) or {}
        if field.get("type") not in ("boolean", "integer", "string"):
            why = "must point to a field of type boolean, integer, string"
            yield invalid_at(f"{path}.selectableFields[{at}].jsonPath", selectable["jsonPath"], why)


def _names_at(selectable: Json) -> tuple[str, ...]:
    return names_of(parse_path(selectable["jsonPath"])) or ()


# --- resources ------------------------------------------------------------------------------------------------------


def resources_of(spec: Json) -> tuple[ServedResource, ...]:
    """The served resources that a definition makes, in the order in which clients should prefer them."""
    served = [version for version in spec["versions"] if version.get("served")]
    return tuple(_resource(spec, version) for version in sorted(served, key=lambda one: priority(one["name"])))


def priority(version: str) -> tuple[int, int, int, str]:
    """Stable before beta before alpha, higher numbers first, other names last."""
    match = _KUBE_VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (stage, -int(match[1]), -int(match[3] or 0), version)


def _resource(spec: Json, version: Json) -> ServedResource:
    group, names, name = spec["group"], spec["names"], version["name"]
    parts: Json = version.get("subresources") or {}
    subresources = {}
    if parts.get("status") is not None:
        subresources["status"] = SubResource(names["kind"], CHANGE, group, name)
    if parts.get("scale") is not None:
        subresources["scale"] = SubResource("Scale", CHANGE, "autoscaling")
    warning = version.get("deprecationWarning") or f"{group}/{name} {names['kind']} is deprecated"
    return ServedResource(
        group,
        name,
        names["plural"],
        names["singular"],
        names["kind"],
        spec["scope"] == "Namespaced",
        tuple(names.get("shortNames") or ()),
        tuple(names.get("categories") or ()),
        subresources=subresources,
        storage=f"{names['plural']}.{group}",
        stores=bool(version.get("storage")),
        list_kind=names["listKind"],
        blind_update=False,
        generation=("*",),
        selectable=tuple(".".join(_names_at(field)) for field in version.get("selectableFields") or ()),
        described=KindSchema(
            schema=schema_of(version),
            columns=tuple(version.get("additionalPrinterColumns") or ()),
            scale=parts.get("scale"),
            warning=warning if version.get("deprecated") else "",
        ),
    )
