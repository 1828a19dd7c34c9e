"""What a CustomResourceDefinition must be like, its defaults, what may change in it, and the resources it makes.

Refuses conversion by webhook where there is something to convert, since nothing here calls a webhook. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from config.values.name_rules import dns_subdomain
from simulation.apiserver.custom.json_paths import names_of, parse_path
from simulation.apiserver.custom.structural import faults_of_schema
from simulation.apiserver.custom.validation import shown
from simulation.apiserver.resources import CHANGE, CustomVersion, ServedResource, SubResource
from simulation.apiserver.status import Json, required

Cause = tuple[str, str, str]

APPROVED = "api-approved.kubernetes.io"
_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_LABEL_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_KUBE_VERSION = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_VALUES = ("default", "enum", "example")
_SCALE = {
    "specReplicasPath": (".spec.",),
    "statusReplicasPath": (".status.",),
    "labelSelectorPath": (".spec.", ".status."),
}


def with_defaults(spec: Any) -> Any:
    """The spec without empty fields, with the names that follow from others, and with the conversion None."""
    spec = _said(spec)
    if not isinstance(spec, dict) or not isinstance(spec.get("names", {}), dict):
        return spec
    kind = str(spec.get("names", {}).get("kind", ""))
    derived = {"singular": kind.lower(), "listKind": f"{kind}List"} if kind else {}
    kept = {name: part for name, part in spec.items() if name != "preserveUnknownFields" or part}
    return {"conversion": {"strategy": "None"}, **kept, "names": {**derived, **spec.get("names", {})}}


def _said(value: Any) -> Any:
    """The value without nulls and empty texts at any depth, but for the values that a schema speaks of."""
    if isinstance(value, list):
        return [_said(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: item if name in _VALUES else _said(item) for name, item in value.items() if item not in (None, "")}


def schema_of(version: Json) -> Any:
    """The schema of one version; None without one."""
    return (version.get("schema") or {}).get("openAPIV3Schema")


def storage_version(spec: Json) -> str:
    """The version in which objects are stored."""
    return next((str(version["name"]) for version in spec["versions"] if version.get("storage")), "")


def is_true(definition: Json, condition: str) -> bool:
    """Whether the status has the condition."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == condition and each.get("status") == "True" for each in conditions)


# --- faults ---------------------------------------------------------------------------------------------------------


def faults_of(definition: Json) -> list[Cause]:
    """What is wrong with a definition whose fields have their types."""
    return [*_names(definition), *_versions(definition["spec"])]


def faults_of_change(old: Json, new: Json) -> list[Cause]:
    """What may not change, whether the new definition is good or not."""
    before, after = old["spec"], new["spec"]
    fixed = {f"spec.{name}": (before[name], after[name]) for name in ("group", "scope")}
    fixed |= {f"spec.names.{name}": (before["names"][name], after["names"][name]) for name in ("plural", "kind")}
    causes = [_bad(path, now, "field is immutable") for path, (was, now) in fixed.items() if was != now]
    known = {version.get("name") for version in after["versions"]}
    for at, stored in enumerate((new.get("status") or {}).get("storedVersions") or ()):
        if stored not in known:
            causes.append(_bad(f"status.storedVersions[{at}]", stored, "must appear in spec.versions"))
    return causes


def _names(definition: Json) -> Iterator[Cause]:
    spec, metadata = definition["spec"], definition["metadata"]
    group, names = spec["group"], spec["names"]
    if metadata["name"] != f"{names['plural']}.{group}":
        yield _bad("metadata.name", metadata["name"], 'must be spec.names.plural+"."+spec.group')
    refusal = dns_subdomain(group)
    if refusal is not None:
        yield _bad("spec.group", group, " ".join(refusal))
    elif "." not in group:
        yield _bad("spec.group", group, "should be a domain with at least one dot")
    elif group.endswith((".k8s.io", ".kubernetes.io")) and APPROVED not in (metadata.get("annotations") or {}):
        why = f'protected groups must have approval annotation "{APPROVED}"'
        yield required(f"metadata.annotations[{APPROVED}]", why)
    for field in ("plural", "singular"):
        yield from _label(f"spec.names.{field}", names[field])
    for field in ("kind", "listKind"):
        if _LABEL.fullmatch(names[field].lower()) is None:
            why = f"may have mixed case, but should otherwise match: {_LABEL_WORDS}"
            yield _bad(f"spec.names.{field}", names[field], why)
    if names["kind"] == names["listKind"]:
        yield _bad("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    for field in ("shortNames", "categories"):
        for at, text in enumerate(names.get(field) or ()):
            yield from _label(f"spec.names.{field}[{at}]", text)


def _label(path: str, text: str) -> Iterator[Cause]:
    if _LABEL.fullmatch(text) is None:
        yield _bad(path, text, _LABEL_WORDS)


def _versions(spec: Json) -> Iterator[Cause]:
    versions, strategy = spec["versions"], spec["conversion"]["strategy"]
    names = [version["name"] for version in versions]
    if len(set(names)) != len(names):
        yield _bad("spec.versions", names, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield _bad("spec.versions", names, "must have exactly one version marked as storage version")
    if spec.get("preserveUnknownFields"):
        why = "must be false; set x-kubernetes-preserve-unknown-fields to true in the schema instead"
        yield _bad("spec.preserveUnknownFields", True, why)
    if strategy == "Webhook" and len(versions) > 1:
        why = "no webhook is called by this simulated server: use None, or define one version alone"
        yield _bad("spec.conversion.strategy", strategy, why)
    for at, version in enumerate(versions):
        yield from _version(version, f"spec.versions[{at}]")


def _version(version: Json, path: str) -> Iterator[Cause]:
    yield from _label(f"{path}.name", version["name"])
    schema, where = schema_of(version), f"{path}.schema.openAPIV3Schema"
    faults = faults_of_schema(schema, where) if schema is not None else [required(where, "schemas are required")]
    yield from faults
    if version.get("deprecationWarning") and not version.get("deprecated"):
        yield _bad(
            f"{path}.deprecationWarning", version["deprecationWarning"], "can only be set for deprecated versions"
        )
    for at, column in enumerate(version.get("additionalPrinterColumns") or ()):
        text, place = column["jsonPath"], f"{path}.additionalPrinterColumns[{at}].jsonPath"
        try:
            if not parse_path(text) or not text.startswith("."):
                yield _bad(place, text, "must be a simple json path starting with .")
        except ValueError as error:
            yield _bad(place, text, f"is an invalid path: {error}")
    for at, field in enumerate(version.get("selectableFields") or ()):
        yield from _selectable(
            field["jsonPath"], schema if not faults else {}, f"{path}.selectableFields[{at}].jsonPath"
        )
    for field, text in ((version.get("subresources") or {}).get("scale") or {}).items():
        if not text.startswith(_SCALE[field]) or _names_at(text) is None:
            above = " or ".join(place.removesuffix(".") for place in _SCALE[field])
            yield _bad(f"{path}.subresources.scale.{field}", text, f"should be a json path under {above}")


def _selectable(text: str, schema: Any, path: str) -> Iterator[Cause]:
    names = _names_at(text)
    if not names or names[0] in ("metadata", "apiVersion", "kind"):
        yield _bad(path, text, "must be a simple path of field names outside of metadata, such as .spec.color")
        return
    for name in names:
        schema = (schema.get("properties") or {}).get(name) or {}
    if schema.get("type") not in ("boolean", "integer", "string"):
        yield _bad(path, text, "must point to a field of type boolean, integer, string")


def _names_at(text: str) -> tuple[str, ...] | None:
    try:
        return names_of(parse_path(text))
    except ValueError:
        return None


def _bad(path: str, value: Any, why: str) -> Cause:
    return ("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", path)


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
        subresources["status"] = SubResource(names["kind"], group, name, CHANGE)
    if parts.get("scale") is not None:
        subresources["scale"] = SubResource("Scale", "autoscaling", "v1", CHANGE)
    warning = version.get("deprecationWarning") or f"{group}/{name} {names['kind']} is deprecated"
    selectable = (_names_at(field["jsonPath"]) or () for field in version.get("selectableFields") or ())
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
        list_kind=names["listKind"],
        blind_update=False,
        selectable=tuple(".".join(path) for path in selectable),
        custom=CustomVersion(
            schema=schema_of(version),
            columns=tuple(version.get("additionalPrinterColumns") or ()),
            scale=parts.get("scale"),
            warning=warning if version.get("deprecated") else "",
        ),
    )
