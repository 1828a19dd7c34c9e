"""The requests that are recorded, made from the smallest object of each resource (`seeds.yaml`). Pure.

A life goes through all verbs of one object. Fields are tried one by one: a usual value when it is created and when it
changes, a wrong value when it is created. Those are dry runs, so no try depends on another one.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import yaml

from tools.recordings.player import Request, Script
from tools.recordings.schema_values import Path as FieldPath
from tools.recordings.schema_values import Schema, Schemas

Json: TypeAlias = Any

SEEDS = Path(__file__).with_name("seeds.yaml")
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
SYSTEM = frozenset({"apiVersion", "kind", "metadata", "status"})
ELSEWHERE = frozenset({"template", "podTemplate", "jobTemplate"})
"""Fields that hold another kind, which is tried on its own."""
DEEPEST: Mapping[str, int] = {
    "v1/pods": 4,
    "v1/persistentvolumes": 3,
    "apiextensions.k8s.io/v1/customresourcedefinitions": 4,
}
USUAL_DEPTH = 3
NOBODY = "00000000-0000-4000-a000-000000000000"
DRY = {"dryRun": "All"}


class Resource(msgspec.Struct, frozen=True):
    """One resource as discovery names it. `parts`: its subresources."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: frozenset[str]
    parts: frozenset[str]

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.group, self.version, self.plural)))

    @property
    def api_version(self) -> str:
        return "/".join(filter(None, (self.group, self.version)))

    def collection(self, namespace: str) -> str:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if self.namespaced else f"{root}/{self.plural}"


def seeds(certificate_request: str) -> dict[str, Json]:
    """The smallest objects by resource. `certificate_request`: PEM in base64, which must be a real one."""
    text = SEEDS.read_text(encoding="utf-8").replace("REQUEST", certificate_request)
    return {name: seed or {} for name, seed in yaml.safe_load(text).items()}


def scripts_of(resource: Resource, seed: Json, schemas: Schemas) -> Iterator[Script]:
    """All scripts of one resource."""
    yield _life(resource, seed)
    yield _names(resource, seed)
    yield from _fields(resource, seed, schemas)


class _Stage:
    """A namespace of its own, and the objects in it."""

    def __init__(self, resource: Resource, seed: Json, what: str) -> None:
        words = f"{resource.group}-{resource.plural}-{what}".replace(".", "-").strip("-")
        self.namespace = words[:60].strip("-")
        self.resource = resource
        self.path = resource.collection(self.namespace)
        self._seed = seed
        self.prelude = (
            Request("POST", "/api/v1/namespaces", body={"metadata": {"name": self.namespace}}),
            Request(
                "POST",
                f"/api/v1/namespaces/{self.namespace}/serviceaccounts",
                body={"metadata": {"name": "default"}},
            ),
        )
        self.requests: list[Request] = []

    def object(self, name: str) -> Json:
        """The smallest object of that name."""
        text = json.dumps(self._seed).replace("NAMESPACE", self.namespace).replace("NAME", name.replace("-", ""))
        value = json.loads(text)
        full = value.pop("$name", name)
        meta = {"name": full} | ({"namespace": self.namespace} if self.resource.namespaced else {})
        return {"apiVersion": self.resource.api_version, "kind": self.resource.kind, "metadata": meta, **value}

    def at(self, name: str) -> str:
        return f"{self.path}/{self.object(name)['metadata']['name']}"

    def add(self, method: str, path: str, body: Json = None, **more: Any) -> int:
        """Add a request; returns its number, for references to its answer."""
        self.requests.append(Request(method, path, body=body, **more))
        return len(self.prelude) + len(self.requests) - 1

    def script(self, what: str) -> Script:
        name = f"{self.resource.name} {what}"
        return Script(name, len(self.prelude), (*self.prelude, *self.requests))


def _life(resource: Resource, seed: Json) -> Script:
    stage = _Stage(resource, seed, "life")
    add, name = stage.add, f"{resource.plural[:20]}-life"
    one, at = stage.object(name), stage.at(name)
    full = one["metadata"]["name"]
    labelled = copy.deepcopy(one)
    labelled["metadata"]["labels"] = {"a": "one"}
    first = add("POST", stage.path, one)
    add("POST", stage.path, one)
    got = add("GET", at)
    add("GET", at, accept=TABLE)
    add("GET", at, accept=METADATA)
    by_name = {"fieldSelector": f"metadata.name={full}"}
    add("GET", stage.path, query=by_name)
    add("GET", stage.path, query={"labelSelector": "a=nobody"})
    add("GET", stage.path, query={"fieldSelector": "metadata.odd=1"})
    add("PUT", at, one)
    add("PUT", at, {"$answer": got})
    add("PUT", at, {"$answer": got, "$set": {"metadata.resourceVersion": "1"}})
    add("PUT", at, {"$answer": got, "$set": {"metadata.uid": NOBODY}})
    changed = add("PUT", at, {"$answer": got, "$set": {"metadata.labels": {"a": "one"}}})
    add("PUT", at, {"$answer": got, "$set": {"metadata.labels": {"a": "two"}}})
    add(
        "PUT",
        at,
        {"$answer": changed, "$set": {"metadata.finalizers": ["Not Valid/"]}, "$drop": ["metadata.resourceVersion"]},
    )
    for kind in (MERGE, STRATEGIC):
        add("PATCH", at, {"metadata": {"annotations": {"a": kind}}}, type=kind)
        add("PATCH", at, {"metadata": {"annotations": {"a": kind}}}, type=kind)
        add("PATCH", at, {"metadata": {"annotations": {"a": None}}}, type=kind)
        add("PATCH", at, {"metadata": {"name": "other"}}, type=kind)
        add("PATCH", at, {"metadata": {"uid": NOBODY}}, type=kind)
        add("PATCH", at, {"metadata": {"resourceVersion": "1"}}, type=kind)
        add("PATCH", at, {"metadata": {"labels": {"Not Valid/": "one"}}}, type=kind)
        add("PATCH", at, {"odd": 1}, type=kind, query={"fieldValidation": "Strict"})
        add("PATCH", at, [], type=kind)
    add("PATCH", at, [{"op": "test", "path": "/metadata/labels/a", "value": "two"}], type=JSON_PATCH)
    add("PATCH", at, [{"op": "add", "path": "/metadata/labels/b", "value": "two"}], type=JSON_PATCH)
    add("PATCH", at, [{"op": "remove", "path": "/metadata/labels/none"}], type=JSON_PATCH)
    add("PATCH", at, [{"op": "odd", "path": "/metadata/labels/none"}], type=JSON_PATCH)
    add("PATCH", at, {"metadata": {}}, type="application/odd+json")
    mine = {"fieldManager": "mine"}
    add("PATCH", at, labelled, type=APPLY)
    add("PATCH", at, labelled, type=APPLY, query=mine)
    add("PATCH", at, labelled, type=APPLY, query=mine | {"force": "true"})
    add("PATCH", at, labelled, type=APPLY, query=mine)
    other = copy.deepcopy(labelled)
    other["metadata"]["labels"]["a"] = "other"
    add("PATCH", at, other, type=APPLY, query={"fieldManager": "other"})
    add("PATCH", at, other, type=APPLY, query={"fieldManager": "other", "force": "true"})
    add("PATCH", at, one, type=APPLY, query=mine)
    add("PATCH", at, {"metadata": {"labels": {"c": "three"}}}, type=MERGE, query=mine | {"force": "true"})
    add("PATCH", at, labelled | {"metadata": {"name": "odd"}}, type=APPLY, query=mine)
    add("GET", at)
    for part in sorted(resource.parts & {"status", "scale"}):
        read = add("GET", f"{at}/{part}")
        add("PUT", f"{at}/{part}", {"$answer": read})
        add("PUT", f"{at}/{part}", {"$answer": read, "$set": {"metadata.labels": {"part": "new"}}})
        add("PATCH", f"{at}/{part}", {"metadata": {"annotations": {"part": "new"}}}, type=MERGE)
        bare = {"apiVersion": one["apiVersion"], "kind": one["kind"], "metadata": {"name": full}, "status": {}}
        add("PATCH", f"{at}/{part}", bare, type=APPLY, query={"fieldManager": "part"})
        add("GET", at)
    add("DELETE", at, {"preconditions": {"uid": NOBODY}})
    add("DELETE", at, {"preconditions": {"resourceVersion": "1"}})
    add("DELETE", at, {"propagationPolicy": "Odd"})
    add("DELETE", at, query=DRY)
    add("PATCH", at, {"metadata": {"finalizers": ["example.com/held"]}}, type=MERGE)
    add("DELETE", at, {"gracePeriodSeconds": 0})
    add("GET", at)
    add("PATCH", at, {"metadata": {"finalizers": ["example.com/held", "example.com/more"]}}, type=MERGE)
    add("PATCH", at, {"metadata": {"finalizers": None}}, type=MERGE)
    add("GET", at)
    add("DELETE", at)
    add("PUT", at, one)
    add("PUT", at, {"$answer": first})
    add("PATCH", at, {"metadata": {"labels": {"a": "one"}}}, type=MERGE)
    add(
        "PATCH",
        at,
        {"metadata": {"uid": NOBODY}} | {"apiVersion": one["apiVersion"], "kind": one["kind"]},
        type=APPLY,
        query=mine,
    )
    add("PATCH", at, labelled, type=APPLY, query=mine)
    picked = {"labelSelector": "a=one", **by_name}
    add("DELETE", stage.path, {"preconditions": {"uid": NOBODY}}, query=picked)
    add("DELETE", stage.path, {"gracePeriodSeconds": 0}, query=picked)
    add("GET", stage.path, query=by_name)
    return stage.script("life")


def _names(resource: Resource, seed: Json) -> Script:
    stage = _Stage(resource, seed, "names")
    name = f"{resource.plural[:20]}-names"
    one = stage.object(name)

    def tried(change: Json, **query: str) -> None:
        value = copy.deepcopy(one)
        for path, new in change.items():
            *way, last = path.split(".")
            holder = value
            for step in way:
                holder = holder.setdefault(step, {})
            if new is None:
                holder.pop(last, None)
            else:
                holder[last] = new
        stage.add("POST", stage.path, value, query=DRY | query)

    for wrong in ("Not Valid/", "x" * 254, "..", "a.b", "a:b", "1a"):
        tried({"metadata.name": wrong})
    tried({"metadata.name": None})
    tried({"metadata.name": None, "metadata.generateName": "-drawn-"})
    tried({"metadata.name": None, "metadata.generateName": "a-drawn-"})
    tried({"metadata.namespace": "elsewhere"})
    tried({"metadata.uid": NOBODY, "metadata.resourceVersion": "1"})
    tried(
        {
            "metadata.creationTimestamp": None,
            "metadata.generation": 7,
            "metadata.deletionTimestamp": "2026-01-02T03:04:05Z",
        }
    )
    tried({"metadata.labels": {"Not Valid/": "one"}})
    tried({"metadata.labels": {"a": "Not Valid/"}})
    tried({"metadata.labels": {"a": 1}})
    tried({"metadata.annotations": {"Not Valid/": "one"}})
    tried({"metadata.finalizers": ["one"]})
    tried({"metadata.ownerReferences": [{"kind": "ConfigMap", "name": "one"}]})
    tried({"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": NOBODY}]})
    tried({"metadata.managedFields": [{"manager": "me"}]})
    tried({"kind": "Odd"})
    tried({"kind": None})
    tried({"apiVersion": "odd/v1"})
    tried({"apiVersion": None, "kind": None})
    tried({"odd": 1, "metadata.odd": 2}, fieldValidation="Strict")
    tried({"odd": 1, "metadata.odd": 2}, fieldValidation="Warn")
    tried({"odd": 1, "metadata.odd": 2}, fieldValidation="Odd")
    tried({"status": {"odd": 1}}, fieldValidation="Warn")
    tried({}, dryRun="Odd")
    stage.add("GET", f"{stage.path}/none")
    stage.add("DELETE", f"{stage.path}/none")
    stage.add("POST", f"{stage.path}/none", one)
    stage.add("POST", stage.path, [])
    stage.add("POST", stage.path, one, type="application/odd")
    return stage.script("names")


def _fields(resource: Resource, seed: Json, schemas: Schemas) -> Iterator[Script]:
    schema = schemas.of_kind(resource.group, resource.version, resource.kind)
    created, changed = _Stage(resource, seed, "fields"), _Stage(resource, seed, "changes")
    name = f"{resource.plural[:20]}-fields"
    one, at = created.object(name), changed.at(name)
    stored = changed.object(name)
    changed.add("POST", changed.path, stored)
    wrong_types: set[str] = set()
    for path, inner in schemas.paths(schema, DEEPEST.get(resource.name, USUAL_DEPTH), SYSTEM | ELSEWHERE):
        usual, other, wrong = schemas.values(inner)
        for value in _tried(schemas, inner, path, usual, other, wrong, wrong_types):
            created.add("POST", created.path, schemas.with_value(schema, one, path, value), query=DRY)
        changed.add("PUT", at, schemas.with_value(schema, stored, path, other), query=DRY)
    yield created.script("fields")
    yield changed.script("changes")


def _tried(
    schemas: Schemas, inner: Schema, path: FieldPath, usual: Json, other: Json, wrong: Json, wrong_types: set[str]
) -> list[Json]:
    """The values of one field to create an object with; a value of another type only once for each type."""
    kind = str(schemas.resolved(inner).get("type", "object"))
    values = [usual]
    if kind in ("string", "integer", "number", "array") or "enum" in schemas.resolved(inner):
        values.append(wrong)
        if kind == "string" and other != usual:
            values.append("")
    elif kind not in wrong_types:
        wrong_types.add(kind)
        values.append(wrong)
    if kind == "object" and len(path) <= 2:
        values.append({})
    return [each for place, each in enumerate(values) if each not in values[:place]]
