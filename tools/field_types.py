"""Writes `simulation/apiserver/fields/types.json`: `python -m tools.field_types OPENAPI KUBERNETES`.

OPENAPI has the OpenAPI documents (version 3) that Kubernetes publishes, as for `tools.published_kinds`. KUBERNETES has
its sources, which say what Go leaves out. Taken is how the fields of each served kind are owned: which are one value,
which have items with owners of their own, and by which keys. `simulation/apiserver/fields/published.py` says how a
field is written there. Types are written one a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.go_sources import left_out_fields, written_lists
from tools.published_kinds import REFERENCE, RESOURCES, ROOT, SCALE, api_kind, kind_of, kinds_of

TYPES = ROOT / "fields/types.json"
ONE_VALUE = (
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
)
"""Types that the server reads otherwise than the document says (`schemaconv` in kube-openapi)."""

NULL_TIMES = {"core.v1.PodCondition": ("lastProbeTime", "lastTransitionTime")}
"""Times that Go writes as null: they are no pointers, which the document does not say."""

Json = Mapping[str, Any]


def main(directory: Path, kubernetes: Path) -> None:
    """Read the documents and the sources, and write the file."""
    published: dict[str, Json] = {}
    for file in sorted(directory.glob("*.json")):
        published |= json.loads(file.read_text()).get("components", {}).get("schemas", {})
    table = yaml.safe_load(RESOURCES.read_text())
    served = {*kinds_of([*table["resources"], *table["published"]]), SCALE}
    kinds = {api_kind(*kind): name for name, schema in published.items() if (kind := kind_of(schema)) in served}
    written: dict[str, dict[str, str]] = {}
    waiting = list(kinds.values())
    while waiting:
        name = waiting.pop()
        if name not in written:
            written[name] = dict(fields_of(published[name], published))
            waiting += [below for text in written[name].values() if (below := reference_in(text))]
    types = {short(name): written[name] for name in sorted(written, key=short)}
    for name, times in NULL_TIMES.items():
        types[name] |= dict.fromkeys(times, "=null")
    mark_left_out(types, left_out_fields(kubernetes))
    mark_written(types, written_lists(kubernetes))
    lines = [f"{json.dumps(name)}: {json.dumps(fields)}" for name, fields in types.items()]
    known = json.dumps({kind: short(name) for kind, name in sorted(kinds.items())})
    TYPES.write_text('{"kinds": ' + known + ',\n"types": {\n' + ",\n".join(lines) + "\n}}\n")


def mark_left_out(types: dict[str, dict[str, str]], left_out: Mapping[str, set[str]]) -> None:
    """Say of the values that have one owner which of them are not there if they are zero."""
    for name, fields in types.items():
        marked = left_out.get(name, set())
        fields |= {field: "-" for field, text in fields.items() if text == "" and field in marked}


def mark_written(types: dict[str, dict[str, str]], written: Mapping[str, set[str]]) -> None:
    """Say of lists and maps which of them are there though nobody sets them."""
    for name, fields in types.items():
        marked = written.get(name, set())
        fields |= {field: f"+{text}" for field, text in fields.items() if text[:1] in ("[", "{") and field in marked}


def fields_of(schema: Json, published: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The fields of a type, each with its text."""
    for name, field in sorted(schema.get("properties", {}).items()):
        text = text_of(field, published)
        if text == "" and "default" in field:
            text = f"={json.dumps(field['default'])}"
        is_there = field.get("default") == {}
        if field.get("type") == "array" and text == "":
            text = "[]"
        if text.startswith(("[", "{")):
            is_there = False  # The sources say so.
        yield name, short(f"+{text}" if is_there and text[:1] not in ("", "=") else text)


def text_of(field: Json, published: Mapping[str, Json]) -> str:
    """How a field is owned; see `simulation/apiserver/fields/published.py`."""
    parts = [field, *(field.get("allOf") or ())]
    name = next((part["$ref"].removeprefix(REFERENCE) for part in parts if "$ref" in part), "")
    if field.get("x-kubernetes-map-type") == "atomic":
        return "" if name else "{!}"
    if name and field.get("x-kubernetes-map-type") == "granular" and published[name].get("properties"):
        return name  # Whatever its type says.
    if name:
        return _text_of_type(name, published)
    kind = field.get("type", "")
    if kind == "array":
        return _text_of_list(field, published)
    if kind == "object":
        below = field.get("additionalProperties")
        return "{}" + text_of(below, published) if isinstance(below, Mapping) else "?"
    return "" if kind else "?"


def _text_of_type(name: str, published: Mapping[str, Json]) -> str:
    schema = published[name]
    if name in ONE_VALUE or schema.get("x-kubernetes-map-type") == "atomic":
        return ""
    if schema.get("properties"):
        return name
    # A type without fields, which holds anything, or one value.
    return "" if schema.get("type", "object") != "object" or schema.get("oneOf") else "?"


def _text_of_list(field: Json, published: Mapping[str, Json]) -> str:
    kind, strategy = field.get("x-kubernetes-list-type"), field.get("x-kubernetes-patch-strategy", "")
    if kind == "map":
        keys = field["x-kubernetes-list-map-keys"]
    elif kind is None and "merge" in strategy.split(","):
        keys = [field["x-kubernetes-patch-merge-key"]] if "x-kubernetes-patch-merge-key" in field else []
    elif kind == "set":
        keys = []
    else:
        return ""
    return f"[{','.join(sorted(keys)) or '='}]" + text_of(field["items"], published)


def reference_in(text: str) -> str:
    """The name of the type in a text; empty for none."""
    name = text.lstrip("+")
    while name.startswith(("[", "{")):
        name = name.partition("]" if name[0] == "[" else "}")[2]
    return "" if name[:1] in ("", "=", "?", "-") else whole(name)


def short(text: str) -> str:
    """A text without what the names of most types begin with."""
    return text.replace("io.k8s.api.", "").replace("io.k8s.apimachinery.pkg.apis.", "")


def whole(name: str) -> str:
    """The name that `short` makes short."""
    if name.startswith("io.k8s."):
        return name
    return f"io.k8s.apimachinery.pkg.apis.{name}" if name.startswith("meta.") else f"io.k8s.api.{name}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
