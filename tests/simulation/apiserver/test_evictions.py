"""The eviction of pods: what the budgets of a pod allow, and what it leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.strategies.budgets import PROCESSED_IN_S, Decision, decide
from tests.simulation.apiserver.worlds import MERGE, PODS, Server

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
NOT_READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}


def budget(spec: Any = None, **status: Any) -> Any:
    return {"metadata": {"name": "few", "generation": 2}, "spec": spec or {}, "status": status}


def pod(status: Any) -> Any:
    return {"metadata": {"name": "web"}, "status": status}


FEW = "The disruption budget few needs 2 healthy pods and has 1 currently"
ALWAYS = {"unhealthyPodEvictionPolicy": "AlwaysAllow"}


@pytest.mark.parametrize(
    ("made", "status", "expected"),
    [
        (budget(observedGeneration=2, disruptionsAllowed=1), READY, Decision(spends=True)),
        (budget(observedGeneration=2, currentHealthy=1, desiredHealthy=2), READY, Decision(wait=FEW)),
        (
            budget(observedGeneration=1, disruptionsAllowed=1),
            READY,
            Decision(
                wait="The disruption budget few is still being processed by the server.", retry_after_s=PROCESSED_IN_S
            ),
        ),
        (budget(observedGeneration=2, currentHealthy=1, desiredHealthy=2), NOT_READY, Decision(wait=FEW)),
        (budget(observedGeneration=2, currentHealthy=2, desiredHealthy=2), NOT_READY, Decision()),
        (budget(ALWAYS, observedGeneration=2), NOT_READY, Decision()),
    ],
    ids=["allowed", "none left", "not processed", "unhealthy", "unhealthy beside enough", "unhealthy, always"],
)
def test_what_a_budget_says(made: Any, status: Any, expected: Decision) -> None:
    assert decide(made, pod(status)) == expected


@pytest.fixture
def server() -> Server:
    """A pod that runs, and a budget that nobody has counted yet."""
    server = Server()
    server.make_pod()
    server.ask("PATCH", f"{PODS}/web", {"metadata": {"labels": {"app": "web"}}}, content_type=MERGE)
    server.ask("PATCH", f"{PODS}/web/status", {"status": READY}, content_type=MERGE)
    made = {"metadata": {"name": "few"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}
    assert server.ask("POST", BUDGETS, made).code == 201
    return server


def test_a_budget_is_spent_by_the_evictions_that_it_allows(server: Server) -> None:
    counted = {"observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1}
    refused = server.ask("POST", f"{PODS}/web/eviction", EVICTION)
    assert (refused.code, refused.value["details"]["causes"][0]["reason"]) == (429, "DisruptionBudget")
    server.ask("PATCH", f"{BUDGETS}/few/status", {"status": counted}, content_type=MERGE)
    assert server.ask("POST", f"{PODS}/web/eviction", EVICTION | {"deleteOptions": {"dryRun": ["All"]}}).code == 201
    assert server.get(f"{BUDGETS}/few").value["status"]["disruptionsAllowed"] == 1
    assert server.ask("POST", f"{PODS}/web/eviction", EVICTION).code == 201
    status = server.get(f"{BUDGETS}/few").value["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["web"])


def test_a_pod_that_has_ended_needs_no_budget(server: Server) -> None:
    server.ask("PATCH", f"{PODS}/web/status", {"status": {"phase": "Succeeded"}}, content_type=MERGE)
    assert server.ask("POST", f"{PODS}/web/eviction", EVICTION).code == 201


def test_a_pod_of_two_budgets_is_not_evicted(server: Server) -> None:
    server.ask("POST", BUDGETS, {"metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {}}})
    refused = server.ask("POST", f"{PODS}/web/eviction", EVICTION)
    assert refused.code == 500
    assert "more than one PodDisruptionBudget" in refused.message
