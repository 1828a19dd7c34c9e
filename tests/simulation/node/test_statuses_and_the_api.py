"""Statuses that the API server takes from a node only under conditions, in virtual time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from actors.node.numbers import NodeNumbers
from cli.inspect.local_views import explanation
from simulation.cri.behaviour import PREFIX
from tests.simulation.node.test_api_server import MINUTE, Cluster
from tests.simulation.node.worlds import MS, OTHER_IMAGE

WEB = "/api/v1/namespaces/default/pods/web"


def shown(cluster: Cluster) -> dict[str, Any]:
    return dict(cluster.pods()["web"]["status"]["containerStatuses"][0])


@pytest.mark.parametrize("code", ["0", "1"])
@pytest.mark.parametrize("policy", ["Always", "OnFailure", "Never"])
def test_a_container_that_changes_its_image_is_never_shown_as_ended(policy: str, code: str):
    """With Never, and OnFailure after code 0, the API server lets no container leave `terminated`."""
    cluster = Cluster()
    cluster.create(
        "web", restartPolicy=policy, annotations={PREFIX + "stop-exit-code": code, PREFIX + "start-delay": "0,3s"}
    )
    cluster.until(lambda: cluster.phases() == {"web": "Running"})
    pod = cluster.ask("GET", WEB)
    pod["spec"]["containers"][0]["image"] = OTHER_IMAGE
    cluster.ask("PUT", WEB, pod)
    states: list[str] = []
    for _ in range(50):
        cluster.run(100 * MS)
        states += shown(cluster)["state"]
    assert list(dict.fromkeys(states)) == ["waiting", "running"]
    assert cluster.phases() == {"web": "Running"}
    assert shown(cluster)["restartCount"] == 1
    assert shown(cluster)["lastState"]["terminated"]["exitCode"] == int(code)


def test_a_status_that_the_api_server_refuses_for_good_is_told():
    cluster = Cluster()
    cluster.create("web", restartPolicy="Never")
    cluster.until(lambda: cluster.phases() == {"web": "Running"})
    pod = cluster.ask("GET", WEB)
    ended = {"terminated": {"exitCode": 0, "containerID": shown(cluster)["containerID"]}}
    pod["status"]["containerStatuses"][0]["state"] = ended
    cluster.ask("PUT", f"{WEB}/status", pod)
    cluster.run(MINUTE)
    assert "terminated" in shown(cluster)["state"], "another hand has written it, and the API server keeps to it"
    [event] = [each for each in cluster.ask("GET", "/api/v1/events")["items"] if each["reason"] == "FailedStatusUpdate"]
    assert "may not be transitioned to non-terminated state" in event["message"]
    told = [each for each in explanation(cluster.node.node, "web").happened if "refuses the pod's status" in each.text]
    assert len(told) == 1
    page = NodeNumbers(cluster.node.node, "1").metrics().decode()
    [refusals] = re.findall(r'^actorlet_pod_statuses_refused_total\{code="422"\} (.+)$', page, re.MULTILINE)
    assert float(refusals) >= 6, "it is sent again every ten seconds"
