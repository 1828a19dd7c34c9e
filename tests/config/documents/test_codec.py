"""Documents come in with their faults named and go out with nothing lost."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import config.objects
from config.documents.codec import DocumentError, decode, encode, from_builtins, to_builtins, unknown_fields
from config.objects import ApiObject, Container, Pod, PodList, PodSpec

SMALL: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "labels": {"a": "b"}},
    "spec": {
        "containers": [
            {"name": "app", "image": "x", "ports": [{"containerPort": 80}, {"containerPort": 81}]},
            {"name": "log", "resources": {"limits": {"cpu": "1"}}, "env": [{"name": "A"}, {"name": "B"}]},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
    "status": {"containerStatuses": [{"name": "app", "ready": False, "restartCount": 0, "image": "", "imageID": ""}]},
}
# Maps of the document whose keys are the user's: what is added there is not unknown.
USERS_MAPS = {"labels", "limits"}


def test_every_kind_survives_decoding_and_encoding(api_objects: list[tuple[str, bytes]]) -> None:
    seen = 0
    for name, data in api_objects:
        kind = getattr(config.objects, name, None)
        if isinstance(kind, type) and issubclass(kind, ApiObject):
            seen += 1
            value = decode(data, kind)
            assert unknown_fields(value) == ()
            assert json.loads(encode(value)) == json.loads(data), name
            assert to_builtins(value) == json.loads(data), name
            assert from_builtins(json.loads(data), kind) == value
    assert seen


def test_every_public_object_is_of_a_kind_we_know(api_objects: list[tuple[str, bytes]]) -> None:
    assert {name for name, _ in api_objects} <= {kind.__name__ for kind in ApiObject.__subclasses__()}


def test_a_field_of_tomorrow_survives_in_every_part_of_every_kind(api_objects: list[tuple[str, bytes]]) -> None:
    for name, data in api_objects:
        kind: type[ApiObject] = getattr(config.objects, name)
        document = json.loads(data)
        parts = ("", "metadata", "spec", "status")
        told = set()
        for part in parts:
            into = document.get(part) if part else document
            if isinstance(into, dict):
                into["fieldOfTomorrow"] = {"a": [1, None]}
                told.add("$.fieldOfTomorrow" if not part else f"$.{part}.fieldOfTomorrow")
        value = decode(json.dumps(document).encode(), kind)
        assert json.loads(encode(value)) == document, name
        assert set(unknown_fields(value)) == told


def maps_of(value: Any, path: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every map of the document that has fields, with its path."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            if key not in USERS_MAPS:
                yield from maps_of(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from maps_of(item, f"{path}[{index}]")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.integers(0, 60), st.tuples(st.from_regex(r"\A(x[A-Za-z]{0,6})\Z"), json_values), max_size=5))
def test_unknown_fields_anywhere_survive_and_are_told_with_their_paths(added: dict[int, tuple[str, Any]]) -> None:
    document = copy.deepcopy(SMALL)
    places = list(maps_of(document))
    paths = set()
    for place, (key, value) in added.items():
        path, into = places[place % len(places)]
        into[key] = value
        paths.add(f"{path}.{key}")
    pod = decode(json.dumps(document).encode(), Pod)
    assert json.loads(encode(pod)) == document
    assert to_builtins(pod) == document
    assert set(unknown_fields(pod)) == paths
    assert from_builtins(document, Pod) == pod
    pods = from_builtins({"kind": "PodList", "apiVersion": "v1", "items": [document, SMALL]}, PodList)
    assert to_builtins(pods)["items"] == [document, SMALL]
    assert {path.replace("$.items[0]", "$") for path in unknown_fields(pods)} == paths


def strange_pod() -> Pod:
    document = copy.deepcopy(SMALL)
    document["spec"]["newPolicy"] = {"deep": [1, 2]}
    document["spec"]["containers"][1]["newField"] = "kept"
    return from_builtins(document, Pod)


def test_unknown_fields_survive_a_change_of_other_fields() -> None:
    pod = strange_pod()
    changed = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name="n1"))
    spec = to_builtins(changed)["spec"]
    assert spec["nodeName"] == "n1"
    assert spec["newPolicy"] == {"deep": [1, 2]}
    assert spec["containers"][1]["newField"] == "kept"


def test_unknown_fields_of_a_named_item_follow_it_and_leave_with_it() -> None:
    pod = strange_pod()
    app, log = pod.spec.containers
    other = Container(name="other")
    moved = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, containers=(log, other, app)))
    gone = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, containers=(app, other)))
    assert [c.get("newField") for c in to_builtins(moved)["spec"]["containers"]] == ["kept", None, None]
    assert [c.get("newField") for c in to_builtins(gone)["spec"]["containers"]] == [None, None]


def test_a_pod_is_compared_with_its_unknown_fields() -> None:
    assert strange_pod() == strange_pod()
    assert strange_pod() != from_builtins(SMALL, Pod)


def test_a_document_cannot_forge_the_record_of_unknown_fields() -> None:
    pod = decode(b'{"#unknown": {"entries": []}}', Pod)
    assert unknown_fields(pod) == ('$["#unknown"]',)
    assert json.loads(encode(pod))["#unknown"] == {"entries": []}


def test_a_struct_that_is_no_kind_drops_what_it_does_not_know() -> None:
    assert decode(b'{"nodeName": "n", "newPolicy": 1}', PodSpec) == PodSpec(node_name="n")


def test_nulls_and_numbers_that_the_api_accepts_are_accepted() -> None:
    pod = from_builtins(
        {
            "metadata": {"name": "web", "creationTimestamp": None, "labels": {"empty": None}},
            "spec": {
                "containers": [{"name": "c", "args": None, "resources": {"limits": {"cpu": 1, "memory": 1.5}}}],
                "volumes": None,
            },
            "status": None,
        },
        Pod,
    )
    assert pod.metadata.labels == {"empty": ""}
    assert pod.spec.containers[0].args == ()
    resources = pod.spec.containers[0].resources
    assert resources is not None
    assert resources.limits == {"cpu": "1", "memory": "1.5"}
    assert unknown_fields(pod) == ()


@pytest.mark.parametrize(
    ("document", "path", "reason", "hint"),
    [
        ({"kind": "Service"}, "$.kind", "must be Pod, not the text 'Service'", ""),
        ({"apiVersion": "v2"}, "$.apiVersion", "must be v1", ""),
        ([], "$", "must be a map, not a list", ""),
        (
            {"spec": {"containers": [{"image": 7}]}},
            "$.spec.containers[0].image",
            "must be text, not the number 7",
            "quotes",
        ),
        ({"spec": {"containers": {}}}, "$.spec.containers", "must be a list, not a map", "dash"),
        ({"spec": {"containers": [None]}}, "$.spec.containers[0]", "must be a map, not null", ""),
        ({"spec": {"hostNetwork": "true"}}, "$.spec.hostNetwork", "must be true or false", "remove the quotes"),
        ({"spec": {"priority": "1"}}, "$.spec.priority", "must be a whole number", "remove the quotes"),
        ({"spec": {"priority": 1.5}}, "$.spec.priority", "must be a whole number, not the number 1.5", ""),
        ({"spec": {"overhead": {"cpu": True}}}, "$.spec.overhead.cpu", "must be a quantity, not true", "500m"),
        ({"metadata": {"labels": {"a/b": True}}}, '$.metadata.labels["a/b"]', "must be text, not true", "quotes"),
        (
            {"spec": {"containers": [{"livenessProbe": {"tcpSocket": {"port": []}}}]}},
            "$.spec.containers[0].livenessProbe.tcpSocket.port",
            "must be a number or a name, not a list",
            "",
        ),
    ],
)
def test_a_fault_says_where_what_and_how_to_mend_it(document: Any, path: str, reason: str, hint: str) -> None:
    for attempt in (lambda: from_builtins(document, Pod), lambda: decode(json.dumps(document).encode(), Pod)):
        with pytest.raises(DocumentError) as caught:
            attempt()
        assert caught.value.path == path
        assert reason in caught.value.reason
        assert hint in caught.value.hint


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(DocumentError) as caught:
        from_builtins({"kind": 1, "spec": {"hostPID": 2, "containers": 3}}, Pod)
    assert [fault.path for fault in caught.value.faults] == ["$.kind", "$.spec.hostPID", "$.spec.containers"]
    assert str(caught.value) == "$.kind: must be Pod, not the number 1"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"metadata": {"name": "\xff"}}', "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_bytes_that_are_no_json_are_refused_in_words(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError) as caught:
        decode(data, Pod)
    assert reason in caught.value.reason
