"""What a resize of a pod may ask for.

The refusals are those that upstream's e2e tests of resizes ask for.
"""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.requests.bodies import MERGE, STRATEGIC
from tests.simulation.apiserver.worlds import Asked, Server

PODS = "/api/v1/namespaces/default/pods"
ALL = {"cpu": "20m", "memory": "35Mi"}
LIMITED = {"requests": ALL, "limits": {"cpu": "35m", "memory": "50Mi"}}
QOS = "Pod QOS Class may not change as a result of resizing"
RENAMED = ", ".join(
    f"spec.containers[{index}].name: Forbidden: containers may not be renamed or reordered on resize"
    for index in (0, 1)
)


@pytest.fixture
def server() -> Server:
    return Server()


def box(name: str = "c1", resources: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "nginx:1", **more, **({} if resources is None else {"resources": resources})}


def resize(server: Server, **spec: Any) -> Asked:
    """Replace the pod by one with this in its spec."""
    pod = server.get(f"{PODS}/web").value
    pod["spec"].update(spec)
    return server.ask("PUT", f"{PODS}/web/resize", pod)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        pytest.param([box()], [box(resources={"requests": {"memory": "35Mi"}})], QOS, id="memory-of-best-effort"),
        pytest.param([box()], [box(resources={"requests": {"cpu": "20m"}})], QOS, id="cpu-of-best-effort"),
        pytest.param(
            [box(resources={"requests": ALL, "limits": ALL})],
            [box(resources={"requests": ALL})],
            "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed",
            id="limits-of-guaranteed",
        ),
        pytest.param(
            [box(resources=LIMITED)],
            [box(resources={"requests": {"cpu": "25m", "memory": "40Mi"}})],
            "resource limits cannot be removed",
            id="limits-and-more-requests",
        ),
        pytest.param(
            [box(resources={"requests": {"memory": "35Mi"}})],
            [box(resources={})],
            "resource requests cannot be removed",
            id="memory-request",
        ),
        pytest.param(
            [box(resources={"requests": {"cpu": "20m"}})],
            [box()],
            "resource requests cannot be removed",
            id="cpu-request",
        ),
        pytest.param(
            [box("c1", {"requests": ALL}), box("c2", {"requests": ALL})],
            [box("c2", {"requests": ALL}), box("c1", {"requests": ALL})],
            RENAMED,
            id="reordered",
        ),
        pytest.param(
            [box("old-1", {"requests": ALL, "limits": ALL}), box("old-2", {"requests": ALL, "limits": ALL})],
            [box("new-1", {"requests": ALL, "limits": ALL}), box("new-2", {"requests": ALL, "limits": ALL})],
            RENAMED,
            id="renamed",
        ),
        pytest.param(
            [box(resources={"requests": ALL})],
            [box(resources={"requests": ALL}), box("c2")],
            "spec.containers: Forbidden: containers may not be added or removed on resize",
            id="one-more",
        ),
        pytest.param(
            [box(resources=LIMITED)],
            [box(resources={"requests": LIMITED["limits"], "limits": LIMITED["limits"]})],
            QOS,
            id="burstable-to-guaranteed",
        ),
        pytest.param(
            [box(resources={"requests": {**ALL, "ephemeral-storage": "1"}})],
            [box(resources={"requests": {**ALL, "ephemeral-storage": "3"}})],
            "spec: Forbidden: only cpu and memory resources are mutable",
            id="ephemeral-storage",
        ),
        pytest.param(
            [box(resources={"requests": ALL})],
            [box(resources={"requests": ALL}, resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}])],
            "only cpu and memory resources are mutable",
            id="resize-policy",
        ),
    ],
)
def test_a_resize_that_changes_something_else_is_refused(
    server: Server, before: list[Any], after: list[Any], why: str
) -> None:
    made = server.make_pod(containers=before)
    answer = resize(server, containers=after)
    assert answer.code == 422
    assert why in answer.message
    assert server.get(f"{PODS}/web").value == made


def test_the_pod_as_a_whole_is_resized_and_keeps_its_amounts(server: Server) -> None:
    server.make_pod(containers=[box()], resources=LIMITED)
    more = {"requests": {"cpu": "25m", "memory": "40Mi"}, "limits": {"cpu": "45m", "memory": "60Mi"}}
    patched = server.ask("PATCH", f"{PODS}/web/resize", {"spec": {"resources": more}}, content_type=STRATEGIC)
    assert (patched.code, patched.value["spec"]["resources"]) == (200, more)
    gone = server.ask(
        "PATCH", f"{PODS}/web/resize", {"spec": {"resources": {"limits": {"cpu": None}}}}, content_type=MERGE
    )
    assert "spec.resources.limits: Forbidden: resource limits cannot be removed" in gone.message


def test_the_pod_as_a_whole_gets_resources_by_a_resize(server: Server) -> None:
    server.make_pod(containers=[box(resources={"requests": {"cpu": "2m"}, "limits": {"cpu": "10m"}})])
    wanted = {"requests": {"cpu": "5m"}, "limits": {"cpu": "25m"}}
    assert resize(server, resources=wanted).value["spec"]["resources"] == wanted


def test_a_mirror_of_a_static_pod_is_not_resized(server: Server) -> None:
    body = {
        "metadata": {"name": "web", "annotations": {"kubernetes.io/config.mirror": "x"}},
        "spec": {"nodeName": "n", "containers": [box(resources={"requests": ALL})]},
    }
    assert server.ask("POST", PODS, body).code == 201
    answer = resize(server, containers=[box(resources={"requests": {"cpu": "25m", "memory": "35Mi"}})])
    assert "static pods cannot be resized" in answer.message


def test_a_pod_read_from_resize_is_the_pod(server: Server) -> None:
    server.make_pod(containers=[box(resources={"requests": ALL})])
    assert server.get(f"{PODS}/web/resize").value == server.get(f"{PODS}/web").value
