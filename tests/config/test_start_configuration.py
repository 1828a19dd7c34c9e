"""Defaults, file, drop-ins, flags: the later wins, and any fault stops the start (spec 12.1)."""

import pytest

from config.flags.command_line import parse_flags
from config.kubelet.drop_ins import NamedBytes
from config.kubelet.eviction import DEFAULT_EVICTION_HARD
from config.start_configuration import ConfigurationRejected, load_kubelet_configuration

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def named(name: str, body: str) -> NamedBytes:
    return NamedBytes(name, (HEADER + body).encode())


@pytest.mark.parametrize(
    ("file", "drop_in", "flags", "expected"),
    [
        ("", "", [], 110),
        ("maxPods: 1", "", [], 1),
        ("maxPods: 1", "maxPods: 2", [], 2),
        ("maxPods: 1", "maxPods: null", [], 110),
        ("maxPods: 1", "maxPods: 2", ["--max-pods=3"], 3),
        ("", "", ["--max-pods=3"], 3),
    ],
)
# (spec 12.1.1)
def test_the_later_source_wins(file: str, drop_in: str, flags: list[str], expected: int) -> None:
    loaded = load_kubelet_configuration(parse_flags(flags), named("/k", file), [named("/d/a.conf", drop_in)])
    assert loaded.configuration.max_pods == expected


# (spec 12.1.1)
def test_gates_of_all_sources_merge() -> None:
    loaded = load_kubelet_configuration(
        parse_flags(["--feature-gates=MemoryQoS=false,EventedPLEG=true"]),
        named("/k", "featureGates: {MemoryQoS: true, ContainerCheckpoint: false}"),
        [named("/d/a.conf", "featureGates: {SELinuxMount: true}")],
    )
    assert {
        name: loaded.gates.enabled(name) for name in ("MemoryQoS", "EventedPLEG", "ContainerCheckpoint", "SELinuxMount")
    } == {"MemoryQoS": False, "EventedPLEG": True, "ContainerCheckpoint": False, "SELinuxMount": True}


# (spec 7.1.3)
def test_thresholds_are_set_by_a_file_only() -> None:
    none = parse_flags([])
    assert load_kubelet_configuration(none).configuration.eviction_hard == {}
    assert load_kubelet_configuration(none, named("/k", "")).configuration.eviction_hard == DEFAULT_EVICTION_HARD
    chosen = load_kubelet_configuration(none, named("/k", "evictionHard: {pid.available: 5%}"))
    assert chosen.configuration.eviction_hard == {"pid.available": "5%"}
    flag = load_kubelet_configuration(parse_flags(["--eviction-hard=pid.available<7%"]), named("/k", ""))
    assert flag.configuration.eviction_hard == {"pid.available": "7%"}


# (spec 12.1.2)
def test_without_a_file_the_node_is_as_open_as_the_kubelet_is() -> None:
    legacy = load_kubelet_configuration(parse_flags([])).configuration
    secure = load_kubelet_configuration(parse_flags([]), named("/k", "")).configuration
    assert (legacy.authorization.mode, legacy.read_only_port) == ("AlwaysAllow", 10255)
    assert (secure.authorization.mode, secure.read_only_port) == ("Webhook", 0)


def test_everything_wrong_is_told_at_once_one_line_each() -> None:
    with pytest.raises(ConfigurationRejected) as rejected:
        load_kubelet_configuration(
            parse_flags(["--max-pod=3", "--pods-per-core=-1"]),
            named("/k", "port: x\nmaxPods: -1"),
            [named("/d/a.conf", "nonsense: 1")],
        )
    lines = str(rejected.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == ["--max-pod", "/k", "/d/a.conf", "$.maxPods", "$.podsPerCore"]


def test_an_unreadable_field_is_not_told_twice() -> None:
    body = "authorization: {mode: 3}\npodLogsDir: 7"
    with pytest.raises(ConfigurationRejected) as rejected:
        load_kubelet_configuration(parse_flags([]), named("/k", body))
    assert [fault.path for fault in rejected.value.faults] == ["/k: $.authorization.mode", "/k: $.podLogsDir"]


def test_warnings_of_all_sources_do_not_stop_the_start() -> None:
    loaded = load_kubelet_configuration(
        parse_flags(["--max-pods=3"]),
        named("/k", "hairpinMode: none\nclusterDNS: [dns]"),
        [NamedBytes("/d/README", b"")],
    )
    assert [warning.path for warning in loaded.warnings] == ["--max-pods", "/k: $.hairpinMode", "$.clusterDNS[0]"]
    assert loaded.skipped == ("/d/README",)


def test_a_fact_of_the_host_takes_part() -> None:
    file = named("/k", "singleProcessOOMKill: false")
    load_kubelet_configuration(parse_flags([]), file, cgroup_version=2)
    with pytest.raises(ConfigurationRejected, match="cgroup v1"):
        load_kubelet_configuration(parse_flags([]), file, cgroup_version=1)
