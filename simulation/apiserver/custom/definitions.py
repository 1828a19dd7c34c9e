"""What a CustomResourceDefinition must be like, what it gets where it says nothing, and what may change in it.

Owns the refusals in the words of Kubernetes. Conversion by webhook is refused where there is something to convert,
since nothing here calls one. Pure; definitions are JSON whose fields have their types already, and nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from config.values.name_rules import dns_subdomain
from simulation.apiserver.custom.json_paths import names_of, parse_path
from simulation.apiserver.custom.structural import faults_of_schema
from simulation.apiserver.custom.validation import shown
from simulation.apiserver.status import Json, required

Cause = tuple[str, str, str]

APPROVED = "api-approved.kubernetes.io"
COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
COLUMN_FORMATS = ("binary", "bool", "byte", "date", "date-time", "double", "float", "int32", "int64", "password")
SELECTABLE_TYPES = ("boolean", "integer", "string")
SELECTABLE_AT_MOST = 8
_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_LABEL_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_IMMUTABLE = "field is immutable"


def with_defaults(spec: Json) -> Json:
    """The spec with the names that follow from others, and with the conversion that converts nothing.

    A field that is null is one that is not there.
    """
    spec = _said(spec)
    names: Json = spec.get("names") or {}
    kind = names.get("kind", "")
    full = {**names}
    full["singular"] = names.get("singular") or kind.lower()
    full["listKind"] = names.get("listKind") or (f"{kind}List" if kind else "")
    conversion = spec.get("conversion") or {"strategy": "None"}
    kept = {name: part for name, part in spec.items() if name != "preserveUnknownFields" or part}
    return {**kept, "names": full, "conversion": conversion}


def _said(value: Any) -> Any:
    """What is not null, at any depth; values that a schema speaks of are left as they are."""
    if isinstance(value, list):
        return [_said(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: item if name in _VALUES else _said(item) for name, item in value.items() if item is not None}


_VALUES = ("default", "enum", "example")


def versions_of(spec: Json) -> list[Json]:
    """The versions, as they stand."""
    return list(spec.get("versions") or ())


def schema_of(version: Json) -> Any:
    """The schema of one version; None without one."""
    return (version.get("schema") or {}).get("openAPIV3Schema")


def storage_version(spec: Json) -> str:
    """The version in which objects are stored."""
    return next((str(version["name"]) for version in versions_of(spec) if version.get("storage")), "")


def faults_of(definition: Json) -> list[Cause]:
    """What is wrong with a definition that has its defaults."""
    spec, metadata = definition["spec"], definition["metadata"]
    return [*_name(metadata["name"], spec), *_group(spec, metadata), *_scope(spec), *_names(spec), *_versions(spec)]


def faults_of_change(old: Json, new: Json) -> list[Cause]:
    """What may not change, be the new one good or not."""
    before, after = old["spec"], new["spec"]
    fixed = [("group",), ("names", "plural")]
    if is_true(old, "Established"):
        fixed += [("scope",), ("names", "kind")]
    causes = []
    for path in fixed:
        was, will_be = _at(before, path), _at(after, path)
        if was != will_be:
            causes.append(_bad(f"spec.{'.'.join(path)}", will_be, _IMMUTABLE))
    known = {version.get("name") for version in versions_of(after)}
    for at, stored in enumerate((new.get("status") or {}).get("storedVersions") or ()):
        if stored not in known:
            causes.append(_bad(f"status.storedVersions[{at}]", stored, "must appear in spec.versions"))
    return causes


def is_true(definition: Json, condition: str) -> bool:
    """Whether the status says so."""
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == condition and each.get("status") == "True" for each in conditions)


def _at(spec: Json, path: tuple[str, ...]) -> Any:
    found: Any = spec
    for step in path:
        found = (found or {}).get(step)
    return found


# --- names ----------------------------------------------------------------------------------------------------------


def _name(name: str, spec: Json) -> Iterator[Cause]:
    if name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield _bad("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _group(spec: Json, metadata: Json) -> Iterator[Cause]:
    group = spec.get("group", "")
    refusal = dns_subdomain(group)
    if not group:
        yield required("spec.group")
    elif refusal is not None:
        yield _bad("spec.group", group, " ".join(refusal))
    elif "." not in group:
        yield _bad("spec.group", group, "should be a domain with at least one dot")
    elif group.endswith((".k8s.io", ".kubernetes.io")) and APPROVED not in (metadata.get("annotations") or {}):
        why = f'protected groups must have approval annotation "{APPROVED}"'
        yield required(f"metadata.annotations[{APPROVED}]", why)


def _scope(spec: Json) -> Iterator[Cause]:
    scope = spec.get("scope", "")
    if not scope:
        yield required("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        yield _not_supported("spec.scope", scope, ("Cluster", "Namespaced"))


def _names(spec: Json) -> Iterator[Cause]:
    names: Json = spec["names"]
    for field in ("plural", "singular", "kind", "listKind"):
        text = names.get(field, "")
        if not text:
            yield required(f"spec.names.{field}")
        elif field in ("plural", "singular"):
            yield from _label(f"spec.names.{field}", text)
        elif _LABEL.fullmatch(text.lower()) is None:
            why = f"may have mixed case, but should otherwise match: {_LABEL_WORDS}"
            yield _bad(f"spec.names.{field}", text, why)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield _bad("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    for field in ("shortNames", "categories"):
        for at, text in enumerate(names.get(field) or ()):
            yield from _label(f"spec.names.{field}[{at}]", text)


def _label(path: str, text: str) -> Iterator[Cause]:
    if _LABEL.fullmatch(text) is None:
        yield _bad(path, text, _LABEL_WORDS)


# --- versions -------------------------------------------------------------------------------------------------------


def _versions(spec: Json) -> Iterator[Cause]:
    versions = versions_of(spec)
    if not versions:
        yield required("spec.versions", "must have at least one version")
    names = [version.get("name", "") for version in versions]
    if len(set(names)) != len(names):
        yield _bad("spec.versions", names, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        yield _bad("spec.versions", names, "must have exactly one version marked as storage version")
    if spec.get("preserveUnknownFields"):
        why = "must be false; set x-kubernetes-preserve-unknown-fields to true in the schema instead"
        yield _bad("spec.preserveUnknownFields", True, why)
    for at, version in enumerate(versions):
        yield from _version(version, f"spec.versions[{at}]")
    yield from _conversion(spec)


def _version(version: Json, path: str) -> Iterator[Cause]:
    yield from _label(f"{path}.name", version.get("name", ""))
    schema, where = schema_of(version), f"{path}.schema.openAPIV3Schema"
    faults = faults_of_schema(schema, where) if schema is not None else [required(where, "schemas are required")]
    yield from faults
    if version.get("deprecationWarning") and not version.get("deprecated"):
        yield _bad(
            f"{path}.deprecationWarning", version["deprecationWarning"], "can only be set for deprecated versions"
        )
    for at, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column(column, f"{path}.additionalPrinterColumns[{at}]")
    if not faults:
        yield from _selectable(version, f"{path}.selectableFields")
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale(scale, f"{path}.subresources.scale")


def _conversion(spec: Json) -> Iterator[Cause]:
    strategy = spec["conversion"].get("strategy", "")
    if strategy not in ("None", "Webhook"):
        yield _not_supported("spec.conversion.strategy", strategy, ("None", "Webhook"))
    elif strategy == "Webhook" and len(versions_of(spec)) > 1:
        why = "no webhook is called by this simulated server: use None, or define one version alone"
        yield _bad("spec.conversion.strategy", strategy, why)


def _column(column: Json, path: str) -> Iterator[Cause]:
    if not column.get("name"):
        yield required(f"{path}.name")
    kind, form = column.get("type", ""), column.get("format")
    if kind not in COLUMN_TYPES:
        yield (
            _bad(f"{path}.type", kind, f"must be one of {','.join(COLUMN_TYPES)}") if kind else required(f"{path}.type")
        )
    if form and form not in COLUMN_FORMATS:
        yield _bad(f"{path}.format", form, f"must be one of {','.join(COLUMN_FORMATS)}")
    if not column.get("jsonPath"):
        yield required(f"{path}.jsonPath")
    else:
        yield from _path(f"{path}.jsonPath", column["jsonPath"])


def _path(path: str, text: str) -> Iterator[Cause]:
    try:
        steps = parse_path(text)
    except ValueError as error:
        yield _bad(path, text, f"is an invalid path: {error}")
        return
    if not text.startswith(".") or not steps:
        yield _bad(path, text, "must be a simple json path starting with .")


def _selectable(version: Json, path: str) -> Iterator[Cause]:
    fields = version.get("selectableFields") or ()
    if len(fields) > SELECTABLE_AT_MOST:
        yield ("FieldValueTooMany", f"Too many: {len(fields)}: must have at most {SELECTABLE_AT_MOST} items", path)
    for at, field in enumerate(fields):
        text, where = field.get("jsonPath", ""), f"{path}[{at}].jsonPath"
        try:
            names = names_of(parse_path(text))
        except ValueError:
            names = None
        if not names or names[0] in ("metadata", "apiVersion", "kind"):
            yield _bad(where, text, "must be a simple path of field names outside of metadata, such as .spec.color")
            continue
        schema = schema_of(version) or {}
        for name in names:
            schema = (schema.get("properties") or {}).get(name) or {}
        if schema.get("type") not in SELECTABLE_TYPES:
            yield _bad(where, text, f"must point to a field of type {', '.join(SELECTABLE_TYPES)}")


_PLACES: Mapping[str, tuple[str, ...]] = {
    "specReplicasPath": (".spec.",),
    "statusReplicasPath": (".status.",),
    "labelSelectorPath": (".spec.", ".status."),
}


def _scale(scale: Json, path: str) -> Iterator[Cause]:
    for field, places in _PLACES.items():
        text = scale.get(field)
        if not text:
            if field != "labelSelectorPath":
                yield required(f"{path}.{field}")
            continue
        above = " or ".join(place.removesuffix(".") for place in places)
        try:
            good = text.startswith(places) and names_of(parse_path(text)) is not None
        except ValueError:
            good = False
        if not good:
            yield _bad(f"{path}.{field}", text, f"should be a json path under {above}")


def _bad(path: str, value: Any, why: str) -> Cause:
    return ("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", path)


def _not_supported(path: str, value: str, choices: tuple[str, ...]) -> Cause:
    listed = ", ".join(shown(each) for each in choices)
    return ("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {listed}", path)
