"""OpenAPI documents: the fields of each kind and how they are patched.

`kubectl` reads version 3: an index, and a document for each group and version. It learns whether the server checks
fields (`fieldValidation`), which lists a strategic merge patch merges, and the texts of `explain`. Version 2 has all
kinds in one document. `kubectl` requests it in protobuf, and only for a kind that version 3 lacks. A document without
kinds makes it report the unknown kind, so in protobuf there is no other.

The documents are made on demand from the table of kinds, the structs of `config` and the schemas of custom resources.
Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from config.caches import MIB, KeptBytes
from simulation.apiserver.documents.discovery import MAJOR, MINOR
from simulation.apiserver.documents.one_document import document_v2
from simulation.apiserver.documents.openapi_schemas import schema_name, schemas_of
from simulation.apiserver.kinds.table import SERVED, ServedResource, groups

Json = dict[str, Any]
Served = tuple[ServedResource, ...]

_ROOT = "/openapi/v3"
_JSON = "application/json"
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_NO_KINDS = b"\n\x032.0\x12\x13\n\nKubernetes\x12\x051.36.B\x00"
"""An OpenAPI document of version 2 in protobuf: swagger 2.0, a title, a version, and no paths."""

_INFO = {"title": "Kubernetes", "version": f"{MAJOR}.{MINOR}"}
# The last one is not for custom resources, and kubectl reads here which kinds take it.
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
# Verb in discovery -> (method, action) of an operation on the collection, and on one object.
_ON_COLLECTIONS = {
    "list": ("get", "list"),
    "create": ("post", "post"),
    "deletecollection": ("delete", "deletecollection"),
}
_ON_OBJECTS = {
    "get": ("get", "get"),
    "update": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
}
_WRITES = ("post", "put", "patch")
_QUERY: Mapping[str, str] = {
    "dryRun": "All: the request goes through every step but the last, so that nothing is stored.",
    "fieldManager": "Who makes the change, as managed fields will name it.",
    "fieldValidation": "What becomes of unknown and of doubled fields: Ignore, Warn or Strict.",
}


def openapi(path: str, accept: str = "", served: Served = SERVED) -> tuple[str, bytes] | None:
    """(media type, document) of a path below /openapi; None when there is no such document.

    `served`: the resources that the server has.
    """
    path = path.rstrip("/")
    if path == _ROOT:
        return _JSON, _index(served)
    if path == "/openapi/v2":
        return (_PROTOBUF, _NO_KINDS) if _asks_for_protobuf(accept) else (_JSON, _all_kinds(served))
    root = path.removeprefix(_ROOT + "/")
    resources = _roots(served).get(root) if root != path else None
    return None if resources is None else (_JSON, _document(root, resources)[0])


@lru_cache(maxsize=1)
def _roots(served: Served) -> Mapping[str, Served]:
    """`api/v1`, `apis/storage.k8s.io/v1`, ...: what is served there."""
    return {
        f"apis/{group}/{version}" if group else f"api/{version}": tuple(
            resource for resource in served if (resource.group, resource.version) == (group, version)
        )
        for group, versions in groups(served).items()
        for version in versions
    }


def _asks_for_protobuf(accept: str) -> bool:
    return "com.github.proto-openapi.spec.v2" in accept.partition(",")[0]


@lru_cache(maxsize=1)
def _all_kinds(served: Served) -> bytes:
    paths, schemas = Json(), Json()
    for root, resources in _roots(served).items():
        document = msgspec.json.decode(_document(root, resources)[0])
        paths |= document["paths"]
        schemas |= document["components"]["schemas"]
    custom = {schema_name(resource) for resource in served if resource.is_defined}
    return msgspec.json.encode(document_v2(_INFO, paths, schemas, custom))


@lru_cache(maxsize=1)
def _index(served: Served) -> bytes:
    # The hash lets a client keep a document for as long as it does not change.
    paths = {
        root: {"serverRelativeURL": f"{_ROOT}/{root}?hash={_document(root, resources)[1]}"}
        for root, resources in _roots(served).items()
    }
    return msgspec.json.encode({"paths": paths})


def _document(root: str, resources: Served) -> tuple[bytes, str]:
    """The document, and its hash."""
    try:
        return _documents[root, resources]
    except KeyError:
        pass
    paths = {path: item for resource in resources for path, item in _paths(root, resource).items()}
    components = {"schemas": schemas_of(resources)}
    text = msgspec.json.encode({"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": components})
    return _documents.keep((root, resources), (text, hashlib.sha512(text).hexdigest().upper()), len(text))


_documents: KeptBytes[tuple[str, Served], tuple[bytes, str]] = KeptBytes(16 * MIB, 4 * MIB)


def _paths(root: str, resource: ServedResource) -> Json:
    scope = "namespaces/{namespace}/" if resource.namespaced else ""
    collection = f"/{root}/{scope}{resource.plural}"
    paths = {collection: _operations(resource, _ON_COLLECTIONS)}
    if resource.stored:
        paths[f"{collection}/{{name}}"] = _operations(resource, _ON_OBJECTS)
        if resource.namespaced:
            everywhere = {"list": _ON_COLLECTIONS["list"]}
            paths[f"/{root}/{resource.plural}"] = _operations(resource, everywhere)
    return paths


def _operations(resource: ServedResource, verbs: Mapping[str, tuple[str, str]]) -> Json:
    return {
        method: _operation(resource, method, action)
        for verb, (method, action) in verbs.items()
        if verb in resource.verbs
    }


def _operation(resource: ServedResource, method: str, action: str) -> Json:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    content: Json = {"schema": {"$ref": f"#/components/schemas/{schema_name(resource)}"}}
    operation: Json = {
        "operationId": f"{action}{resource.version.capitalize()}{resource.kind}",
        "description": f"{action} {resource.kind}",
        "parameters": [_parameter(name) for name in _QUERY] if method in _WRITES else [],
        "responses": {"200": {"description": "OK", "content": {"application/json": content}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind,
    }
    if method == "patch":
        patches = _PATCHES[:-1] if resource.is_defined else _PATCHES
        operation["requestBody"] = {"content": {media: {"schema": {"type": "object"}} for media in patches}}
    elif method in _WRITES:
        operation["requestBody"] = {"content": {"application/json": content}}
    return operation


def _parameter(name: str) -> Json:
    return {"name": name, "in": "query", "description": _QUERY[name], "schema": {"type": "string", "uniqueItems": True}}
