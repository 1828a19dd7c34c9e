"""Why a node refuses a pod for good (spec 10.14, 17.4, 17.5)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.resources.abilities import (
    SAFE_SYSCTLS,
    Abilities,
    apparmor_rejection,
    groups_rejection,
    sysctl_fault,
    sysctl_rejection,
)
from actors.start.cri_configs import dotted
from config.objects import AppArmorProfile, Pod, PodSecurityContext, SecurityContext, Sysctl
from tests.actors.pod_pictures import container, pod

OPEN = Abilities(unsafe_sysctls=("kernel.msg*", "net.core.somaxconn", "fs.mqueue.*", "net/ipv4/conf/eth0.1/*"))


@pytest.mark.parametrize("name", sorted(SAFE_SYSCTLS))
# (spec 17.5.1)
def test_17_5_safe_list(name: str) -> None:
    assert not sysctl_fault(name, pod("a"), Abilities())


@pytest.mark.parametrize(
    ("name", "kernel", "allowed"),
    [
        ("net.ipv4.ip_local_reserved_ports", "3.15.0", False),
        ("net.ipv4.ip_local_reserved_ports", "3.16.7-generic", True),
        ("net.ipv4.tcp_keepalive_time", "4.4.0", False),
        ("net.ipv4.tcp_keepalive_intvl", "4.5", True),
        ("net.ipv4.tcp_fin_timeout", "4.5", False),
        ("net.ipv4.tcp_rmem", "4.14.9", False),
        ("net.ipv4.tcp_wmem", "6.1.0", True),
        ("kernel.shm_rmid_forced", "2.6.0", True),
        ("net.ipv4.tcp_wmem", "", True),
    ],
)
# (spec 17.5.1)
def test_17_5_safe_since_a_kernel(name: str, kernel: str, allowed: bool) -> None:
    assert (not sysctl_fault(name, pod("a"), Abilities(kernel))) is allowed


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("kernel.msgmax", True),
        ("kernel/msgmax", True),
        ("kernel.sem", False),
        ("net.core.somaxconn", True),
        ("net.core.somaxconn2", False),
        ("fs.mqueue.msg_max", True),
        ("net/ipv4/conf/eth0.1/forwarding", True),
        ("vm.swappiness", False),
    ],
)
# (spec 17.5.1)
def test_17_5_allowed_unsafe_sysctls_are_names_or_prefixes(name: str, allowed: bool) -> None:
    assert (not sysctl_fault(name, pod("a"), OPEN)) is allowed


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("kernel.shm_rmid_forced", {"host_ipc": True}, "host ipc"),
        ("kernel.msgmax", {"host_ipc": True}, "host ipc"),
        ("fs.mqueue.msg_max", {"host_ipc": True}, "host ipc"),
        ("net.ipv4.tcp_syncookies", {"host_network": True}, "host net"),
        ("net.ipv4.tcp_syncookies", {"host_ipc": True}, ""),
        ("kernel.msgmax", {"host_network": True}, ""),
    ],
)
# (spec 17.5.2)
def test_17_5_none_of_a_namespace_that_is_the_hosts(name: str, fields: dict[str, Any], said: str) -> None:
    fault = sysctl_fault(name, pod("a", **fields), OPEN)
    assert said in fault
    assert bool(fault) is bool(said)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("kernel.shm_rmid_forced", "kernel.shm_rmid_forced"),
        ("kernel/shm_rmid_forced", "kernel.shm_rmid_forced"),
        ("net/ipv4/conf/eth0.1/forwarding", "net.ipv4.conf.eth0/1.forwarding"),
        ("net.ipv4.conf.eth0/1.forwarding", "net.ipv4.conf.eth0/1.forwarding"),
    ],
)
# (spec 17.5.3)
def test_17_5_separators_are_normalised(name: str, expected: str) -> None:
    assert dotted(name) == expected


def confined(whole: str | None, own: str | None) -> Pod:
    context = SecurityContext(app_armor_profile=AppArmorProfile(type=own)) if own else None
    pods = PodSecurityContext(app_armor_profile=AppArmorProfile(type=whole)) if whole else None
    return pod(container("a", security_context=context), security_context=pods)


@pytest.mark.parametrize(
    ("whole", "own", "refused"),
    [
        (None, None, False),
        ("Unconfined", None, False),
        ("RuntimeDefault", None, True),
        ("RuntimeDefault", "Unconfined", False),
        (None, "RuntimeDefault", True),
    ],
)
# (spec 17.4.2)
def test_17_4_a_pod_that_needs_apparmor_is_rejected_where_there_is_none(
    whole: str | None, own: str | None, refused: bool
) -> None:
    verdict = apparmor_rejection(confined(whole, own), Abilities(apparmor=False))
    assert (verdict is not None and verdict.reason == "AppArmor") is refused
    assert apparmor_rejection(confined(whole, own), Abilities(apparmor=True)) is None


# (spec 10.14.7)
def test_10_14_the_strict_groups_policy_is_rejected_where_the_runtime_does_not_know_it() -> None:
    strict = pod("a", security_context=PodSecurityContext(supplemental_groups_policy="Strict"))
    verdict = groups_rejection(strict, False)
    assert verdict is not None
    assert verdict.reason == "SupplementalGroupsPolicyNotSupported"
    assert groups_rejection(strict, True) is None
    merge = pod("a", security_context=PodSecurityContext(supplemental_groups_policy="Merge"))
    assert groups_rejection(merge, False) is None


# (spec 17.5.2)
def test_10_14_the_sysctl_that_is_forbidden_is_named() -> None:
    context = PodSecurityContext(sysctls=(Sysctl(name="net.ipv4.tcp_syncookies"), Sysctl(name="kernel.sem")))
    verdict = sysctl_rejection(pod("a", security_context=context), Abilities())
    assert verdict is not None
    assert verdict.reason == "SysctlForbidden"
    assert verdict.message == 'forbidden sysctl: "kernel.sem" not allowlisted'
