"""Definitions for tests, and a server that has them."""

from __future__ import annotations

from typing import Any

from tests.simulation.apiserver.worlds import Asked, Server

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
NAME = "widgets.example.com"
SPEC = {
    "type": "object",
    "properties": {
        "color": {"type": "string", "enum": ["red", "green"]},
        "replicas": {"type": "integer", "minimum": 0, "default": 1},
    },
}
STATUS = {"type": "object", "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}}}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
STATUS_AND_SCALE = {
    "status": {},
    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
}


def version(name: str = "v1", *, storage: bool = True, schema: Any = None, **more: Any) -> dict[str, Any]:
    """One version of a definition; `subresources` are status and scale unless something else is said."""
    base = {"name": name, "served": True, "storage": storage, "subresources": STATUS_AND_SCALE}
    return {**base, "schema": {"openAPIV3Schema": SCHEMA if schema is None else schema}, **more}


def definition(*versions: dict[str, Any], plural: str = "widgets", kind: str = "Widget", **spec: Any) -> dict[str, Any]:
    """A whole one."""
    name = spec.pop("name", f"{plural}.{spec.get('group', 'example.com')}")
    names = {"plural": plural, "kind": kind, **spec.pop("names", {})}
    whole = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(versions) or [version()]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {**whole, **spec},
    }


def widget(name: str = "lamp", *, of: str = "v1", metadata: Any = None, **parts: Any) -> dict[str, Any]:
    """An object of it."""
    return {
        "apiVersion": f"example.com/{of}",
        "kind": "Widget",
        "metadata": {"name": name, **(metadata or {})},
        **parts,
    }


def defined(*versions: dict[str, Any], **spec: Any) -> Server:
    """A server that has the resource."""
    server = Server()
    made = define(server, *versions, **spec)
    assert made.code == 201, made.value
    return server


def define(server: Server, *versions: dict[str, Any], **spec: Any) -> Asked:
    return server.ask("POST", DEFINITIONS, definition(*versions, **spec))


def make(server: Server, name: str = "lamp", path: str = WIDGETS, **parts: Any) -> Any:
    """Make an object, which must be good."""
    made = server.ask("POST", path, widget(name, **parts))
    assert made.code == 201, made.value
    return made.value
