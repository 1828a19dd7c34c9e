"""`/flagz` shows every flag: what the command line says, else its default, written as Go writes it."""

from __future__ import annotations

import pytest

from config.flags.command_line import parse_flags
from config.flags.shown import flags_shown
from config.flags.table import FLAGS


def shown(*argv: str) -> dict[str, str]:
    flags = parse_flags(argv)
    assert not flags.faults
    return dict(flags_shown(flags))


def test_every_flag_is_there_with_its_default() -> None:
    flags = shown()
    assert flags.keys() == FLAGS.keys()
    assert {
        "anonymous-auth": "true",
        "authorization-mode": "AlwaysAllow",
        "cluster-dns": "[]",
        "config": "",
        "cpu-cfs-quota-period": "100ms",
        "eviction-hard": "",
        "feature-gates": "",
        "help": "false",
        "max-pods": "110",
        "node-labels": "",
        "read-only-port": "10255",
        "root-dir": "/var/lib/kubelet",
        "sync-frequency": "1m0s",
        "v": "0",
        "version": "false",
    }.items() <= flags.items()


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("--cluster-dns=10.0.0.10,10.0.0.11", "[10.0.0.10,10.0.0.11]"),
        ("--feature-gates=MemoryQoS=true,AllBeta=false", "AllBeta=false,MemoryQoS=true"),
        ("--kube-reserved=memory=1Gi,cpu=500m", "cpu=500m,memory=1Gi"),
        ("--eviction-soft=memory.available<1Gi", "memory.available<1Gi"),
        ("--node-labels=b=2,a=1", "a=1,b=2"),
        ("--register-with-taints=a=b:NoSchedule", "a=b:NoSchedule"),
        ("--reserved-memory=0:memory=1Gi", "0:memory=1Gi"),
        ("--vmodule=pleg*=4", "pleg*=4"),
        ("--sync-frequency=90s", "1m30s"),
        ("--minimum-container-ttl-duration=2h", "2h0m0s"),
        ("--hostname-override=n", "n"),
        ("--housekeeping-interval=5s", "5s"),
        ("--manifest-url=https://ann:word@example.com/pods?token=word", "https://ann:***@example.com/pods?token=***"),
        ("--manifest-url-header=Authorization:word", "Authorization:***"),
        ("--storage-driver-password=word", "***"),
    ],
)
def test_a_value_of_the_command_line_is_shown_and_no_secret(argument: str, value: str) -> None:
    name = argument[2:].partition("=")[0]
    assert shown(argument)[name] == value
    assert {flag: each for flag, each in shown(argument).items() if flag != name} == {
        flag: each for flag, each in shown().items() if flag != name
    }
