"""Large objects are read like small ones, and what is equal to the last reading is kept."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from config.api.large_objects import LARGE_BYTES, forget, read_large
from config.api.resources import read_object
from config.documents.codec import DocumentError, decode
from config.objects import Pod


def large(**more: Any) -> dict[str, Any]:
    """A pod of a thousand volumes and a long annotation."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "uid": "u", "resourceVersion": "1", "annotations": {"long": "x" * LARGE_BYTES}},
        "spec": {
            "containers": [{"name": "app", "image": "i:1"}],
            "volumes": [{"name": f"v{number}", "emptyDir": {}} for number in range(1000)],
        },
        "status": {"phase": "Pending"},
        **more,
    }


def text(document: dict[str, Any]) -> bytes:
    return msgspec.json.encode(document)


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    forget("u")


def test_it_is_read_as_a_small_one_is_before_and_after_it_was_seen():
    body = text(large())
    assert read_object(body, Pod) == read_object(body, Pod) == decode(body, Pod)


def test_a_change_of_its_status_keeps_everything_else():
    first = read_large(text(large()), Pod)
    changed = large(status={"phase": "Running", "podIP": "10.0.0.1"})
    changed["metadata"]["resourceVersion"] = "2"
    second = read_large(text(changed), Pod)
    assert second == decode(text(changed), Pod)
    assert second.spec is first.spec
    assert second.metadata.annotations is first.metadata.annotations


def test_a_change_of_one_field_of_its_spec_keeps_the_long_ones():
    first = read_large(text(large()), Pod)
    changed = large()
    changed["spec"]["containers"][0]["image"] = "i:2"
    second = read_large(text(changed), Pod)
    assert second.spec.containers[0].image == "i:2"
    assert second.spec.volumes is first.spec.volumes


def test_nothing_is_shared_with_another_object_or_kept_of_one_that_is_gone():
    first = read_large(text(large()), Pod)
    other = large()
    other["metadata"]["uid"] = "other"
    assert read_large(text(other), Pod).spec is not first.spec
    forget("u")
    assert read_large(text(large()), Pod).spec is not first.spec


def test_managed_fields_are_left_out():
    document = large()
    document["metadata"]["managedFields"] = [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {}}}]
    assert read_object(text(document), Pod) == decode(text(large()), Pod)


@pytest.mark.parametrize(
    "change",
    [
        {"notKnown": {"a": 1}},
        {"spec": {"containers": [{"name": "app", "notKnown": 1}]}},
        {"status": None},
        {"metadata": {"name": "p", "uid": "u", "labels": None, "annotations": {"long": "x" * LARGE_BYTES}}},
        {"metadata": None},
    ],
)
def test_what_the_codec_forgives_is_forgiven_here(change: dict[str, Any]):
    body = text(large(**change))
    assert read_large(body, Pod) == decode(body, Pod)


@pytest.mark.parametrize(
    "body",
    [
        text(large(spec={"containers": "none"})),
        text(large(metadata={"uid": 3})),
        text(large())[:-5],
        b"[" * LARGE_BYTES,
        b"\xff" * LARGE_BYTES,
        b"[]",
    ],
)
def test_a_fault_is_told_as_in_a_small_one(body: bytes):
    with pytest.raises(DocumentError) as told:
        decode(body, Pod)
    with pytest.raises(DocumentError) as here:
        read_large(body, Pod)
    assert str(here.value) == str(told.value)
