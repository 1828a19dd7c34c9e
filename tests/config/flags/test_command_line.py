"""The kubelet's command line is read as the kubelet reads it, and every mistake is told at once."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.flags.command_line import UNHONOURED, NodeFlags, apply_flags, parse_flags
from config.flags.table import FLAGS, FlagKind
from config.kubelet import (
    KubeletConfiguration,
    MemoryReservation,
    RegisteredTaint,
    default_configuration,
    validate,
)
from config.kubelet.configuration import VerbosityByFile

EXAMPLES: dict[FlagKind, tuple[str, Any]] = {
    FlagKind.TEXT: ("some text", "some text"),
    FlagKind.BOOLEAN: ("true", True),
    FlagKind.SWITCH: ("true", True),
    FlagKind.VERSION: ("raw", "raw"),
    FlagKind.INT32: ("7", 7),
    FlagKind.INT64: ("5000000000", 5_000_000_000),
    FlagKind.DURATION: ("1m30s", 90 * 10**9),
    FlagKind.LIST: ("a,b", ("a", "b")),
    FlagKind.PAIRS: ("a=b,c=d=e", {"a": "b", "c": "d=e"}),
    FlagKind.GATES: ("MemoryQoS=true", {"MemoryQoS": True}),
    FlagKind.THRESHOLDS: ("memory.available<5%", {"memory.available": "5%"}),
    FlagKind.HEADERS: ("a:x,a:y,b:z", {"a": ("x", "y"), "b": ("z",)}),
    FlagKind.TAINTS: (
        "a=b:NoSchedule,c:NoExecute",
        (RegisteredTaint(key="a", value="b", effect="NoSchedule"), RegisteredTaint(key="c", effect="NoExecute")),
    ),
    FlagKind.MEMORY: (
        "0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi",
        (
            MemoryReservation(numa_node=0, limits={"memory": "1Gi", "hugepages-1Gi": "2Gi"}),
            MemoryReservation(numa_node=1, limits={"memory": "1Gi"}),
        ),
    ),
    FlagKind.VMODULE: (
        "pleg=5,sync*=4",
        (VerbosityByFile(file_pattern="pleg", verbosity=5), VerbosityByFile(file_pattern="sync*", verbosity=4)),
    ),
}


def value_at(part: Any, attribute: str) -> Any:
    for name in attribute.split("."):
        part = getattr(part, name)
    return part


@pytest.mark.parametrize("name", sorted(FLAGS))
# (spec 12.3.1)
def test_every_flag_reaches_the_place_it_is_for(name: str) -> None:
    flag = FLAGS[name]
    text, expected = EXAMPLES[flag.kind]
    parsed = parse_flags([f"--{name}={text}"])
    if flag.configures:
        configuration = apply_flags(default_configuration(), parsed)
        assert value_at(configuration, flag.attribute) == expected
    elif flag.attribute:
        assert value_at(parsed.node, flag.attribute) == expected
    else:
        assert parsed.node == NodeFlags()
        assert not parsed.settings
    assert len(parsed.warnings) == (flag.deprecated or flag.attribute in UNHONOURED)


@pytest.mark.parametrize(
    "argv",
    [
        ["--max-pods", "7"],
        ["--max-pods=7"],
        ["--max_pods=7"],
        ["--max-pods=9", "--max-pods=7"],
        ["--max-pods", "0x7"],
    ],
)
def test_a_number_may_be_written_in_every_way_the_kubelet_takes(argv: list[str]) -> None:
    parsed = parse_flags(argv)
    assert not parsed.faults
    assert parsed.settings == {"max_pods": 7}


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["--fail-swap-on"], True),
        (["--fail-swap-on=true"], True),
        (["--fail-swap-on=0"], False),
        (["--fail-swap-on=F"], False),
        (["--fail-swap-on", "--max-pods=3"], True),
    ],
)
def test_a_switch_needs_no_value_and_never_takes_the_next_argument(argv: list[str], expected: bool) -> None:
    parsed = parse_flags(argv)
    assert not parsed.faults
    assert parsed.settings["fail_swap_on"] is expected


@pytest.mark.parametrize("argv", [["-v", "4"], ["-v=4"], ["-v4"], ["--v", "4"], ["--v=4"]])
def test_verbosity_has_a_short_form(argv: list[str]) -> None:
    parsed = parse_flags(argv)
    assert (parsed.faults, parsed.warnings) == ((), ())
    assert apply_flags(KubeletConfiguration(), parsed).logging.verbosity == 4


@pytest.mark.parametrize("argv", [["-h"], ["--help"]])
def test_help_is_asked_for(argv: list[str]) -> None:
    assert parse_flags(argv).node.help


@pytest.mark.parametrize(
    ("argv", "expected"), [(["--version"], "true"), (["--version=raw"], "raw"), (["--version=false"], "")]
)
def test_version_is_asked_for(argv: list[str], expected: str) -> None:
    assert parse_flags(argv).node.version == expected


@pytest.mark.parametrize(
    ("argv", "attribute", "expected"),
    [
        (["--cluster-dns=10.0.0.1", "--cluster-dns=10.0.0.2"], "cluster_dns", ("10.0.0.1", "10.0.0.2")),
        (["--kube-reserved=cpu=1", "--kube-reserved", "memory=1Gi"], "kube_reserved", {"cpu": "1", "memory": "1Gi"}),
        (["--eviction-hard="], "eviction_hard", {}),
        (["--resolv-conf", ""], "resolv_conf", ""),
        (["--oom-score-adj", "-5"], "oom_score_adj", -5),
        (
            ["--eviction-soft-grace-period=memory.available=1m30s"],
            "eviction_soft_grace_period",
            {"memory.available": "1m30s"},
        ),
    ],
)
def test_lists_and_maps_grow_when_repeated(argv: list[str], attribute: str, expected: object) -> None:
    parsed = parse_flags(argv)
    assert not parsed.faults
    assert parsed.settings[attribute] == expected


@pytest.mark.parametrize(
    ("argv", "path", "reason", "hint"),
    [
        (["--max-pod=3"], "--max-pod", "unknown flag", "did you mean --max-pods?"),
        (["--max-pod", "3"], "--max-pod", "unknown flag", "did you mean --max-pods?"),
        (["--zzzzzzzz"], "--zzzzzzzz", "unknown flag", "see --help"),
        (["--port=x"], "--port", "'x' is not a whole number", "write --port=<number>"),
        (["--port=3000000000"], "--port", "3000000000 does not fit 32 bits", "write --port=<number>"),
        (
            ["--fail-swap-on=maybe"],
            "--fail-swap-on",
            "'maybe' is neither true nor false",
            "write --fail-swap-on=<true|false>",
        ),
        (["--kubeconfig"], "--kubeconfig", "needs a value", "write --kubeconfig=<text>"),
        (["--kubeconfig", "--max-pods=3"], "--kubeconfig", "needs a value", "write --kubeconfig=<text>"),
        (["run"], "run", "unknown command", "flags only; write --flag=value"),
        (["--", "run"], "run", "unknown command", "flags only; write --flag=value"),
        (
            ["--register-node", "false"],
            "false",
            "unknown command",
            "a switch takes its value after an equals sign: --flag=false",
        ),
        (["-x"], "-x", "unknown short flag", "short flags are -v and -h"),
        (["-config=/a"], "-config=/a", "unknown short flag", "write --config"),
        (
            ["--eviction-hard=memory.available"],
            "--eviction-hard",
            "'memory.available' is not key<value",
            "write --eviction-hard=<signal<amount,...>",
        ),
        (
            ["--register-with-taints=a"],
            "--register-with-taints",
            "'a' is not key=value:effect",
            "write --register-with-taints=<key=value:effect,...>",
        ),
        (
            ["--reserved-memory=memory=1"],
            "--reserved-memory",
            "'memory=1' is not node:memory=amount",
            "write --reserved-memory=<node:memory=amount,...;...>",
        ),
        (["--vmodule=a"], "--vmodule", "'a' is not file=level", "write --vmodule=<file=level,...>"),
        (
            ["--feature-gates=A"],
            "--feature-gates",
            "'A' is not Gate=true or Gate=false",
            "write --feature-gates=<Gate=true,...>",
        ),
        (["--exit-on-lock-contention"], "--exit-on-lock-contention", "needs --lock-file", "give --lock-file=<path>"),
        (["--cloud-provider=aws"], "--cloud-provider", "'aws' is no longer built in", "use external, or remove it"),
        (["--node-ip=here"], "--node-ip", "'here' is not an IP address", "write 192.0.2.1"),
        (["--node-ip=1.2.3.4,1.2.3.5"], "--node-ip", "at most one address of each family", "write IPv4,IPv6"),
        (
            ["--image-credential-provider-config=/a"],
            "--image-credential-provider-bin-dir",
            "is missing beside its other half",
            "give both, or neither",
        ),
        (["--windows-service"], "--windows-service", "cannot be used", "it exists on Windows only"),
    ],
)
def test_a_mistake_is_one_fault(argv: list[str], path: str, reason: str, hint: str) -> None:
    (fault,) = parse_flags(argv).faults
    assert (fault.path, fault.reason, fault.hint) == (path, reason, hint)


def test_every_mistake_is_told_and_the_rest_is_read() -> None:
    parsed = parse_flags(["--port=x", "--nonsense", "later", "--root-dir=/r", "--sync-frequency=1", "--node-ip=::1"])
    assert [fault.path for fault in parsed.faults] == ["--port", "--nonsense", "--sync-frequency"]
    assert (parsed.node.root_dir, parsed.node.node_ip) == ("/r", "::1")


# (spec 12.3.1)
def test_a_deprecated_flag_is_one_warning_that_names_the_field() -> None:
    parsed = parse_flags(["--cluster-dns=10.0.0.1", "--cluster-dns=10.0.0.2", "--client-ca-file=/ca"])
    assert [str(warning) for warning in parsed.warnings] == [
        "--cluster-dns: deprecated; set clusterDNS in the file of --config",
        "--client-ca-file: deprecated; set authentication.x509.clientCAFile in the file of --config",
    ]


# (spec 12.1.1)
def test_gates_merge_and_everything_else_replaces() -> None:
    configuration = KubeletConfiguration(feature_gates={"A": True, "B": True}, kube_reserved={"cpu": "1"})
    changed = apply_flags(configuration, parse_flags(["--feature-gates=B=false", "--kube-reserved=memory=1Gi"]))
    assert changed.feature_gates == {"A": True, "B": False}
    assert changed.kube_reserved == {"memory": "1Gi"}


def test_a_setting_inside_a_part_leaves_its_neighbours() -> None:
    changed = apply_flags(default_configuration(), parse_flags(["--anonymous-auth=true", "--client-ca-file=/ca"]))
    assert changed.authentication.anonymous.enabled
    assert changed.authentication.x509.client_ca_file == "/ca"
    assert changed.authentication.webhook.enabled


def test_the_unit_file_that_kubeadm_writes_starts() -> None:
    line = (
        "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf "
        "--config=/var/lib/kubelet/config.yaml --container-runtime-endpoint=unix:///run/containerd/containerd.sock "
        "--node-ip=192.0.2.7 --node-labels=a=b"
    )
    parsed = parse_flags(line.split())
    assert not parsed.faults
    assert parsed.node.config == "/var/lib/kubelet/config.yaml"
    assert not validate(apply_flags(default_configuration(), parsed)).faults
    assert [warning.path for warning in parsed.warnings] == ["--container-runtime-endpoint"]


def test_a_flag_that_kubelets_knew_once_is_refused_as_a_kubelet_refuses_it() -> None:
    parsed = parse_flags(["--network-plugin=cni", "--allow-privileged", "--pod-infra-container-image", "pause:3.9"])
    assert [fault.path for fault in parsed.faults] == [
        "--network-plugin",
        "--allow-privileged",
        "--pod-infra-container-image",
    ]
    assert all(fault.hint.startswith("remove it") for fault in parsed.faults)
    assert not parsed.warnings


@given(st.lists(st.one_of(st.text(max_size=12), st.sampled_from([f"--{name}" for name in FLAGS])), max_size=8))
def test_no_command_line_breaks_the_reader(argv: list[str]) -> None:
    parsed = parse_flags(argv)
    assert all(fault.reason and fault.hint for fault in parsed.faults)
    apply_flags(default_configuration(), parsed)
