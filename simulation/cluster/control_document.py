"""The orders to a cluster as an OpenAPI document, made from their structs. Pure.

Each order is a path below `/v1`. One that only asks is a GET with its fields in the query; the others are a POST with
their fields as a JSON object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from simulation.cluster import operator_orders as of_operators
from simulation.cluster import orders

VERSION = "/v1"
NOT_SERVED = (
    *(orders.Begin, orders.Apply, orders.Limit),
    *(of_operators.RecordRun, of_operators.TakeRecord),
    *(of_operators.PlanSweep, of_operators.TakeRun, of_operators.SweepFound),
)
"""Orders without a path.

The command begins the cluster, kubectl applies manifests, and the Python client waits with a limit. Sweeps in other
languages are those of `actorlet sweep`.
"""
_READS = (
    orders.Now,
    orders.Unmatched,
    orders.Look,
    orders.Explain,
    orders.Troubles,
    orders.CountReady,
    of_operators.Outputs,
)
_SECONDS: Mapping[str, Any] = {"seconds": {"type": "number", "description": "the cluster's time after the order"}}
_TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
_ANSWERS: Mapping[type[Any], Mapping[str, Any]] = {
    orders.Unmatched: {"unmatched": _TEXTS},
    orders.Look: {"found": _TEXTS, "missing": _TEXTS, "clients": _TEXTS},
    orders.Explain: {"text": {"type": "string"}},
    orders.Troubles: {"programs": _TEXTS, "pods": _TEXTS},
    orders.CountReady: {"ready": {"type": "integer"}},
    orders.AddNodes: {"nodes": _TEXTS},
    of_operators.RunOperator: {"kubeconfig": {"type": "string", "description": "path of a file"}},
    of_operators.Settle: {"settled": {"type": "boolean"}},
    of_operators.Outputs: {"outputs": {"type": "object", "additionalProperties": _TEXTS}},
    orders.ActAs: {"kubeconfig": {"type": "string", "description": "path of a file"}},
}
_REFERENCE = "#/components/schemas/{name}"

Json = dict[str, Any]

OF_PATH: Mapping[str, type[Any]] = {
    f"{VERSION}/{order.__struct_config__.tag}": order for order in get_args(orders.Order) if order not in NOT_SERVED
}


def method_of(order: type[Any]) -> str:
    """The HTTP method of an order: GET or POST."""
    return "GET" if order in _READS else "POST"


def document(version: str) -> Json:
    """The whole document. `version` is that of actorlet."""
    served = list(OF_PATH.values())
    _, schemas = msgspec.json.schema_components(served, ref_template=_REFERENCE)
    for order in served:
        schema = schemas[order.__name__]
        schema["properties"].pop("order")
        schema["required"].remove("order")
        schema.pop("title", None)
    paths: Json = {path: {method_of(order).lower(): _operation(order, schemas)} for path, order in OF_PATH.items()}
    paths["/cluster"] = {"get": {"summary": "Where the cluster is, and its nodes.", "responses": _responses(_FACTS)}}
    for order in served:
        if order in _READS:
            del schemas[order.__name__]
    return {
        "openapi": "3.1.0",
        "info": {"title": "actorlet simulate-cluster", "version": version, "description": _ABOUT},
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": schemas},
    }


_ABOUT = "Orders to a simulated cluster. Durations are texts such as 90s or 5m, in the cluster's time."
_FACTS: Mapping[str, Any] = {
    "url": {"type": "string", "description": "of the API server"},
    "kubeconfig": {"type": "string", "description": "path of a file"},
    "certificate_authority": {"type": "string", "description": "path of its certificate; empty without TLS"},
    "nodes": _TEXTS,
    "time": {"type": "string", "description": "how it passes: stepped, real, auto (while clients wait), or as x60"},
    "speed": {"type": "number", "description": "seconds of the cluster in a real second; 0: its time is stepped"},
}


def _operation(order: type[Any], schemas: Json) -> Json:
    schema = schemas[order.__name__]
    operation: Json = {"summary": schema.pop("description"), "responses": _responses(_ANSWERS.get(order, _SECONDS))}
    if order not in _READS:
        content = {"application/json": {"schema": {"$ref": _REFERENCE.format(name=order.__name__)}}}
        return {**operation, "requestBody": {"required": bool(schema["required"]), "content": content}}
    required = schema["required"]
    parameters = [
        {"name": name, "in": "query", "required": name in required, "schema": of_field}
        for name, of_field in schema["properties"].items()
    ]
    return {**operation, "parameters": parameters}


def _responses(properties: Mapping[str, Any]) -> Json:
    answer = {"type": "object", "required": list(properties), "properties": dict(properties)}
    error = {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
    return {
        "200": {"description": "It is done.", "content": {"application/json": {"schema": answer}}},
        "400": {"description": "It is refused.", "content": {"application/json": {"schema": error}}},
    }
