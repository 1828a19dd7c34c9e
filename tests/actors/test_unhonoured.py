"""What a pod asks for and does not get yet is named by its path."""

from __future__ import annotations

from typing import Any

import pytest

from actors.unhonoured import unhonoured_fields, warning
from config.codec import from_builtins
from config.objects import Pod

PROBE = {"tcpSocket": {"port": 80}}
HOOK = {"exec": {"command": ["true"]}}


def pod_with(spec: dict[str, Any], **container: Any) -> Pod:
    containers = [{"name": "a", "image": "b"}, {"name": "c", "image": "d", **container}]
    return from_builtins({"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}, Pod)


@pytest.mark.parametrize(
    ("spec", "container", "paths"),
    [
        ({}, {}, ()),
        ({"dnsPolicy": "ClusterFirst", "restartPolicy": "Never"}, {"stdin": True}, ()),
        ({}, {"livenessProbe": PROBE, "readinessProbe": PROBE, "startupProbe": PROBE}, ()),
        ({}, {"lifecycle": {"postStart": HOOK}}, ("$.spec.containers[1].lifecycle.postStart",)),
        ({}, {"lifecycle": {"preStop": HOOK}}, ("$.spec.containers[1].lifecycle.preStop",)),
        ({}, {"lifecycle": {"stopSignal": "SIGUSR1"}}, ("$.spec.containers[1].lifecycle.stopSignal",)),
        ({"dnsConfig": {"nameservers": ["10.0.0.10"]}}, {}, ("$.spec.dnsConfig",)),
        ({"dnsPolicy": "None"}, {}, ("$.spec.dnsPolicy",)),
        ({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["x"]}]}, {}, ("$.spec.hostAliases",)),
        ({"imagePullSecrets": [{"name": "s"}], "runtimeClassName": "gvisor"}, {}, ()),
        (
            {"initContainers": [{"name": "i", "image": "x", "lifecycle": {"preStop": HOOK}}]},
            {"lifecycle": {"preStop": HOOK}},
            ("$.spec.initContainers[0].lifecycle.preStop", "$.spec.containers[1].lifecycle.preStop"),
        ),
        (
            {},
            {
                "restartPolicy": "Never",
                "restartPolicyRules": [
                    {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}},
                    {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [2]}},
                ],
            },
            ("$.spec.containers[1].restartPolicyRules[1].action",),
        ),
    ],
)
def test_a_field_that_is_not_honoured_is_named(
    spec: dict[str, Any], container: dict[str, Any], paths: tuple[str, ...]
) -> None:
    assert unhonoured_fields(pod_with(spec, **container)) == paths


def test_the_warning_names_every_path() -> None:
    assert warning(("$.a", "$.b")).endswith("$.a, $.b")
