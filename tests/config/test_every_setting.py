"""Every setting works as described, or the user is warned: `docs/reference/settings.md` is true.

All flags and gates of a kubelet 1.36 are listed here, so that the page misses none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.flags.command_line import apply_flags, parse_flags
from config.flags.table import FLAGS, REFUSED, FlagKind
from config.kubelet import KubeletConfiguration, default_configuration, validate
from config.kubelet.feature_gates import ALL_OF_STAGE, GATES, NOT_BUILT, choose_gates
from config.kubelet.gate_dependencies import NEEDS
from config.kubelet.reading import DEPRECATED_FIELDS, read_plain
from config.kubelet.shapes import FieldShape, ListOf, MapOf, PartOf, Scalar, Shape, fields_of
from config.kubelet.unhonoured import ABSENT_GATES, unhonoured_gates

ROOT = Path(__file__).parents[2]
HONOURED, WARNED, REFUSED_HERE, AS_ITS_FIELD = "honoured", "warned", "refused", "as its field"

# Of cmd/kubelet/app/options of 1.36.2, and of the libraries that add to it: logs, version, help, cAdvisor.
_UPSTREAM = """
    address allowed-unsafe-sysctls anonymous-auth application-metrics-count-limit authentication-token-webhook
    authentication-token-webhook-cache-ttl authorization-mode authorization-webhook-cache-authorized-ttl
    authorization-webhook-cache-unauthorized-ttl boot-id-file bootstrap-kubeconfig cert-dir cgroup-driver
    cgroup-root cgroups-per-qos client-ca-file cloud-provider cluster-dns cluster-domain config config-dir
    container-hints container-log-max-files container-log-max-size container-runtime-endpoint containerd
    containerd-namespace contention-profiling cpu-cfs-quota cpu-cfs-quota-period cpu-manager-policy
    cpu-manager-policy-options cpu-manager-reconcile-period enable-controller-attach-detach
    enable-debugging-handlers enable-load-reader enable-server enforce-node-allocatable event-burst event-qps
    event-storage-age-limit event-storage-event-limit eviction-hard eviction-max-pod-grace-period
    eviction-minimum-reclaim eviction-pressure-transition-period eviction-soft eviction-soft-grace-period
    exit-on-lock-contention experimental-allocatable-ignore-eviction experimental-mounter-path fail-cgroupv1
    fail-swap-on feature-gates file-check-frequency global-housekeeping-interval hairpin-mode healthz-bind-address
    healthz-port help hostname-override housekeeping-interval http-check-frequency image-credential-provider-bin-dir
    image-credential-provider-config image-gc-high-threshold image-gc-low-threshold image-service-endpoint
    kernel-memcg-notification kube-api-burst kube-api-content-type kube-api-qps kube-reserved kube-reserved-cgroup
    kubeconfig kubelet-cgroups local-storage-capacity-isolation lock-file log-cadvisor-usage log-flush-frequency
    log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream logging-format
    machine-id-file make-iptables-util-chains manifest-url manifest-url-header max-housekeeping-interval
    max-open-files max-pods maximum-dead-containers maximum-dead-containers-per-container memory-manager-policy
    minimum-container-ttl-duration minimum-image-ttl-duration node-ip node-labels node-status-max-images
    node-status-update-frequency oom-score-adj pod-cidr pod-manifest-path pod-max-pids pods-per-core port
    protect-kernel-defaults provider-id qos-reserved read-only-port register-node register-with-taints
    registry-burst registry-qps reserved-cpus reserved-memory resolv-conf root-dir rotate-certificates
    rotate-server-certificates runonce runtime-cgroups runtime-request-timeout seccomp-default serialize-image-pulls
    storage-driver-buffer-duration storage-driver-db storage-driver-host storage-driver-password
    storage-driver-secure storage-driver-table storage-driver-user streaming-connection-idle-timeout sync-frequency
    system-cgroups system-reserved system-reserved-cgroup tls-cert-file tls-cipher-suites tls-min-version
    tls-private-key-file topology-manager-policy topology-manager-policy-options topology-manager-scope v version
    vmodule volume-plugin-dir volume-stats-agg-period
"""
UPSTREAM_FLAGS = frozenset(_UPSTREAM.split())


class Row(msgspec.Struct, frozen=True):
    name: str
    outcome: str
    reason: str


@cache
def rows(heading: str) -> dict[str, Row]:
    """The table below a heading of the page, by the first column."""
    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            name, *_, outcome, reason = cells
            found[name.strip("`")] = Row(name.strip("`"), outcome, reason)
    return found


def leaves(struct: type[msgspec.Struct], path: str = "") -> Iterator[tuple[str, FieldShape]]:
    """Every field with a value of its own, by its path in the document."""
    for name, field in fields_of(struct).items():
        if isinstance(field.shape, PartOf):
            yield from leaves(field.shape.type, f"{path}{name}.")
        else:
            yield f"{path}{name}", field


FIELDS = dict(leaves(KubeletConfiguration))


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def names(path: str, attribute: str = "") -> set[str]:
    """How a test may name a setting: as documents do, as the code does, or as the flag."""
    last = path.rpartition(".")[2]
    flags = {flag.name for flag in FLAGS.values() if flag.configures and flag.field == path}
    return {last, attribute or last, *flags}


def assert_shown(row: Row, called: set[str]) -> None:
    """The test that the row names exists, and its file names the setting."""
    file, _, function = row.reason.strip("`").partition("::")
    assert function in functions(file), f"{row.name}: there is no test {row.reason}"
    text = (ROOT / file).read_text()
    assert any(word in text for word in called), f"{file} does not name {row.name}"


# Values -----------------------------------------------------------------------------------------------------------

_TEXT = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)


def values(shape: Shape) -> st.SearchStrategy[Any]:
    """What a document may have there."""
    if isinstance(shape, PartOf):
        return st.fixed_dictionaries({name: values(field.shape) for name, field in fields_of(shape.type).items()})
    if isinstance(shape, ListOf):
        return st.lists(values(shape.item), min_size=1, max_size=2)
    if isinstance(shape, MapOf):
        return st.dictionaries(_TEXT, values(shape.item), min_size=1, max_size=2)
    return scalars(shape)


def scalars(shape: Scalar) -> st.SearchStrategy[Any]:
    if shape.form.duration:
        return st.integers(1, 10**6).map(lambda seconds: f"{seconds}s")
    if shape.form.number_too:
        return st.integers(1, 10**6).map(lambda number: f"{number}Ki")
    if shape.type is bool:
        return st.booleans()
    if shape.type is int:
        return st.integers(1, 10**6)
    return st.floats(0.01, 1) if shape.type is float else _TEXT


TEXTS: dict[FlagKind, st.SearchStrategy[str]] = {
    FlagKind.TEXT: _TEXT,
    FlagKind.BOOLEAN: st.sampled_from(["true", "false"]),
    FlagKind.SWITCH: st.sampled_from(["true", "false"]),
    FlagKind.INT32: st.integers(1, 10**6).map(str),
    FlagKind.INT64: st.integers(1, 10**6).map(str),
    FlagKind.DURATION: st.integers(1, 10**6).map(lambda seconds: f"{seconds}s"),
    FlagKind.LIST: _TEXT,
    FlagKind.PAIRS: st.tuples(_TEXT, _TEXT).map("=".join),
    FlagKind.GATES: st.sampled_from(sorted(GATES)).map(lambda gate: f"{gate}=true"),
    FlagKind.THRESHOLDS: st.tuples(_TEXT, _TEXT).map("<".join),
    FlagKind.HEADERS: st.tuples(_TEXT, _TEXT).map(":".join),
    FlagKind.TAINTS: _TEXT.map(lambda key: f"{key}=value:NoSchedule"),
    FlagKind.MEMORY: st.integers(0, 9).map(lambda node: f"{node}:memory=1Gi"),
    FlagKind.VMODULE: _TEXT.map(lambda file: f"{file}=4"),
    FlagKind.VERSION: st.sampled_from(["true", "raw"]),
}


# Fields -----------------------------------------------------------------------------------------------------------


def test_the_page_has_every_field_and_no_other() -> None:
    assert set(rows("Fields of KubeletConfiguration")) == set(FIELDS)


@pytest.mark.parametrize("path", sorted(FIELDS))
def test_a_field_that_is_honoured_has_a_test(path: str) -> None:
    row = rows("Fields of KubeletConfiguration")[path]
    assert row.outcome in (HONOURED, WARNED, REFUSED_HERE)
    if row.outcome == HONOURED:
        assert_shown(row, names(path, FIELDS[path].attribute))


@given(st.data())
# (spec 12.2.1)
def test_a_field_at_any_other_value_is_honoured_refused_or_warned_of(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(FIELDS)))
    if path in ("apiVersion", "kind"):
        return
    value = data.draw(values(FIELDS[path].shape))
    document: Any = value
    for name in reversed(path.split(".")):
        document = {name: document}
    assert_told(path, document)


def assert_told(path: str, document: dict[str, Any]) -> None:
    read = read_plain(document)
    assert not read.faults, "the value is of the field's type"
    checked = validate(read.configuration)
    said = {each.path for each in (*read.warnings, *checked.faults, *checked.warnings)}
    told = any(f"$.{path}".startswith(each) or each.startswith(f"$.{path}") for each in said)
    row = rows("Fields of KubeletConfiguration")[path]
    if row.outcome == HONOURED or at(read.configuration, path) == at(default_configuration(), path):
        return
    kept = not told and path in KEPT and at(read.configuration, path) in KEPT[path]
    assert told or kept, f"{document} does nothing, and nobody is told"


KEPT: dict[str, tuple[object, ...]] = {
    "contentType": ("application/json",),
}
"""Values of fields that are else not honoured, and these are."""


def at(configuration: KubeletConfiguration, path: str) -> Any:
    part: Any = configuration
    for name in path.split("."):
        if part is not None:
            struct: type[msgspec.Struct] = type(part)
            part = getattr(part, fields_of(struct)[name].attribute)
    return part


@pytest.mark.parametrize("path", sorted(FIELDS))
def test_a_field_that_is_not_honoured_is_named_at_some_value(path: str) -> None:
    """Each field at a value that is surely not its default; the property above draws the others."""
    if path in ("apiVersion", "kind"):
        return
    value: Any = SOME[type(FIELDS[path].shape)](FIELDS[path])
    for name in reversed(path.split(".")):
        value = {name: value}
    assert_told(path, value)


def _some_scalar(field: FieldShape) -> Any:
    shape = field.shape
    assert isinstance(shape, Scalar)
    if shape.form.duration:
        return "77s"
    if shape.form.number_too:
        return "77Ki"
    return {bool: not field.default, int: 77, float: 0.77, str: "other"}[shape.type]


SOME: dict[Any, Any] = {
    Scalar: _some_scalar,
    ListOf: lambda field: [_some_item(field.shape.item)],
    MapOf: lambda field: {"memory": ["1Gi"] if isinstance(field.shape.item, ListOf) else _some_item(field.shape.item)},
}


def _some_item(shape: Shape) -> Any:
    if isinstance(shape, PartOf):
        return {}
    assert isinstance(shape, Scalar)
    return {bool: True, int: 23, str: "other"}[shape.type]


# Flags ------------------------------------------------------------------------------------------------------------


# (spec 12.3.1)
def test_the_page_has_every_flag_and_the_agent_knows_those_of_a_kubelet() -> None:
    assert {f"--{name}" for name in (*FLAGS, *REFUSED)} == set(rows("Flags"))
    assert not UPSTREAM_FLAGS - set(FLAGS) - set(REFUSED)


@pytest.mark.parametrize("name", sorted(FLAGS))
def test_a_flag_that_is_honoured_has_a_test_or_is_its_field(name: str) -> None:
    row, flag = rows("Flags")[f"--{name}"], FLAGS[name]
    if flag.configures:
        assert (row.outcome, row.reason) == (AS_ITS_FIELD, f"`{flag.field}`")
        assert flag.field in FIELDS or flag.field == "featureGates"
    elif row.outcome == HONOURED:
        assert_shown(row, {name, flag.attribute})
    else:
        assert row.outcome == WARNED


@given(st.data())
def test_a_flag_at_any_value_is_honoured_refused_or_warned_of(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FLAGS)))
    flag, row = FLAGS[name], rows("Flags")[f"--{name}"]
    text = data.draw(TEXTS[flag.kind])
    parsed = parse_flags([f"--{name}={text}"])
    if parsed.faults or row.outcome == HONOURED:
        return
    said = {each.path for each in parsed.warnings}
    if row.outcome == WARNED:
        assert f"--{name}" in said or parsed == parse_flags([])
        return
    configuration = apply_flags(default_configuration(), parsed)
    checked = validate(configuration)
    said = {each.path for each in (*parsed.warnings, *checked.faults, *checked.warnings)}
    if flag.field == "featureGates" or at(configuration, flag.field) == at(default_configuration(), flag.field):
        return
    honoured = rows("Fields of KubeletConfiguration")[flag.field].outcome == HONOURED
    kept = at(configuration, flag.field) in KEPT.get(flag.field, ())
    in_vain = flag.field in DEPRECATED_FIELDS and f"--{name}" in said
    assert honoured or kept or in_vain or any(each.startswith(f"$.{flag.field}") for each in said)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_flag_of_another_system_is_refused(name: str) -> None:
    assert [fault.path for fault in parse_flags([f"--{name}=x"]).faults] == [f"--{name}"]


# Gates ------------------------------------------------------------------------------------------------------------


def test_the_page_has_every_gate_of_nodes() -> None:
    assert set(rows("Feature gates")) == {gate.name for gate in GATES.values() if gate.of_nodes}


@pytest.mark.parametrize("name", sorted(gate.name for gate in GATES.values() if gate.of_nodes))
def test_a_gate_that_is_honoured_has_a_test(name: str) -> None:
    row = rows("Feature gates")[name]
    assert (row.outcome == REFUSED_HERE) == (GATES[name].locked or name in NOT_BUILT)
    if row.outcome == HONOURED:
        assert_shown(row, {name})


@pytest.mark.parametrize("name", sorted(GATES))
# (spec 18.2.1)
def test_a_gate_at_its_other_value_is_honoured_refused_or_warned_of(name: str) -> None:
    gate = GATES[name]
    chosen = {name: not gate.default, **dict.fromkeys(changed_with(name), not gate.default)}
    choice = choose_gates(chosen)
    warned = {warning.path for warning in unhonoured_gates(choice.gates)}
    if gate.locked or name in NOT_BUILT:
        assert [fault.path for fault in choice.faults] == [f"$.featureGates.{name}"]
        return
    assert not choice.faults
    honoured = gate.of_nodes and rows("Feature gates")[name].outcome == HONOURED
    assert (f"$.featureGates.{name}" in warned) is not honoured


BEING_BUILT = frozenset(
    {
        "InPlacePodVerticalScalingExclusiveMemory",
        "TopologyManagerPolicyBetaOptions",
    }
)
"""Gates about CPUs and memory that pods have for themselves, which the agent does not look at yet."""
GATE_TABLES = frozenset({"feature_gates.py", "gate_dependencies.py", "other_gates.py", "unhonoured.py"})


@cache
def sources() -> str:
    """The code that may use a gate: that of the agent, without the tables of gates."""
    files = (file for floor in ("config", "runtime", "actors", "cli") for file in (ROOT / floor).rglob("*.py"))
    return "".join(file.read_text() for file in files if file.name not in GATE_TABLES)


@pytest.mark.parametrize("name", sorted(gate.name for gate in GATES.values() if gate.of_nodes and not gate.locked))
def test_a_row_of_a_gate_follows_from_the_code_or_a_test(name: str) -> None:
    """Honoured: code uses it. Else it is absent with a reason, always on with a test, or off."""
    row = rows("Feature gates")[name]
    needed = {each for needs in NEEDS.values() for each in needs}
    if row.outcome == HONOURED:
        assert f'"{name}"' in sources() or name in needed
        return
    assert name in BEING_BUILT or f'enabled("{name}")' not in sources(), "code uses the gate: name it in HONOURED_GATES"
    if name in NOT_BUILT:
        assert row.reason == NOT_BUILT[name][0]
    elif name in ABSENT_GATES:
        assert row.reason == ABSENT_GATES[name]
    elif not GATES[name].default or name in BEING_BUILT:
        assert row.reason == f"the agent behaves as with it {'on' if GATES[name].default else 'off'}"
    else:
        file, _, test = row.reason.removeprefix("always on: ").strip("`").partition("::")
        assert test in functions(file)


def changed_with(name: str) -> set[str]:
    """Gates that must change with this one: what it needs when it goes on, what needs it when it goes off."""
    found: set[str] = set()
    new = {name}
    while new:
        if GATES[name].default:
            new = {gate for gate, needed in NEEDS.items() if new & set(needed)} - found
        else:
            new = {each for gate in new for each in NEEDS.get(gate, ())} - found
        found |= new
    return found


@pytest.mark.parametrize("name", sorted(ALL_OF_STAGE))
def test_a_choice_for_a_stage_names_the_gates_that_it_does_not_change(name: str) -> None:
    (warning,) = unhonoured_gates(choose_gates({name: name == "AllAlpha"}).gates)
    honoured = {row.name for row in rows("Feature gates").values() if row.outcome == HONOURED}
    named = set(re.findall(r"\w+", warning.reason))
    of_stage = {gate.name for gate in GATES.values() if gate.stage is ALL_OF_STAGE[name] and not gate.locked}
    assert named & of_stage
    assert not named & honoured


@given(_TEXT)
# (spec 18.2.1)
def test_an_unknown_gate_is_refused(name: str) -> None:
    if name not in GATES and name not in ALL_OF_STAGE:
        assert choose_gates({name: True}).faults
