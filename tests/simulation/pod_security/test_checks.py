"""What pods of a level may not do, as a table."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.pod_security.checks import faults_of
from simulation.pod_security.levels import in_detail

GOOD: dict[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SAFE: dict[str, Any] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def spec(context: Any = None, of_pod: Any = None, container: Any = None, **more: Any) -> dict[str, Any]:
    """A pod that is good at every level, with changes."""
    main = {"name": "main", "securityContext": {**GOOD, **(context or {})}, **(container or {})}
    return {"securityContext": {**SAFE, **(of_pod or {})}, "containers": [main], **more}


def said(level: str, minor: int | None, pod: Any, annotations: Any = None) -> str:
    return in_detail(faults_of(level, minor, {"annotations": annotations or {}}, pod))


def test_a_good_pod_has_no_faults_at_any_version() -> None:
    for level in ("privileged", "baseline", "restricted"):
        assert [minor for minor in (*range(40), None) if said(level, minor, spec())] == []


def test_a_privileged_namespace_lets_everything_pass() -> None:
    assert said("privileged", None, spec({"privileged": True}, hostNetwork=True)) == ""


@pytest.mark.parametrize(
    ("pod", "fault"),
    [
        (spec(hostIPC=True, hostPID=True), "host namespaces (hostPID=true, hostIPC=true)"),
        (spec(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), 'hostPath volumes (volume "v")'),
        (
            spec({"privileged": True}),
            'privileged (container "main" must not set securityContext.privileged=true)',
        ),
        (
            spec({"capabilities": {"add": ["NET_ADMIN", "CHOWN", "BPF"]}}),
            'non-default capabilities (container "main" must not include "BPF", "NET_ADMIN" in '
            "securityContext.capabilities.add)",
        ),
        (
            spec(container={"ports": [{"containerPort": 1, "hostPort": 80}, {"containerPort": 2, "hostPort": 443}]}),
            'hostPort (container "main" uses hostPorts 443, 80)',
        ),
        (
            spec(container={"livenessProbe": {"httpGet": {"port": 1, "host": "h"}}}),
            'probe or lifecycle host (container "main" uses probe or lifecycle host "h")',
        ),
        (
            spec({"procMount": "Unmasked"}),
            'procMount (container "main" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            spec({"seLinuxOptions": {"type": "t", "role": "r"}}, {"seLinuxOptions": {"user": "u"}}),
            'seLinuxOptions (pod and container "main" set forbidden securityContext.seLinuxOptions: type "t"; '
            "user may not be set; role may not be set)",
        ),
        (
            spec(of_pod={"seccompProfile": {"type": "Unconfined"}}),
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (spec(of_pod={"sysctls": [{"name": "kernel.msgmax"}]}), "forbidden sysctls (kernel.msgmax)"),
        (
            spec({"windowsOptions": {"hostProcess": True}}),
            'hostProcess (container "main" must not set securityContext.windowsOptions.hostProcess=true)',
        ),
        (
            spec({"appArmorProfile": {"type": "Unconfined"}}),
            'forbidden AppArmor profile (container "main" must not set AppArmor profile type to "Unconfined")',
        ),
    ],
    ids=lambda value: value.partition(" (")[0] if isinstance(value, str) else "",
)
def test_baseline_refuses(pod: Any, fault: str) -> None:
    assert said("baseline", None, pod) == fault


@pytest.mark.parametrize(
    ("pod", "fault"),
    [
        (
            spec({"allowPrivilegeEscalation": None}),
            'allowPrivilegeEscalation != false (container "main" must set '
            "securityContext.allowPrivilegeEscalation=false)",
        ),
        (
            spec({"capabilities": {"add": ["CHOWN", "NET_BIND_SERVICE"]}}),
            'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]; '
            'container "main" must not include "CHOWN" in securityContext.capabilities.add)',
        ),
        (
            spec(volumes=[{"name": "v", "hostPath": {}}, {"name": "w", "emptyDir": {}}]),
            'restricted volume types (volume "v" uses restricted volume type "hostPath")',
        ),
        (
            spec(of_pod={"runAsNonRoot": None}),
            'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true)',
        ),
        (
            spec({"runAsNonRoot": False}),
            'runAsNonRoot != true (container "main" must not set securityContext.runAsNonRoot=false)',
        ),
        (spec(of_pod={"runAsUser": 0}), "runAsUser=0 (pod must not set runAsUser=0)"),
        (
            spec(of_pod={"seccompProfile": None}),
            'seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to '
            '"RuntimeDefault" or "Localhost")',
        ),
    ],
    ids=lambda value: value.partition(" (")[0] if isinstance(value, str) else "",
)
def test_restricted_refuses(pod: Any, fault: str) -> None:
    assert said("restricted", None, pod) == fault


@pytest.mark.parametrize(
    ("level", "pod", "since"),
    [
        ("restricted", spec(of_pod={"runAsUser": 0}), 23),
        ("restricted", spec(of_pod={"seccompProfile": None}), 19),
        ("baseline", spec(container={"livenessProbe": {"tcpSocket": {"port": 1, "host": "h"}}}), 34),
    ],
)
def test_a_check_begins_with_a_version(level: str, pod: Any, since: int) -> None:
    assert (said(level, since - 1, pod), bool(said(level, since, pod))) == ("", True)


@pytest.mark.parametrize(
    ("pod", "until"),
    [
        (spec({"allowPrivilegeEscalation": None}, os={"name": "windows"}), 25),
        (spec(of_pod={"runAsNonRoot": None}, hostUsers=False), 35),
        (spec({"seLinuxOptions": {"type": "container_engine_t"}}), 31),
        (spec(of_pod={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]}), 32),
    ],
)
def test_a_check_is_relaxed_by_a_version(pod: Any, until: int) -> None:
    assert (bool(said("restricted", until - 1, pod)), said("restricted", until, pod)) == (True, "")


def test_old_versions_read_annotations_of_seccomp() -> None:
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    assert said("baseline", 18, spec(), annotations) == (
        'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")'
    )
    assert said("baseline", 19, spec(), annotations) == ""
