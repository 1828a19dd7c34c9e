"""The schema of a custom resource as OpenAPI tells of it: with the fields that every object has. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulation.apiserver.resources import CustomVersion, ServedResource

Json = dict[str, Any]

_TYPE: Mapping[str, Json] = {
    "apiVersion": {"type": "string", "description": "Group and version of the resource, with a slash between them."},
    "kind": {"type": "string", "description": "What kind of object this is."},
}


def published(resource: ServedResource, custom: CustomVersion, metadata: Json) -> Json:
    """The whole schema. `metadata`: the reference to what describes that."""
    schema = dict(custom.schema)
    properties = {**_TYPE, "metadata": metadata, **schema.get("properties", {})}
    properties["metadata"] = {"description": "Name, labels and the like.", **metadata}
    schema.pop("default", None)
    return {
        "description": f"{resource.api_version} {resource.kind}.",
        **schema,
        "type": "object",
        "properties": properties,
    }
