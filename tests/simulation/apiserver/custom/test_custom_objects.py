"""Objects of a custom resource, without a network.

They can do what other kinds can, and what their definition says.
"""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.core import Options
from simulation.apiserver.requests.bodies import APPLY
from simulation.apiserver.requests.calls import ApiUser
from tests.simulation.apiserver.custom.made import (
    DEFINITIONS,
    NAME,
    SCHEMA,
    SPEC,
    WIDGETS,
    define,
    defined,
    make,
    version,
    widget,
)
from tests.simulation.apiserver.worlds import MERGE, PODS, SECOND_NS, STRATEGIC, Server

LAMP = f"{WIDGETS}/lamp"
ONE = f"{DEFINITIONS}/{NAME}"


@pytest.fixture
def server() -> Server:
    return defined()


def test_made_read_listed_selected_and_deleted(server: Server) -> None:
    made = make(server, metadata={"labels": {"room": "hall"}}, spec={"color": "red"})
    assert made["spec"] == {"color": "red", "replicas": 1}
    assert made["metadata"]["generation"] == 1
    generated = server.ask("POST", WIDGETS, {"metadata": {"generateName": "w-"}}).value
    assert (generated["kind"], generated["apiVersion"]) == ("Widget", "example.com/v1")
    assert server.get(LAMP).value == made
    everywhere = server.get("/apis/example.com/v1/widgets").value
    assert (everywhere["kind"], len(everywhere["items"])) == ("WidgetList", 2)
    assert [each["metadata"]["name"] for each in server.get(WIDGETS, labelSelector="room=hall").value["items"]] == [
        "lamp"
    ]
    gone = server.ask("DELETE", LAMP).value
    assert (gone["status"], gone["details"]["kind"]) == ("Success", "widgets")
    assert server.get(LAMP).message == 'widgets.example.com "lamp" not found'
    server.ask("DELETE", WIDGETS)
    assert server.get(WIDGETS).value["items"] == []


def test_a_watch_tells_of_what_is_selected(server: Server) -> None:
    watched = server.watch(WIDGETS, labelSelector="room")
    make(server)
    server.ask("PATCH", LAMP, {"metadata": {"labels": {"room": "hall"}}}, content_type=MERGE)
    server.ask("PATCH", LAMP, {"spec": {"replicas": 2}}, content_type=MERGE)
    server.ask("DELETE", LAMP)
    assert watched.told == ["ADDED lamp", "MODIFIED lamp", "DELETED lamp"]


def test_the_generation_counts_changes_of_what_is_wanted(server: Server) -> None:
    make(server, spec={"color": "red"}, status={"phase": "sent with it"})
    assert "status" not in server.get(LAMP).value

    def generation(path: str, change: Any) -> int:
        answer = server.ask("PATCH", path, change, content_type=MERGE)
        return int(answer.value["metadata"]["generation"])

    assert generation(LAMP, {"spec": {"replicas": 1}}) == 1
    assert generation(LAMP, {"metadata": {"labels": {"a": "b"}}}) == 1
    assert generation(LAMP, {"status": {"phase": "On"}, "spec": {"replicas": 2}}) == 2
    assert "status" not in server.get(LAMP).value
    assert generation(f"{LAMP}/status", {"status": {"phase": "On"}, "spec": {"replicas": 9}}) == 2
    value = server.get(LAMP).value
    assert (value["status"], value["spec"]["replicas"]) == ({"phase": "On"}, 2)


def test_a_status_without_a_path_of_its_own_is_a_field_like_others() -> None:
    server = defined(version(subresources={}))
    make(server, status={"phase": "Off"})
    changed = server.ask("PATCH", LAMP, {"status": {"phase": "On"}}, content_type=MERGE).value
    assert (changed["status"], changed["metadata"]["generation"]) == ({"phase": "On"}, 2)
    assert server.get(f"{LAMP}/status").code == 404


def test_a_status_is_all_that_its_path_changes(server: Server) -> None:
    made = make(server, spec={"color": "red"})
    metadata = {**made["metadata"], "labels": {"a": "b"}}
    body = {**made, "metadata": metadata, "spec": {"replicas": 7}, "status": {"phase": "On"}}
    changed = server.ask("PUT", f"{LAMP}/status", body).value
    assert "labels" not in changed["metadata"]
    assert (changed["spec"]["replicas"], changed["status"]["phase"]) == (1, "On")


def test_an_update_says_what_it_replaces_and_changes_nothing_when_nothing_changes(server: Server) -> None:
    made = make(server)
    assert server.ask("PUT", LAMP, made).value == made
    changed = server.ask("PUT", LAMP, {**made, "spec": {"replicas": 3}}).value
    assert changed["metadata"]["generation"] == 2
    assert server.ask("PUT", LAMP, made).code == 409
    blind = server.ask("PUT", LAMP, widget(spec={"replicas": 4}))
    assert (blind.code, "metadata.resourceVersion" in blind.message) == (422, True)


def test_patches(server: Server) -> None:
    make(server, spec={"color": "red"})
    patch = [{"op": "replace", "path": "/spec/color", "value": "green"}]
    patched = server.ask("PATCH", LAMP, patch, content_type="application/json-patch+json").value
    assert patched["spec"] == {"color": "green", "replicas": 1}
    assert server.ask("PATCH", LAMP, {"spec": {"color": None}}, content_type=MERGE).value["spec"] == {"replicas": 1}
    refused = server.ask("PATCH", LAMP, {"spec": {}}, content_type=STRATEGIC)
    assert refused.code == 415
    assert refused.message.startswith(
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "
        "application/merge-patch+json, application/apply-patch+yaml"
    )


PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
    },
}
TAGS = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
PLAIN = {"type": "array", "items": {"type": "string"}}


def test_apply_merges_lists_as_the_schema_says() -> None:
    spec = {"type": "object", "properties": {"ports": PORTS, "tags": TAGS, "plain": PLAIN}}
    server = defined(version(schema={"type": "object", "properties": {"spec": spec}}))

    def applied(manager: str, **spec: Any) -> Any:
        body = widget(spec=spec)
        answer = server.ask("PATCH", LAMP, body, content_type=APPLY, fieldManager=manager, force="true")
        assert answer.code in (200, 201), answer.value
        return answer.value["spec"]

    first = applied("a", ports=[{"name": "x", "port": 1}], tags=["one"], plain=["p"])
    assert first == {"ports": [{"name": "x", "port": 1}], "tags": ["one"], "plain": ["p"]}
    both = applied("b", ports=[{"name": "y", "port": 2}], tags=["two"], plain=["q"])
    assert sorted(port["name"] for port in both["ports"]) == ["x", "y"]
    assert (sorted(both["tags"]), both["plain"]) == (["one", "two"], ["q"])
    left = applied("b", ports=[], tags=[], plain=["q"])
    assert ([port["name"] for port in left["ports"]], left["tags"]) == (["x"], ["one"])
    refused = server.ask("PATCH", LAMP, widget(spec={"plain": ["r"]}), content_type=APPLY, fieldManager="a")
    assert (refused.code, refused.value["details"]["causes"][0]["field"]) == (409, ".spec.plain")


def test_unknown_fields_are_pruned_and_told_of(server: Server) -> None:
    body = widget(spec={"color": "red", "colour": 1}, extra=2)
    made = server.ask("POST", WIDGETS, body)
    assert made.value["spec"] == {"color": "red", "replicas": 1}
    assert "extra" not in made.value
    assert made.answer.warnings == ('unknown field "spec.colour"', 'unknown field "extra"')  # type: ignore[union-attr]
    strict = server.ask("POST", WIDGETS, {**body, "metadata": {"name": "b"}}, fieldValidation="Strict")
    assert strict.message == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.colour", '
        'unknown field "extra"'
    )
    ignored = server.ask("POST", WIDGETS, {**body, "metadata": {"name": "c"}}, fieldValidation="Ignore")
    assert ignored.answer.warnings == ()  # type: ignore[union-attr]


def test_an_object_that_is_not_as_its_schema_says_is_refused_with_causes(server: Server) -> None:
    refused = server.ask("POST", WIDGETS, widget(spec={"color": "blue", "replicas": -1}))
    assert refused.code == 422
    assert refused.message == (
        'Widget.example.com "lamp" is invalid: [spec.color: Unsupported value: "blue": supported values: "red", '
        '"green", spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0]'
    )
    assert [cause["field"] for cause in refused.value["details"]["causes"]] == ["spec.color", "spec.replicas"]
    wrong = server.ask("POST", WIDGETS, widget(metadata={"finalizers": "none"}))
    assert (wrong.code, "metadata.finalizers" in wrong.message) == (400, True)


def test_a_status_is_checked_too(server: Server) -> None:
    make(server)
    refused = server.ask("PATCH", f"{LAMP}/status", {"status": {"replicas": "many"}}, content_type=MERGE)
    assert refused.message.endswith('status.replicas in body must be of type integer: "string"')


def test_scale(server: Server) -> None:
    make(server, spec={"replicas": 2})
    server.ask("PATCH", f"{LAMP}/status", {"status": {"replicas": 1}}, content_type=MERGE)
    scale = server.get(f"{LAMP}/scale").value
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1})
    scaled = server.ask("PUT", f"{LAMP}/scale", {**scale, "spec": {"replicas": 5}})
    assert scaled.value["spec"] == {"replicas": 5}
    assert server.get(LAMP).value["metadata"]["generation"] == 2
    assert server.ask("PUT", f"{LAMP}/scale", {**scale, "spec": {"replicas": 6}}).code == 409
    patched = server.ask("PATCH", f"{LAMP}/scale", {"spec": {"replicas": 3}}, content_type=MERGE)
    assert patched.value["spec"] == {"replicas": 3}
    refused = server.ask("PATCH", f"{LAMP}/scale", {"spec": {"replicas": -3}}, content_type=MERGE)
    assert "should be a non-negative integer" in refused.message
    assert server.get(LAMP).value["spec"]["replicas"] == 3


def test_finalizers_hold_an_object_until_the_last_of_them_is_gone(server: Server) -> None:
    make(server, metadata={"finalizers": ["example.com/a", "example.com/b"]})
    marked = server.ask("DELETE", LAMP).value
    assert (marked["metadata"]["deletionTimestamp"], marked["metadata"]["generation"]) == ("2026-01-01T00:00:00Z", 2)
    server.ask("PATCH", LAMP, {"metadata": {"finalizers": ["example.com/b"]}}, content_type=MERGE)
    assert server.get(LAMP).code == 200
    server.ask("PATCH", LAMP, {"metadata": {"finalizers": []}}, content_type=MERGE)
    assert server.get(LAMP).code == 404


def test_a_namespace_that_goes_is_emptied_of_them(server: Server) -> None:
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    in_team = WIDGETS.replace("default", "team")
    make(server, path=in_team)
    make(server)
    server.ask("DELETE", "/api/v1/namespaces/team")
    server.world.run_for(2 * SECOND_NS)
    assert server.get("/api/v1/namespaces/team").code == 404
    assert [each["metadata"]["namespace"] for each in server.get("/apis/example.com/v1/widgets").value["items"]] == [
        "default"
    ]
    assert server.ask("POST", in_team, widget()).code == 404


def test_a_resource_of_the_cluster_is_in_no_namespace() -> None:
    server = defined(scope="Cluster")
    path = "/apis/example.com/v1/widgets"
    assert "namespace" not in make(server, path=path)["metadata"]
    assert server.get(WIDGETS).code == 404


def test_fields_that_the_definition_names_can_be_selected() -> None:
    spec = {**SPEC, "properties": {**SPEC["properties"], "nodeName": {"type": "string"}, "on": {"type": "boolean"}}}  # type: ignore[dict-item]
    fields = [{"jsonPath": f".spec.{name}"} for name in ("color", "nodeName", "on")]
    server = defined(version(schema={"type": "object", "properties": {"spec": spec}}, selectableFields=fields))
    watched = server.watch("/apis/example.com/v1/widgets", fieldSelector="spec.nodeName=n1")
    make(server, "a", spec={"color": "red", "nodeName": "n1", "on": True})
    make(server, "b", spec={"color": "green", "nodeName": "n2"})
    assert watched.told == ["ADDED a"]
    for selector in ("spec.color=red", "spec.on=true", "spec.nodeName!=n2"):
        found = server.get(WIDGETS, fieldSelector=selector).value["items"]
        assert [each["metadata"]["name"] for each in found] == ["a"], selector
    assert server.get(WIDGETS, fieldSelector="spec.replicas=1").message == "field label not supported: spec.replicas"


# --- versions, and definitions that change --------------------------------------------------------------------------


def test_an_object_is_seen_in_every_version_that_is_served() -> None:
    with_default: Any = {**SPEC, "properties": {**SPEC["properties"], "mode": {"type": "string", "default": "new"}}}  # type: ignore[dict-item]
    newer = {"type": "object", "properties": {"spec": with_default}}
    server = defined(version(storage=False), version("v2", schema=newer))
    old, new = WIDGETS, WIDGETS.replace("/v1/", "/v2/")
    of_old, of_new = server.watch(old), server.watch(new)
    make(server, spec={"color": "red"})
    assert server.get(f"{old}/lamp").value["apiVersion"] == "example.com/v1"
    assert server.get(f"{new}/lamp").value["apiVersion"] == "example.com/v2"
    assert server.get(f"{new}/lamp").value["spec"] == {"color": "red", "replicas": 1, "mode": "new"}
    assert server.get(old).value["items"][0]["spec"] == {"color": "red", "replicas": 1}
    server.ask("PATCH", f"{new}/lamp", {"spec": {"mode": "odd"}}, content_type=MERGE)
    assert "mode" not in server.get(f"{old}/lamp").value["spec"]
    assert [value["apiVersion"] for _, value in of_old.events] == ["example.com/v1"] * 2
    assert [value["spec"]["mode"] for _, value in of_new.events] == ["new", "odd"]
    wrong = server.ask("POST", old, widget("other", of="v2"))
    assert (wrong.code, "does not match the expected API version" in wrong.message) == (400, True)


@pytest.mark.parametrize(
    ("more", "warning"),
    [
        ({"deprecated": True}, "example.com/v1 Widget is deprecated"),
        ({"deprecated": True, "deprecationWarning": "use v2"}, "use v2"),
    ],
)
def test_a_request_for_a_deprecated_version_gets_a_warning(more: Any, warning: str) -> None:
    server = defined(version(storage=False, **more), version("v2"))
    for asked in (server.ask("POST", WIDGETS, widget()), server.get(LAMP), server.get(WIDGETS)):
        assert asked.answer.warnings == (warning,)  # type: ignore[union-attr]
    assert server.get(WIDGETS.replace("/v1/", "/v2/")).answer.warnings == ()  # type: ignore[union-attr]


def test_stored_objects_are_shown_by_the_current_definition(server: Server) -> None:
    make(server, spec={"color": "red"})
    before, watched = server.get(LAMP).value, server.watch(WIDGETS)
    spec: Any = {**SPEC, "properties": {"replicas": {"type": "integer"}, "size": {"type": "integer", "default": 3}}}
    versions = [version(schema={"type": "object", "properties": {"spec": spec}})]
    server.ask("PATCH", ONE, {"spec": {"versions": versions}}, content_type=MERGE)
    assert watched.ends == [None]
    after = server.get(LAMP).value
    assert after["spec"] == {"replicas": 1, "size": 3}
    assert after["metadata"] == before["metadata"]
    labelled = server.ask("PATCH", LAMP, {"metadata": {"labels": {"a": "b"}}}, content_type=MERGE).value
    assert labelled["metadata"]["generation"] == 1


def test_an_invalid_stored_field_may_stay_while_it_is_unchanged(server: Server) -> None:
    make(server, spec={"color": "red", "replicas": 5})
    stricter: Any = {**SPEC, "properties": {**SPEC["properties"], "replicas": {"type": "integer", "maximum": 3}}}  # type: ignore[dict-item]
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "spec": stricter}}
    server.ask("PATCH", ONE, {"spec": {"versions": [version(schema=schema)]}}, content_type=MERGE)
    assert server.ask("PATCH", LAMP, {"spec": {"color": "green"}}, content_type=MERGE).code == 200
    refused = server.ask("PATCH", LAMP, {"spec": {"replicas": 6}}, content_type=MERGE)
    assert refused.message.endswith("spec.replicas in body should be less than or equal to 3")


# --- who may, and what has the name of something else ---------------------------------------------------------------


def test_agents_may_not_read_custom_objects_whatever_their_name() -> None:
    server = Server(Options(authorization="Node"))
    agent = ApiUser("system:node:n1", ("system:nodes",))
    for plural, kind in (("leases", "Lease"), ("runtimeclasses", "RuntimeClass"), ("pods", "Pod"), ("events", "Event")):
        assert define(server, plural=plural, kind=kind, scope="Cluster").code == 201
        for method, path in (("GET", ""), ("POST", ""), ("GET", "/n1"), ("PUT", "/n1")):
            asked = server.ask(method, f"/apis/example.com/v1/{plural}{path}", {}, user=agent)
            assert asked.code == 403, (plural, method, path)
    assert server.ask("GET", DEFINITIONS, user=agent).code == 403


def test_a_custom_resource_named_like_a_builtin_is_separate() -> None:
    server = Server()
    for plural, kind in (("pods", "Pod"), ("tokenreviews", "TokenReview"), ("bindings", "Binding")):
        define(server, plural=plural, kind=kind)
        path = f"/apis/example.com/v1/namespaces/default/{plural}"
        made = server.ask("POST", path, {"metadata": {"name": "a"}, "spec": {"color": "red"}})
        assert made.value["spec"] == {"color": "red", "replicas": 1}
        assert len(server.get(path).value["items"]) == 1
    assert server.get(PODS).value["items"] == []


def test_the_scale_of_an_object_that_lacks_replicas_is_changed_by_saying_some() -> None:
    bare = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}}},
    }
    server = defined(version(schema=bare))
    make(server)
    path = f"{WIDGETS}/lamp/scale"
    silent: tuple[Any, ...] = ({}, {"spec": {}})
    for nothing in silent:
        refused = server.ask("PATCH", path, nothing, content_type=MERGE)
        assert (refused.code, refused.message) == (400, 'the spec replicas field ".spec.replicas" cannot be empty')
    assert server.ask("PUT", path, {"spec": {"replicas": 1}}).code == 400, "an update says its name"
    negative = server.ask("PATCH", path, {"spec": {"replicas": -1}}, content_type=MERGE)
    assert negative.value["details"]["causes"][0]["field"] == ".spec.replicas"
    assert server.ask("PATCH", path, {"spec": {"replicas": 2}}, content_type=MERGE).value["spec"] == {"replicas": 2}
    assert server.ask("PATCH", path, {"spec": {"replicas": None}}, content_type=MERGE).value["spec"] == {}
