"""Manifests that a test applies: files and folders, as `kubectl apply --server-side -f` does.

Namespaces and definitions of custom resources come before what may need them. All that is wrong is told at once, each
fault with its file and line. Nothing is applied when a file cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from config.documents.text import read_documents
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.answers import JsonAnswer
from simulation.apiserver.requests.bodies import APPLY
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.cluster.orders import OrderError

ENDINGS = (".yaml", ".yml", ".json")
FIRST = ("Namespace", "CustomResourceDefinition")
QUERY = (("fieldManager", "actorlet"), ("force", "true"), ("fieldValidation", "Strict"))

Json = dict[str, Any]


def apply(server: ApiServer, path: str, namespace: str) -> list[str]:
    """Apply what a file or a folder has; returns `deployment.apps/web` of each. Raises OrderError."""
    applied, faults = [], []
    for place, value in objects_in(path):
        name, fault = _apply(server, value, namespace)
        if fault:
            faults.append(f"{place}: {fault}")
        else:
            applied.append(name)
    if faults:
        raise OrderError("\n".join(faults))
    return applied


def objects_in(path: str) -> list[tuple[str, Json]]:
    """(place, object) of each in a file or a folder, in the order of applying. Raises OrderError."""
    found = list(_objects(Path(path)))
    return sorted(found, key=lambda one: FIRST.index(one[1]["kind"]) if one[1]["kind"] in FIRST else len(FIRST))


def _objects(path: Path) -> Iterator[tuple[str, Json]]:
    """(place, object) of each in the file, or in all files of the folder and of those in it."""
    if not path.exists():
        raise OrderError(f"there is no file or folder {path}")
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.suffix in ENDINGS)
    if not files:
        raise OrderError(f"{path} has no file that ends in {', '.join(ENDINGS)}")
    faults: list[str] = []
    objects: list[tuple[str, Json]] = []
    for file in files:
        try:
            documents = read_documents(file.read_bytes())
        except OSError as error:
            faults.append(f"{file}: {error.strerror}")
            continue
        for document in documents:
            place = f"{file}:{document.line_of('$') or 1}"
            faults += [f"{file}:{document.line_of(fault.path) or 1}: {fault}" for fault in document.faults]
            if document.faults:
                continue
            for value in _listed(document.value):
                if isinstance(value, dict) and all(isinstance(value.get(one), str) for one in ("apiVersion", "kind")):
                    objects.append((place, value))
                else:
                    faults.append(f"{place}: it is not an object of Kubernetes; write apiVersion, kind and metadata")
    if not faults and not objects:
        faults.append(f"{path} has no object")
    if faults:
        raise OrderError("\n".join(faults))
    yield from objects


def _listed(value: object) -> list[object]:
    """The object, or the items of a List."""
    if isinstance(value, dict) and value.get("kind") == "List" and isinstance(value.get("items"), list):
        return list(value["items"])
    return [value]


def _apply(server: ApiServer, value: Json, namespace: str) -> tuple[str, str]:
    """(name, why it is refused)."""
    kind = (value["apiVersion"], value["kind"])
    resource = next((one for one in server.served if (one.api_version, one.kind) == kind and one.stored), None)
    if resource is None:
        return "", no_such_kind(value)
    metadata = value.get("metadata") or {}
    name = metadata.get("name", "")
    path = collection_path(resource, metadata.get("namespace") or namespace)
    if name:
        request = ApiRequest("PATCH", f"{path}/{name}", QUERY, msgspec.json.encode(value), APPLY)
    else:
        request = ApiRequest("POST", path, QUERY[2:], value)
    answer = server.handle(request)
    if isinstance(answer, JsonAnswer) and answer.code >= 400:
        return "", str(answer.value.get("message"))
    return f"{resource.singular}{'.' if resource.group else ''}{resource.group}/{name}", ""


def no_such_kind(value: Json) -> str:
    """The error for an object of a kind that is not served."""
    kind, version = value["kind"], value["apiVersion"]
    return f'no matches for kind "{kind}" in version "{version}"; is its CustomResourceDefinition applied?'


def collection_path(resource: ServedResource, namespace: str) -> str:
    """The path of a resource's objects, in that namespace if it has namespaces."""
    root = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
    return f"{root}/namespaces/{namespace}/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"
