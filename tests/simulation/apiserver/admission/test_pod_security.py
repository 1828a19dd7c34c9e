"""Labels of a namespace say what its pods may not do."""

from __future__ import annotations

from typing import Any

from tests.simulation.apiserver.worlds import MERGE, PODS, Asked, Server, pod

HOME = "/api/v1/namespaces/default"
PREFIX = "pod-security.kubernetes.io"


def label(server: Server, **modes: str | None) -> Asked:
    labels = {f"{PREFIX}/{mode.replace('_', '-')}": level for mode, level in modes.items()}
    return server.ask("PATCH", HOME, {"metadata": {"labels": labels}}, content_type=MERGE)


def labelled(**modes: str) -> Server:
    server = Server()
    assert label(server, **modes).code == 200
    return server


def test_a_pod_that_the_level_forbids_is_refused() -> None:
    refused = labelled(enforce="baseline").ask("POST", PODS, pod(hostNetwork=True))
    why = 'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    assert (refused.code, refused.message) == (403, f'pods "web" is forbidden: {why}')


def test_the_version_of_a_level_counts() -> None:
    server = labelled(enforce="restricted", enforce_version="v1.7")
    spec: dict[str, Any] = {"securityContext": {"runAsNonRoot": True}}
    assert server.ask("POST", PODS, pod(**spec)).code == 201
    label(server, enforce_version="v1.8")
    assert "allowPrivilegeEscalation != false" in server.ask("POST", PODS, pod("other", **spec)).message


def test_what_a_level_warns_of_is_taken_with_a_warning() -> None:
    made = labelled(warn="baseline").ask("POST", PODS, pod(hostPID=True))
    warning = 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    assert (made.code, made.warnings) == (201, (warning,))


def test_a_template_of_forbidden_pods_is_warned_of_and_taken() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod(hostIPC=True)["spec"]}
    body = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    made = labelled(enforce="baseline").ask("POST", "/apis/apps/v1/namespaces/default/deployments", body)
    warning = 'would violate PodSecurity "baseline:latest": host namespaces (hostIPC=true)'
    assert (made.code, made.warnings) == (201, (warning,))


def test_a_stricter_level_warns_of_the_pods_that_are_there() -> None:
    server = Server()
    for name, spec in (("c", {"hostPID": True}), ("b", {"hostPID": True}), ("a", {"hostNetwork": True}), ("d", {})):
        server.make_pod(name, **spec)
    changed = label(server, enforce="baseline")
    assert (changed.code, changed.warnings) == (
        200,
        (
            'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
            "a (and 2 other pods): host namespaces",
        ),
    )
    assert label(server, enforce="privileged").warnings == ()


def test_wrong_labels_are_refused_once() -> None:
    server = Server()
    refused = label(server, enforce="odd", warn_version="v2")
    assert (refused.code, refused.message) == (
        422,
        f'Namespace "default" is invalid: [metadata.labels[{PREFIX}/enforce]: Invalid value: "odd": '
        f"must be one of privileged, baseline, restricted, metadata.labels[{PREFIX}/warn-version]: "
        'Invalid value: "v2": must be "latest" or "v1.x"]',
    )


def test_a_change_that_no_level_forbids_is_not_judged_again() -> None:
    server = Server()
    server.make_pod(hostNetwork=True)
    label(server, enforce="baseline")
    change = {"metadata": {"labels": {"a": "b"}}}
    assert server.ask("PATCH", f"{PODS}/web", change, content_type=MERGE).code == 200
    image = {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}
    strategic = "application/strategic-merge-patch+json"
    assert server.ask("PATCH", f"{PODS}/web", image, content_type=strategic).code == 403
