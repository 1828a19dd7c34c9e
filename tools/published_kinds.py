"""Writes the data of `simulation/apiserver/schemas`: `python -m tools.published_kinds OPENAPI PROTOS`.

OPENAPI has the OpenAPI documents (version 3) that Kubernetes publishes for 1.36: one file for each group and version,
as in `api/openapi-spec/v3` of a release. PROTOS is the folder of that release with `k8s.io/api` in it, such as
`staging/src`, whose `generated.proto` say how the same types look in protobuf.

Taken are the facts of the interface: names, types and numbers of fields, which are required, allowed values, defaults,
and how lists are merged. The prose stays behind. Types are written one a line. `published.json` has those that the
kinds under `published` in `kinds/table.yaml` are made of; `messages.json` has those of all kinds there that have a
message. A field of a message that JSON does not name (`+`) has its own fields in its place.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1] / "simulation/apiserver"
RESOURCES, SCHEMAS = ROOT / "kinds/table.yaml", ROOT / "schemas/published.json"
MESSAGES, KINDS = ROOT / "schemas/messages.json", ROOT / "schemas/message_kinds.json"
IDENTITY = "x-kubernetes-group-version-kind"
REFERENCE = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
KEPT = (
    *("type", "format", "enum", "required", "$ref", "default"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"),
    *("x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"),
)
SCALE = ("autoscaling", "v1", "Scale")
ENVELOPES = (f"{META}DeleteOptions", "io.k8s.apimachinery.pkg.runtime.Unknown")
IN_TEXTS = tuple(
    f"io.k8s.api.autoscaling.v1.{name}" for name in ("HorizontalPodAutoscalerCondition", "MetricSpec", "MetricStatus")
)
"""Types that no kind is made of: annotations hold them."""
ELSEWHERE = (f"{META}ObjectMeta", "io.k8s.apimachinery.pkg.api.resource.Quantity")
INT_OR_TEXT = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
"""Described by the server itself, as `ELSEWHERE` is."""

Json = Mapping[str, Any]


FIELD = re.compile(r"\s+(optional|repeated|map<string, )\s?([\w.]+)>? (\w+) = (\d+);")


def main(directory: Path, protos: Path) -> None:
    """Read the documents and the protos, and write the files."""
    published: dict[str, Json] = {}
    for file in sorted(directory.glob("*.json")):
        published |= json.loads(file.read_text()).get("components", {}).get("schemas", {})
    resources = yaml.safe_load(RESOURCES.read_text())
    wanted = set(kinds_of(resources["published"]))
    kinds = {name: kind for name, schema in published.items() if (kind := kind_of(schema)) in wanted}
    missing = wanted - set(kinds.values())
    if missing:
        raise SystemExit(f"no document in {directory} describes {sorted(missing)}")
    written: dict[str, Json] = {}
    for name in kinds:
        gather(name, published, written)
    for name, kind in kinds.items():
        written[name] = {**written[name], IDENTITY: [dict(zip(("group", "version", "kind"), kind, strict=True))]}
    write(SCHEMAS, written)
    messages = read_messages(protos, published)
    served = wanted | set(kinds_of(resources["resources"])) | {SCALE}
    bodies = {kind: name for name, schema in published.items() if (kind := kind_of(schema)) in served}
    wanted_messages: dict[str, Json] = {}
    for name in (*bodies.values(), *ENVELOPES, *IN_TEXTS):
        gather_messages(name, messages, wanted_messages)
    known = {api_kind(*kind): name for kind, name in sorted(bodies.items()) if name in wanted_messages}
    write(MESSAGES, wanted_messages)
    write(KINDS, known)


def kinds_of(entries: list[Json]) -> Iterator[tuple[str, str, str]]:
    """Group, version and kind of each resource, and of its subresources."""
    for entry in entries:
        version = entry.get("version", "v1")
        yield entry.get("group", ""), version, entry["kind"]
        for below in (entry.get("subresources") or {}).values():
            yield below.get("group", entry.get("group", "")), version, below["kind"]


def api_kind(group: str, version: str, kind: str) -> str:
    """`apps/v1/Deployment`, `v1/Pod`."""
    return f"{group}/{version}/{kind}" if group else f"{version}/{kind}"


def write(file: Path, types: Mapping[str, Any]) -> None:
    """One type a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(types[name])}" for name in sorted(types)]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def kind_of(schema: Json) -> tuple[str, str, str] | None:
    """Group, version and kind of a schema; None for one of no kind, or of several."""
    found = [(one["group"], one["version"], one["kind"]) for one in schema.get(IDENTITY) or ()]
    return found[0] if len(found) == 1 else None


def read_messages(protos: Path, published: Mapping[str, Json]) -> dict[str, dict[str, tuple[int, str]]]:
    """Message -> field -> its number and type.

    `[]T` is a list, `{}T` a map, `+T` a type that JSON lacks.
    """
    messages: dict[str, dict[str, tuple[int, str]]] = {}
    for file in sorted((protos / "k8s.io").glob("**/generated.proto")):
        package, name = "", ""
        for line in file.read_text().splitlines():
            if line.startswith("package "):
                package = json_name(line.split()[1].rstrip(";"))
            elif line.startswith("message "):
                name = f"{package}.{line.split()[1]}"
                messages[name] = {}
            elif match := FIELD.fullmatch(line):
                label, kind, field, number = match.groups()
                kind = (
                    kind
                    if kind.islower() and "." not in kind
                    else json_name(kind if "." in kind else f"{package}.{kind}")
                )
                known: Json | None = published.get(name, {}).get("properties")
                # Some fields of protobuf are spelled otherwise: `Webhooks`, `ref`, `xKubernetesListType`.
                field = next((one for one in known or () if spelled(one) == spelled(field)), field)
                mark = {"repeated": "[]", "optional": ""}.get(label, "{}")
                if known is not None and field not in known and "." in kind and not mark:
                    mark = "+"
                messages[name][field] = (int(number), mark + kind)
    return messages


def spelled(field: str) -> str:
    """The letters of a name alone."""
    return re.sub("[^a-z0-9]", "", field.lower())


def json_name(name: str) -> str:
    """The name of a type, or of a package, as OpenAPI writes it."""
    name = re.sub(r"^\.?k8s\.io\.", "io.k8s.", name)
    return re.sub("^io.k8s.(apiextensions|kube)_", r"io.k8s.\1-", name)


def gather_messages(name: str, messages: Mapping[str, Mapping[str, tuple[int, str]]], written: dict[str, Json]) -> None:
    """Write the message of that name, and all that it is made of."""
    if name in written or name not in messages:
        return
    written[name] = messages[name]
    for _, kind in messages[name].values():
        gather_messages(kind.lstrip("[]{}+"), messages, written)


def gather(name: str, published: Mapping[str, Json], written: dict[str, Json]) -> None:
    """Write the type of that name, and all that it is made of."""
    if name in written or name in ELSEWHERE or name == INT_OR_TEXT:
        return
    written[name] = reduced(published[name])
    for below in references(written[name]):
        gather(below, published, written)


def reduced(schema: Json) -> Json:
    """The schema without its prose, and without defaults that are only the zero of their type."""
    whole = dict(schema)
    for part in whole.get("allOf") or ():
        whole |= part
    found = {key: whole[key] for key in KEPT if key in whole}
    if not found.get("default"):
        found.pop("default", None)
    if whole.get("properties"):
        found["properties"] = {name: reduced(below) for name, below in whole["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(whole.get(key), Mapping):
            found[key] = reduced(whole[key])
    return found


def references(value: Any) -> Iterator[str]:
    """The names of the types that a schema refers to."""
    if isinstance(value, Mapping):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].removeprefix(REFERENCE)
        for below in value.values():
            yield from references(below)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
