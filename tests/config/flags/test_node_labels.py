"""Labels that a node may give itself, and those that the cluster keeps for itself (spec 9.1)."""

from __future__ import annotations

import pytest

from config.flags.command_line import parse_flags
from config.flags.node_labels import may_be_set, node_label_faults


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("disk", True),
        ("example.com/disk", True),
        ("notkubernetes.io/disk", True),
        ("kubernetes.io/hostname", True),
        ("topology.kubernetes.io/zone", True),
        ("beta.kubernetes.io/arch", True),
        ("node.kubernetes.io/instance-type", True),
        ("node.kubernetes.io/pool", True),
        ("team.node.kubernetes.io/pool", True),
        ("kubelet.kubernetes.io/pool", True),
        ("node-role.kubernetes.io/worker", False),
        ("node-restriction.kubernetes.io/secure", False),
        ("kubernetes.io/pool", False),
        ("k8s.io/pool", False),
        ("x.k8s.io/pool", False),
        ("topology.kubernetes.io/rack", False),
    ],
)
# (spec 9.1.6)
def test_the_namespaces_of_kubernetes_are_closed_but_for_what_describes_a_node(key: str, allowed: bool) -> None:
    assert may_be_set(key) is allowed
    assert (not list(node_label_faults({key: "x"}))) is allowed


@pytest.mark.parametrize(
    ("key", "value"), [("-disk", "ssd"), ("disk", "s d"), ("a/b/c", "x"), ("", "x"), ("x" * 64, "")]
)
# (spec 9.1.6)
def test_an_invalid_node_label_is_refused_and_quoted(key: str, value: str) -> None:
    (fault, *_) = node_label_faults({key: value})
    assert fault.path == "--node-labels"
    assert f"{key}={value}: " in str(fault)


def test_a_command_line_with_a_forbidden_label_is_a_fault_that_says_what_to_do() -> None:
    parsed = parse_flags(["--node-labels=disk=ssd,node-role.kubernetes.io/worker="])
    assert [str(fault) for fault in parsed.faults] == [
        "--node-labels: 'node-role.kubernetes.io/worker' is in a namespace of Kubernetes, where a node may not choose"
        " its labels; put it below kubelet.kubernetes.io or node.kubernetes.io, or into a domain of your own"
    ]
    assert parsed.node.node_labels == {"disk": "ssd", "node-role.kubernetes.io/worker": ""}
