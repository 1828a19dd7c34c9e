"""Whatever is at any place of a definition or an object, the answer is one of the API."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from simulation.apiserver.documents.discovery import discovery
from simulation.apiserver.documents.openapi import openapi
from simulation.apiserver.documents.tables import table_of
from simulation.apiserver.requests.bodies import APPLY
from tests.simulation.apiserver.custom.made import (
    DEFINITIONS,
    NAME,
    STATUS_AND_SCALE,
    WIDGETS,
    define,
    definition,
    version,
    widget,
)
from tests.simulation.apiserver.worlds import JSON, MERGE, Server

ODD: tuple[Any, ...] = (None, "", 1, True, [], {}, [None], ["a"], {"a": 1}, {"a": None})
TEXT: dict[str, Any] = {"type": "string", "enum": ["x"], "pattern": "x", "default": "x", "minLength": 1}
ITEMS = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
FIELDS = {
    "text": TEXT,
    "map": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1, "multipleOf": 2}},
    "list": {
        "type": "array",
        "items": ITEMS,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    },
    "either": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "raw": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
}
SPEC = {"type": "object", "properties": FIELDS, "oneOf": [{"required": ["text"]}], "not": {"required": ["z"]}}
RULES = [{"rule": "has(self.spec)", "message": "m", "messageExpression": "'m'", "reason": "FieldValueInvalid"}]
SCHEMA = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC}, "x-kubernetes-validations": RULES}
VERSION = version(
    schema=SCHEMA,
    additionalPrinterColumns=[{"name": "C", "type": "string", "jsonPath": ".spec.text", "priority": 1}],
    selectableFields=[{"jsonPath": ".spec.text"}],
    subresources=STATUS_AND_SCALE,
)
WHOLE = definition(VERSION, names={"shortNames": ["a"], "categories": ["b"]}, conversion={"strategy": "None"})
WIDGET = widget(
    spec={"text": "x", "map": {"q": 2}, "list": [{"k": "a"}], "either": 1, "raw": {"metadata": {"name": "q"}}}
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """A failure is shown by its place."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if place:
        yield place
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in below:
        yield from places(item, (*place, step))


def with_odd(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    made = copy.deepcopy(value)
    at = made
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = odd
    return made


def in_place(server: Server, path: str, body: Any) -> Any:
    """The body with the version of the object that it replaces, if it can have one."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    found = server.get(path)
    if not isinstance(metadata, dict) or found.code != 200:
        return body
    return {**body, "metadata": {"resourceVersion": found.value["metadata"]["resourceVersion"], **metadata}}


def test_the_definition_is_good() -> None:
    server = Server()
    assert server.ask("POST", DEFINITIONS, WHOLE).code == 201
    assert server.ask("POST", WIDGETS, WIDGET).code == 201


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_odd_definition_is_a_fault_of_the_server(odd: Any) -> None:
    for place in places(WHOLE):
        server = Server()
        made = server.ask("POST", DEFINITIONS, with_odd(WHOLE, place, odd))
        assert made.code != 500, (place, made.message)
        if made.code != 201:
            continue
        for method, path, body in (
            ("POST", WIDGETS, WIDGET),
            ("PATCH", f"{WIDGETS}/lamp", {"spec": {"text": "y"}}),
            ("GET", WIDGETS, None),
            ("PUT", f"{DEFINITIONS}/{NAME}", WHOLE),
        ):
            asked = in_place(server, path, body) if method == "PUT" else body
            answer = server.ask(method, path, asked, content_type=MERGE if method == "PATCH" else JSON)
            assert answer.code != 500, (place, method, answer.message)
        assert openapi("/openapi/v3", "", server.server.served)
        assert discovery("/apis", "", "", server.server.served)
        for resource in server.server.served:
            if resource.described is not None:
                table_of(resource, [WIDGET], wall_ns=0)
        assert server.ask("DELETE", f"{DEFINITIONS}/{NAME}").code in (200, 404)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_no_odd_object_is_a_fault_of_the_server(odd: Any) -> None:
    server = Server()
    define(server, VERSION)
    server.ask("POST", WIDGETS, WIDGET)
    for place in places(WIDGET):
        body = with_odd(WIDGET, place, odd)
        for method, path in (("POST", WIDGETS), ("PUT", f"{WIDGETS}/lamp"), ("PUT", f"{WIDGETS}/lamp/status")):
            answer = server.ask(method, path, body if method == "POST" else in_place(server, f"{WIDGETS}/lamp", body))
            assert answer.code != 500, (place, method, path, answer.message)
        applied = server.ask("PATCH", f"{WIDGETS}/lamp", body, content_type=APPLY, fieldManager="a")
        assert applied.code != 500, (place, applied.message)
