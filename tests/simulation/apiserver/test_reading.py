"""An object decoded from a version is reused for this version, and for no other."""

from __future__ import annotations

from typing import Any

import msgspec

from config.caches import KIB
from config.documents.codec import decode, unknown_fields
from config.objects import Pod, PodSpec
from simulation.apiserver.store.by_identity import ByIdentity, WhileHeld
from simulation.apiserver.store.store import Version
from simulation.apiserver.store.structs import read_version
from tests.simulation.apiserver.worlds import MERGE, PODS, STRATEGIC, Server

STATUS = f"{PODS}/web/status"


def test_every_version_of_a_pod_is_read_as_its_own_text_says() -> None:
    server = Server()
    seen: list[Version] = []
    pods = server.server.store.of["pods"]
    server.make_pod()
    for path, change in (
        (STATUS, {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
        (f"{PODS}/web", {"metadata": {"labels": {"app": "a"}}}),
        (STATUS, {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
        (STATUS, {"status": {"phase": "Failed"}, "metadata": {"annotations": {"b": "c"}}}),
        (f"{PODS}/web", {"spec": {"activeDeadlineSeconds": 9}}),
    ):
        assert server.ask("PATCH", path, change, content_type=STRATEGIC).code == 200
        version = pods.get(("default", "web"))
        assert version is not None
        assert read_version(version, Pod) == decode(msgspec.json.encode(version.object), Pod)
        seen.append(version)
    first, second = (read_version(version, Pod) for version in seen[:2])
    assert first.status is second.status, "what stayed the same is read once"


def test_a_status_with_fields_that_nobody_knows_keeps_them() -> None:
    server = Server()
    server.make_pod()
    answer = server.ask("PATCH", STATUS, {"status": {"phase": "Running", "mood": "good"}}, content_type=MERGE)
    assert answer.value["status"]["mood"] == "good"
    version = server.server.store.get("pods", "default", "web")
    assert version is not None
    assert unknown_fields(read_version(version, Pod)) == ("$.status.mood",)


def test_a_status_of_the_wrong_type_is_refused_each_time() -> None:
    server = Server()
    server.make_pod()
    for _ in range(2):
        assert server.ask("PATCH", STATUS, {"status": {"phase": 7}}, content_type=MERGE).code == 400


def test_a_status_change_warns_of_unknown_fields_in_the_whole_pod() -> None:
    server = Server()
    server.make_pod(newField=1)
    answer = server.ask("PATCH", STATUS, {"status": {"phase": "Running"}}, content_type=MERGE)
    assert answer.code == 200
    assert answer.answer.warnings == ('unknown field "spec.newField"',)  # type: ignore[union-attr]  # of an object


def test_the_cache_by_identity_is_bounded_and_never_matches_equal_objects() -> None:
    known: ByIdentity[str] = ByIdentity(2 * KIB, KIB)
    part: dict[str, Any] = {"a": 1}
    assert known.put(part, "found") == "found"
    assert known.get(part) == "found"
    equal = dict(part)
    assert known.get(equal) is None, "an equal one may be another"
    for number in range(100):
        other = {"number": number}
        assert known.get(other) is None, "none takes the place of one that is gone"
        known.put(msgspec.json.decode(b"{}"), "other")
    assert known.get(part) is None
    long = {"a": "b" * KIB}
    assert known.put(long, "long") == "long"
    assert known.get(long) is None


def test_what_nobody_holds_any_more_is_forgotten() -> None:
    known: WhileHeld[PodSpec] = WhileHeld()
    part: dict[str, Any] = {"a": 1}
    spec = known.put(part, PodSpec(node_name="a"))
    assert known.get(part) is spec
    assert known.get(dict(part)) is None
    del spec
    assert known.get(part) is None
    assert known.get(None) is None
