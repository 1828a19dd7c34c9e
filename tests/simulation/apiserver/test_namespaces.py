"""The end of a namespace: in order, with conditions that say what remains, and with its finalizers."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.controllers.namespace_conditions import Left, conditions_of
from tests.simulation.apiserver.worlds import MERGE, SECOND_NS, Server

NAMESPACE = "/api/v1/namespaces/ending"
MAPS, PODS = f"{NAMESPACE}/configmaps", f"{NAMESPACE}/pods"
HELD = {"finalizers": ["example.com/held"]}
CONTAINERS = [{"name": "app", "image": "busybox"}]


@pytest.fixture
def server() -> Server:
    server = Server()
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "ending"}})
    return server


def conditions(server: Server) -> dict[str, tuple[str, str, str]]:
    found = server.ask("GET", NAMESPACE).value["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


def release(server: Server, path: str) -> None:
    server.ask("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)


def test_pods_go_before_what_they_use(server: Server) -> None:
    server.ask("POST", MAPS, {"metadata": {"name": "settings"}})
    server.ask("POST", PODS, {"metadata": {"name": "web", **HELD}, "spec": {"containers": CONTAINERS}})
    server.ask("DELETE", NAMESPACE)
    server.world.run_for(60 * SECOND_NS)
    assert server.ask("GET", f"{MAPS}/settings").code == 200
    assert "deletionTimestamp" in server.ask("GET", f"{PODS}/web").value["metadata"]
    release(server, f"{PODS}/web")
    server.world.run_for(2 * SECOND_NS)
    assert server.ask("GET", NAMESPACE).code == 404


def test_its_conditions_say_what_remains_and_which_finalizers_hold_it(server: Server) -> None:
    for name in ("a", "b"):
        server.ask("POST", MAPS, {"metadata": {"name": name, **HELD}})
    server.ask("DELETE", NAMESPACE)
    server.world.run_for(2 * SECOND_NS)
    found = conditions(server)
    assert found["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 2 resource instances",
    )
    assert found["NamespaceFinalizersRemaining"][2].endswith("example.com/held in 2 resource instances")
    assert found["NamespaceDeletionContentFailure"][:2] == ("False", "ContentDeleted")
    release(server, f"{MAPS}/a")
    server.world.run_for(2 * SECOND_NS)
    assert "has 1 resource instances" in conditions(server)["NamespaceContentRemaining"][2]
    release(server, f"{MAPS}/b")
    server.world.run_for(2 * SECOND_NS)
    assert server.ask("GET", NAMESPACE).code == 404


def test_a_finalizer_of_somebody_else_keeps_it_until_finalize_takes_it_away(server: Server) -> None:
    spec: dict[str, Any] = {"finalizers": ["kubernetes", "example.com/mine"]}
    body = {"metadata": {"name": "ending"}, "spec": spec}
    assert server.ask("PUT", f"{NAMESPACE}/finalize", body).value["spec"] == spec
    server.ask("DELETE", NAMESPACE)
    server.world.run_for(5 * SECOND_NS)
    left = server.ask("GET", NAMESPACE).value
    assert (left["spec"], left["status"]["phase"]) == ({"finalizers": ["example.com/mine"]}, "Terminating")
    assert server.ask("PUT", f"{NAMESPACE}/finalize", {**left, "spec": {"finalizers": []}}).code == 200
    assert server.ask("GET", NAMESPACE).code == 404


def test_a_finalizer_in_its_metadata_keeps_it_too(server: Server) -> None:
    server.ask("PATCH", NAMESPACE, {"metadata": HELD}, content_type=MERGE)
    server.ask("DELETE", NAMESPACE)
    server.world.run_for(5 * SECOND_NS)
    assert server.ask("GET", NAMESPACE).value["spec"] == {}
    release(server, NAMESPACE)
    assert server.ask("GET", NAMESPACE).code == 404


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    first = conditions_of((), Left({"pods.": 2}), "2026-01-01T00:00:00Z")
    later = conditions_of(first, Left({"pods.": 1}), "2026-01-01T00:00:05Z")
    assert [each["lastTransitionTime"] for each in later] == ["2026-01-01T00:00:00Z"] * 5
    gone = conditions_of(later, Left(), "2026-01-01T00:00:09Z")
    assert [each["lastTransitionTime"][-3:-1] for each in gone] == ["00", "00", "00", "09", "00"]
