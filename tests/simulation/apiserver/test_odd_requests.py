"""Whatever is sent, the answer is one of the API.

It is never a fault of the server itself, and nothing is half done.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulation.apiserver.kinds.table import SERVED
from simulation.apiserver.requests.bodies import PATCH_TYPES
from tests.simulation.apiserver.worlds import PODS, Server, pod

KEYS = (
    *("metadata", "spec", "status", "name", "namespace", "labels", "annotations", "containers", "finalizers", "uid"),
    *("target", "data", "stringData", "type", "ports", "clusterIP", "conditions", "boundObjectRef", "token", "user"),
    *("deleteOptions", "preconditions", "gracePeriodSeconds", "ownerReferences", "resourceAttributes", "volumes"),
    *("containerStatuses", "state", "terminated", "groups", "extra", "audiences", "expirationSeconds", "nodeName"),
)
leaf = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["", "web", "default", "n1", "1Gi"]))
json = st.recursive(
    leaf,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)),
    max_leaves=12,
)
PARTS = ("metadata", "spec", "status", "target", "deleteOptions", "data", "stringData", "preconditions", "type")
body = st.one_of(json, st.fixed_dictionaries({}, optional=dict.fromkeys(PARTS, json)))
PATHS = tuple(
    f"{'/apis/' + one.group if one.group else '/api'}/{one.version}/"
    f"{'namespaces/default/' if one.namespaced else ''}{one.plural}{rest}"
    for one in SERVED
    for rest in ("", "/web", *(f"/web/{part}" for part in one.subresources))
)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    """A failure is shown by its example; the log would be of all that hypothesis tried."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@settings(deadline=None)
@given(
    st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
    st.sampled_from(PATHS),
    body,
    st.sampled_from(["application/json", *PATCH_TYPES]),
)
def test_no_odd_body_is_a_fault_of_the_server(method: str, path: str, body: Any, content_type: str) -> None:
    server = Server()
    server.make_pod()
    before = server.server.store.revision
    answer = server.ask(method, path, msgspec.json.encode(body), content_type=content_type)
    assert answer.code != 500, answer.value
    if answer.code >= 400:
        assert server.server.store.revision == before
    assert server.get("/api/v1/pods").code == 200


@settings(deadline=None)
@given(st.sampled_from(["", "/status", "/resize", "/ephemeralcontainers"]), json, st.sampled_from(PATCH_TYPES))
def test_no_odd_patch_of_a_pod_is_a_fault_of_the_server(part: str, body: Any, content_type: str) -> None:
    server = Server()
    server.make_pod()
    for around in ("spec", "status", "metadata"):
        answer = server.ask("PATCH", f"{PODS}/web{part}", {around: body}, content_type=content_type)
        assert answer.code != 500, answer.value


@settings(deadline=None)
@given(json)
def test_no_odd_new_pod_is_a_fault_of_the_server(body: Any) -> None:
    server = Server()
    value = pod()
    value["spec"]["containers"][0] |= body if isinstance(body, dict) else {"env": body, "ports": body}
    value["spec"]["volumes"] = body
    answer = server.ask("POST", PODS, value)
    assert answer.code != 500, answer.value


@given(st.text("abc/%?.\x00é", max_size=20), st.sampled_from(["GET", "DELETE", "PUT", "TRACE"]))
def test_no_odd_path_is_a_fault_of_the_server(path: str, method: str) -> None:
    assert Server().ask(method, f"/{path}").code in (404, 405)


@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi"])
@pytest.mark.parametrize("group", ["requests", "limits"])
def test_an_amount_that_is_no_quantity_is_refused_by_its_path(group: str, resource: str) -> None:
    made = pod("odd")
    made["spec"]["containers"][0]["resources"] = {group: {resource: "1GL"}}
    answer = Server().ask("POST", PODS, msgspec.json.encode(made))
    assert answer.code == 400, answer.value
    assert f"spec.containers.resources.{group}" in answer.value["message"]


def test_a_pod_is_refused_in_the_words_of_kubernetes() -> None:
    made = pod("odd")
    made["spec"]["containers"][0] |= {"volumeMounts": [{"name": "none", "mountPath": "/x"}], "livenessProbe": {}}
    answer = Server().ask("POST", PODS, msgspec.json.encode(made))
    assert answer.code == 422
    at = "spec.containers[0]"
    assert [(one["field"], one["message"]) for one in answer.value["details"]["causes"]] == [
        (f"{at}.volumeMounts[0].name", 'Not found: "none"'),
        (f"{at}.livenessProbe", "Required value: must specify a handler type"),
    ]
