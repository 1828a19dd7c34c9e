"""Callers in the server's own process pass documents instead of text.

They get the same answers, and the document stays theirs.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec

from config.api.resources import EVENTS
from runtime.api import create_unread
from simulation.apiserver.requests.calls import ApiRequest
from tests.simulation.apiserver.worlds import PODS, STRATEGIC, Asked, Server

POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web"}, "annotations": None},
    "spec": {"containers": [{"name": "main", "image": "nginx:1"}], "automountServiceAccountToken": False},
}


def ask(server: Server, method: str, path: str, document: dict[str, Any], content_type: str, *, as_text: bool) -> Any:
    body = msgspec.json.encode(document) if as_text else document
    asked = Asked(server.server.handle(ApiRequest(method, path, (), body, content_type)))
    return asked.code, asked.value


def test_a_document_is_answered_as_its_text_is_and_nobody_changes_it():
    steps = [
        ("POST", PODS, POD, "application/json"),
        ("PATCH", f"{PODS}/web", {"metadata": {"labels": {"app": None, "$patch": "replace", "a": "b"}}}, STRATEGIC),
        ("POST", f"{PODS}/web/binding", {"target": {"kind": "Node", "name": "n"}}, "application/json"),
        ("PATCH", f"{PODS}/web/status", {"status": {"phase": "Running", "message": None}}, STRATEGIC),
        ("DELETE", f"{PODS}/web", {"gracePeriodSeconds": 7}, "application/json"),
        ("DELETE", f"{PODS}/web", {"kind": "Pod"}, "application/json"),
    ]
    before = deepcopy(steps)
    documents, texts = Server(), Server()
    for method, path, document, media in steps:
        given = ask(documents, method, path, document, media, as_text=False)
        assert given == ask(texts, method, path, document, media, as_text=True)
    assert steps == before


def test_a_call_with_a_document_has_its_text_for_the_wire():
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
    call = create_unread(EVENTS, "default", "e", event)
    assert call.content is event
    assert call.body == b'{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}'
