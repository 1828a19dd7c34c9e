"""Conversion webhooks: objects are stored in one version, and each version shows them as it should."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.simulation.apiserver.custom.made import DEFINITIONS, NAME, definition, version
from tests.simulation.apiserver.fronts import Front, front_of
from tests.simulation.apiserver.test_http_front import say
from tests.simulation.webhooks.hooks import Hook

Json = dict[str, Any]
V1, V2 = (f"/apis/example.com/{number}/namespaces/default/widgets" for number in ("v1", "v2"))
MERGE = "application/merge-patch+json"
SERVICE = "hooks.shop.svc"


def schema(**fields: Json) -> Json:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


TEXT = {"type": "string"}
STORED = version("v1", schema=schema(host=TEXT, port=TEXT), subresources={})
OTHER = version("v2", storage=False, schema=schema(address=TEXT, mode={**TEXT, "default": "plain"}), subresources={})


def convert(value: Json, wanted: str) -> Json:
    """v1 has host and port, v2 one address."""
    spec = dict(value["spec"])
    if wanted == "example.com/v2":
        made = {"address": f"{spec.get('host')}:{spec.get('port')}", **{k: spec[k] for k in ("mode",) if k in spec}}
    else:
        host, _, port = spec["address"].partition(":")
        made = {"host": host, "port": port}
    return {**value, "apiVersion": wanted, "spec": made}


def all_converted(request: Json) -> Json:
    made = [convert(value, request["desiredAPIVersion"]) for value in request["objects"]]
    return {"result": {"status": "Success"}, "convertedObjects": made}


class World:
    def __init__(self, front: Front, hook: Hook) -> None:
        self.front, self.hook = front, hook
        hook.answer = all_converted
        self.client: Json = {"url": f"{hook.url}/convert", "caBundle": hook.bundle}
        answer = self.define(STORED, OTHER)
        assert answer.code == 201, answer.value

    def define(self, *versions: Json, method: str = "POST", **webhook: Any) -> Any:
        conversion = {
            "strategy": "Webhook",
            "webhook": {"clientConfig": self.client, "conversionReviewVersions": ["v1"], **webhook},
        }
        whole = definition(*versions, conversion=conversion)
        if method == "POST":
            return say(self.front, "POST", DEFINITIONS, whole)
        return say(self.front, "PATCH", f"{DEFINITIONS}/{NAME}", {"spec": whole["spec"]}, Content_Type=MERGE)

    def make(self, name: str = "a", address: str = "h:1", **metadata: Any) -> Json:
        value = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": name, **metadata}}
        made = say(self.front, "POST", V2, {**value, "spec": {"address": address}})
        assert made.code == 201, made.value
        return dict(made.value)

    def read(self, path: str) -> Json:
        found = say(self.front, "GET", path)
        assert found.code == 200, found.value
        return dict(found.value)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    hook = Hook(tmp_path, time.time_ns(), SERVICE)
    try:
        with front_of("http", tmp_path) as front:
            yield World(front, hook)
    finally:
        hook.close()


def test_an_object_is_stored_in_one_version_and_shown_in_each(world: World) -> None:
    made = world.make()
    assert made["spec"] == {"address": "h:1", "mode": "plain"}
    stored = world.front.server.store.get(NAME, "default", "a")
    assert stored is not None
    assert (stored.object["apiVersion"], stored.object["spec"]) == ("example.com/v1", {"host": "h", "port": "1"})
    assert world.read(f"{V1}/a")["spec"] == {"host": "h", "port": "1"}
    assert world.read(f"{V2}/a") == made


def test_what_is_not_converted_costs_no_question(world: World) -> None:
    value = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b"}, "spec": {"host": "h"}}
    assert say(world.front, "POST", V1, value).code == 201
    world.read(V1)
    assert world.hook.asked == []
    world.read(f"{V2}/b")
    world.read(f"{V2}/b")
    assert len(world.hook.asked) == 1


def test_a_list_is_converted_with_one_question(world: World) -> None:
    for name in "abc":
        value = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"host": name}}
        assert say(world.front, "POST", V1, value).code == 201
    found = world.read(V2)
    assert [item["spec"]["address"] for item in found["items"]] == ["a:None", "b:None", "c:None"]
    (asked,) = world.hook.asked
    assert asked["desiredAPIVersion"] == "example.com/v2"
    assert [one["metadata"]["name"] for one in asked["objects"]] == list("abc")


def test_patches_and_updates_work_in_the_version_of_the_request(world: World) -> None:
    world.make()
    patched = say(world.front, "PATCH", f"{V2}/a", {"spec": {"address": "x:2"}}, Content_Type=MERGE)
    assert patched.code == 200, patched.value
    found = world.read(f"{V1}/a")
    assert found["spec"] == {"host": "x", "port": "2"}
    found["spec"]["port"] = "3"
    put = say(world.front, "PUT", f"{V1}/a", found)
    assert put.code == 200, put.value
    assert world.read(f"{V2}/a")["spec"]["address"] == "x:3"
    again = say(world.front, "PUT", f"{V1}/a", put.value)
    assert again.value["metadata"]["resourceVersion"] == put.value["metadata"]["resourceVersion"]


def test_server_side_apply_works_in_either_version(world: World) -> None:
    def apply(path: str, number: str, spec: Json, manager: str) -> Any:
        value = {"apiVersion": f"example.com/{number}", "kind": "Widget", "metadata": {"name": "s"}, "spec": spec}
        way = f"{path}/s?fieldManager={manager}"
        return say(world.front, "PATCH", way, value, Content_Type="application/apply-patch+yaml")

    assert apply(V2, "v2", {"address": "h:1"}, "one").code == 201
    same = apply(V2, "v2", {"address": "h:1"}, "one")
    assert same.code == 200
    assert apply(V2, "v2", {"address": "h:2"}, "other").code == 409
    assert apply(V2, "v2", {"address": "h:2"}, "one").value["spec"]["address"] == "h:2"


def test_a_watch_tells_each_version_in_its_own_words(world: World) -> None:
    world.make("a")
    host, _, port = world.front.http.address.partition(":") if world.front.http else ("", "", "")
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    connection.request("GET", f"{V2}?watch=true")
    events = connection.getresponse()
    told = [json.loads(events.readline())]
    value = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "b"}, "spec": {"host": "b"}}
    for method, path, body in (
        ("POST", V1, value),
        ("PATCH", f"{V1}/b", {"spec": {"host": "c"}}),
        ("DELETE", f"{V1}/b", None),
    ):
        say(world.front, method, path, body, **({"Content_Type": MERGE} if method == "PATCH" else {}))
        told.append(json.loads(events.readline()))
    connection.close()
    seen = [(one["type"], one["object"]["apiVersion"], one["object"]["spec"]["address"]) for one in told]
    assert seen == [
        ("ADDED", "example.com/v2", "h:1"),
        ("ADDED", "example.com/v2", "b:None"),
        ("MODIFIED", "example.com/v2", "c:None"),
        ("DELETED", "example.com/v2", "c:None"),
    ]


def test_labels_may_be_converted_and_other_metadata_stay(world: World) -> None:
    def labelled(request: Json) -> Json:
        answer = all_converted(request)
        for value in answer["convertedObjects"]:
            value["metadata"] = {**value["metadata"], "labels": {"by": "hook"}, "finalizers": ["no.way/x"]}
        return answer

    world.make(annotations={"a": "b"})
    world.hook.answer = labelled
    say(world.front, "PATCH", f"{V1}/a", {"spec": {"host": "new"}}, Content_Type=MERGE)
    metadata = world.read(f"{V2}/a")["metadata"]
    assert metadata["labels"] == {"by": "hook"}
    assert metadata["annotations"] == {"a": "b"}
    assert "finalizers" not in metadata


def test_the_storage_version_moves_and_the_status_remembers_the_old_one(world: World) -> None:
    world.make("old")
    moved = world.define({**STORED, "storage": False}, {**OTHER, "storage": True}, method="PATCH")
    assert moved.value["status"]["storedVersions"] == ["v1", "v2"]
    world.make("new")
    kept = world.front.server.store
    stored = [kept.of[NAME].get(("default", name)) for name in ("old", "new")]
    assert [one.object["apiVersion"] for one in stored if one] == ["example.com/v1", "example.com/v2"]
    assert [one["spec"]["address"] for one in world.read(V2)["items"]] == ["h:1", "h:1"]
    assert say(world.front, "PUT", f"{V2}/old", world.read(f"{V2}/old")).code == 200


def test_a_definition_goes_with_its_objects_and_nobody_is_asked(world: World) -> None:
    world.make("a", finalizers=["x.io/y"])
    world.make("b")
    world.hook.answer = lambda request: {"result": {"status": "Failure", "message": "no more"}}
    say(world.front, "DELETE", f"{DEFINITIONS}/{NAME}")
    assert [one["metadata"]["name"] for one in world.read(V1)["items"]] == ["a"]
    assert say(world.front, "PATCH", f"{V1}/a", {"metadata": {"finalizers": None}}, Content_Type=MERGE).code == 200
    assert say(world.front, "GET", f"{DEFINITIONS}/{NAME}").code == 404


def changed(**more: Any) -> Callable[[Json], Json]:
    """An answer whose first object has other fields."""

    def answer(request: Json) -> Json:
        made = all_converted(request)
        made["convertedObjects"][0].update(more)
        return made

    return answer


KIND = "conversion webhook for example.com/v1, Kind=Widget"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"result": {"status": "Failure", "message": "I do not know it"}}, "failed: I do not know it"),
        ({"result": {"status": "Failure"}}, "failed: response.result.status was 'Failure', not 'Success'"),
        ({"result": {"status": "Success"}, "convertedObjects": []}, "returned 0 objects, expected 1"),
        ({"result": {"status": "Success"}, "uid": "x"}, 'failed: expected response.uid="'),
        (
            changed(apiVersion="example.com/v1"),
            "invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
        ),
        (changed(kind="Odd"), "returned invalid object at index 0: invalid kind (expected Widget, received Odd)"),
        (changed(metadata=None), "returned invalid metadata: missing metadata in converted object"),
        (changed(metadata={"name": "b"}), "returned invalid object: must have the same name: a != b"),
    ],
)
def test_a_wrong_answer_is_told_and_the_next_one_counts(world: World, answer: Any, told: str) -> None:
    value = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"host": "h"}}
    say(world.front, "POST", V1, value)
    world.hook.answer = answer if callable(answer) else lambda request: answer
    for path in (f"{V2}/a", V2):
        refused = say(world.front, "GET", path)
        assert refused.code == 500
        assert refused.value["message"].startswith(KIND)
        if path != V2:
            assert told in refused.value["message"]
    world.hook.answer = all_converted
    assert world.read(f"{V2}/a")["spec"]["address"] == "h:None"


def test_nothing_is_stored_when_the_conversion_fails(world: World) -> None:
    world.hook.answer = lambda request: {"result": {"status": "Failure", "message": "no"}}
    value = {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"address": "h:1"}}
    refused = say(world.front, "POST", V2, value)
    assert refused.code == 500
    assert say(world.front, "GET", f"{V1}/a").code == 404


def test_a_webhook_that_is_not_there_is_named(world: World) -> None:
    world.client = {"url": None, "service": {"namespace": "shop", "name": "hooks", "path": "/convert"}}
    defined = world.define(STORED, OTHER, method="PATCH")
    assert defined.code == 200, defined.value
    value = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"host": "h"}}
    assert say(world.front, "POST", V1, value).code == 201
    told = say(world.front, "GET", f"{V2}/a").value["message"]
    assert told == f'{KIND} failed: service "hooks" not found'
