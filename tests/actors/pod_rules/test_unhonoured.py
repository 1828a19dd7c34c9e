"""What a pod asks for and does not get yet is named by its path."""

from __future__ import annotations

from typing import Any

import pytest

from actors.pod.steps.fields_honoured import unhonoured_fields, warning
from config.documents.codec import from_builtins
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
        ({}, {"lifecycle": {"postStart": HOOK, "preStop": HOOK}}, ()),
        ({}, {"lifecycle": {"stopSignal": "SIGUSR1"}}, ("$.spec.containers[1].lifecycle.stopSignal",)),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.0.0.10"]}}, {}, ()),
        ({"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["x"]}], "overhead": {"cpu": "1"}}, {}, ()),
        ({"imagePullSecrets": [{"name": "s"}], "runtimeClassName": "gvisor"}, {}, ()),
        (
            {"initContainers": [{"name": "i", "image": "x", "lifecycle": {"stopSignal": "SIGHUP"}}]},
            {"lifecycle": {"stopSignal": "SIGUSR1"}},
            ("$.spec.initContainers[0].lifecycle.stopSignal", "$.spec.containers[1].lifecycle.stopSignal"),
        ),
        (
            {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]},
            {"resources": {"claims": [{"name": "gpu"}]}},
            (),  # its sandbox is refused
        ),
        ({"securityContext": {"seLinuxChangePolicy": "Recursive"}}, {"resources": {"limits": {"cpu": "1"}}}, ()),
        (
            {"securityContext": {"seLinuxChangePolicy": "MountOption", "windowsOptions": {}}},
            {"securityContext": {"windowsOptions": {"hostProcess": False}}},
            (
                "$.spec.securityContext.windowsOptions",
                "$.spec.containers[1].securityContext.windowsOptions",
            ),
        ),
        ({"volumes": [{"name": "a", "emptyDir": {}}]}, {}, ()),
    ],
)
def test_a_field_that_is_not_honoured_is_named(
    spec: dict[str, Any], container: dict[str, Any], paths: tuple[str, ...]
) -> None:
    assert unhonoured_fields(pod_with(spec, **container)) == paths


def test_the_warning_names_every_path() -> None:
    assert warning(("$.a", "$.b")).endswith("$.a, $.b")


# (spec 3.8.10)
def test_a_stop_signal_is_honoured_where_its_feature_gate_is_on() -> None:
    pod = pod_with({}, lifecycle={"stopSignal": "SIGUSR1"})
    assert unhonoured_fields(pod, stop_signals=True) == ()
