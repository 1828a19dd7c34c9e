"""Settings arrive where they are used, from the file to the part of the node that acts on them.

What each part does with its value is shown beside that part. `docs/reference/settings.md` names these tests for
settings whose own tests start behind the configuration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actors.containers.log_rotation_rules import log_limits
from actors.images.gc_rules import GcLimits
from actors.images.pull_flights import PullLimits
from actors.kernel import SimulatedDispatcher
from actors.node.plan import NodePlan
from actors.node.wiring.known_actors import Wiring
from actors.resources.cgroups.plan import cgroup_plan
from actors.start.resources import MemoryRules, SwapRules
from cli.run import node_start
from cli.run.island import island_settings
from cli.run.node_start import NodeMachine, plan_of, this_machine
from config.credentials.kubeconfig import ApiAccess, ClusterAccess
from config.flags.command_line import parse_flags
from config.island import IslandSettings
from config.kubelet import KubeletConfiguration
from config.kubelet.drop_ins import NamedBytes
from config.start_configuration import (
    ConfigurationRejected,
    StartConfiguration,
    load_kubelet_configuration,
)
from runtime.http_server import node_server
from runtime.http_server.auth.gate import AccessGate
from runtime.http_server.node_server import serving_files
from simulation.host.facts import SimulatedHostFacts
from simulation.node.simulated_node import SimulatedNode
from tests.runtime.http_server.test_gate import Reviewer, admitted
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import World, manifest

SECOND = 10**9
MACHINE = this_machine("n", (), SimulatedHostFacts("n"))
HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def start(body: str) -> StartConfiguration:
    return load_kubelet_configuration(parse_flags([]), NamedBytes("/k", (HEADER + body).encode()))


def configured(body: str) -> KubeletConfiguration:
    return start(body).configuration


def plan(body: str, machine: NodeMachine = MACHINE) -> NodePlan:
    return plan_of(start(body), machine, "/root", "containerd")


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, dict[str, Any]]]:
    """What each actor of a node of that configuration is made from."""
    made: dict[str, dict[str, Any]] = {}
    make, begin = Wiring.make, Wiring.start

    def noted(real: Any, which: str) -> Any:
        def call(self: Wiring, ref: Any, actor_class: Any, **arguments: Any) -> None:
            made[actor_class.__name__] = arguments
            real(self, ref, actor_class, **arguments)

        return call

    monkeypatch.setattr(Wiring, "make", noted(make, "make"))
    monkeypatch.setattr(Wiring, "start", noted(begin, "start"))

    def run(body: str) -> dict[str, dict[str, Any]]:
        dispatcher = SimulatedDispatcher(seed=1)
        SimulatedNode(dispatcher, configuration=configured(body)).node.start()
        dispatcher.run_for(SECOND)
        return made

    return run


@pytest.mark.parametrize(
    ("body", "actor", "argument", "expected"),
    [
        ("staticPodURL: http://h/p\nhttpCheckFrequency: 7s", "HttpSourceActor", "period_ns", 7 * SECOND),
        ("syncFrequency: 2m", "ObjectCacheActor", "sync_frequency_ns", 120 * SECOND),
        ("configMapAndSecretChangeDetectionStrategy: Get", "ObjectCacheActor", "strategy.name", "GET"),
        ("registryPullQPS: 3\nregistryBurst: 4", "ImagePullActor", "limits", PullLimits.of(True, None, 3, 4)),
        ("serializeImagePulls: false", "ImagePullActor", "limits", PullLimits.of(False, None, 5, 10)),
        ("maxParallelImagePulls: 2", "ImagePullActor", "limits", PullLimits.of(False, 2, 5, 10)),
    ],
)
def test_a_setting_is_what_its_actor_is_made_from(
    wired: Callable[[str], dict[str, dict[str, Any]]], body: str, actor: str, argument: str, expected: object
) -> None:
    value: Any = wired(body)[actor]
    first, *rest = argument.split(".")
    value = value[first]
    for name in rest:
        value = getattr(value, name)
    assert value == expected


# (spec 10.3.2)
def test_cpu_quota_is_switched_off_and_its_period_chosen_for_containers_and_pods() -> None:
    body = "cpuCFSQuota: false\ncpuCFSQuotaPeriod: 50ms"
    rules = plan(body).facts.rules.resources
    assert (rules.cpu_quota, rules.cpu_period_us) == (False, 50_000)
    of_pods = cgroup_plan("n", configured(body), start(body).gates, version=2).rules
    assert (of_pods.cpu_quota, of_pods.cpu_period_us) == (False, 50_000)


@pytest.mark.parametrize(
    ("body", "version", "expected"),
    [
        ("memoryReservationPolicy: None", 2, None),
        ("featureGates: {MemoryQoS: true}", 2, False),
        ("featureGates: {MemoryQoS: true}\nmemoryReservationPolicy: TieredReservation", 2, True),
        ("featureGates: {MemoryQoS: true}\nmemoryReservationPolicy: TieredReservation", 1, None),
    ],
)
# (spec 10.3.9)
def test_memory_is_protected_by_gate_policy_and_cgroup_version(body: str, version: int, expected: bool | None) -> None:
    body += "\nenforceNodeAllocatable: [pods, kube-reserved]\nkubeReserved: {memory: 1Gi}\nkubeReservedCgroup: /kube"
    planned = cgroup_plan("n", configured(body), start(body).gates, version=version)
    assert planned.rules.keeps_memory is expected
    reserved = planned.enforcements({"cpu": "4", "memory": "4Gi"}, "cgroupfs")[-1]
    assert reserved.limits.memory_min_bytes == (None if expected is None else 2**30)


def test_the_content_of_a_pods_volumes_is_bounded_as_a_flag_says() -> None:
    given = load_kubelet_configuration(parse_flags(["--pod-volume-content-bytes=5000"]), None)
    assert plan_of(given, MACHINE, "/root", "containerd").pod_volume_content_bytes == 5000
    assert plan("").pod_volume_content_bytes == 256 * 1024 * 1024
    (fault,) = parse_flags(["--pod-volume-content-bytes=0"]).faults
    assert "must be greater than zero" in str(fault)


def test_pods_wait_for_device_plugins_as_long_as_a_flag_says() -> None:
    def wait_ns(*flags: str) -> int:
        given = load_kubelet_configuration(parse_flags(list(flags)), None)
        return plan_of(given, MACHINE, "/root", "containerd").device_patience_ns

    assert wait_ns() == 600 * 10**9
    assert wait_ns("--device-plugin-wait-duration=90s") == 90 * 10**9
    assert wait_ns("--device-plugin-wait-duration=0") == 0
    (fault,) = parse_flags(["--device-plugin-wait-duration=-1s"]).faults
    assert fault.path == "--device-plugin-wait-duration"


def test_an_island_node_is_told_by_a_file_that_a_flag_names(tmp_path: Path) -> None:
    file = tmp_path / "island.yaml"

    def settings(*flags: str) -> IslandSettings | None:
        given = load_kubelet_configuration(parse_flags(["--kubeconfig=/k", *flags]), None)
        island = island_settings(given)
        assert plan_of(given, MACHINE, "/root", "containerd", island=island).island is island
        return island

    assert settings() is None
    file.write_text("apiVersion: island.actorlet.dev/v1\nkind: IslandConfiguration\nmaxAge: 2h\n")
    assert settings(f"--island-config={file}") == IslandSettings(max_age_ns=7200 * 10**9)
    file.write_text("apiVersion: island.actorlet.dev/v1\nkind: IslandConfiguration\nmaxAge: soon\nmore: 1\n")
    with pytest.raises(ConfigurationRejected) as caught:
        settings(f"--island-config={file}")
    assert [fault.path for fault in caught.value.faults] == [f"{file}: $.maxAge", f"{file}: $.more"]
    with pytest.raises(ConfigurationRejected, match=r"--island-config: .*No such file"):
        settings(f"--island-config={tmp_path}/none.yaml")
    (fault,) = parse_flags([f"--island-config={file}"]).faults
    assert (fault.path, "without an API server" in fault.reason) == ("--island-config", True)


# (spec 9.8.3)
def test_swap_is_for_pods_where_swap_behavior_says_so() -> None:
    counted = replace(MACHINE, facts=replace(MACHINE.facts, swap_counted=True, swap_bytes=5))
    for behaviour, limited in (("LimitedSwap", True), ("NoSwap", False)):
        made = plan(f"memorySwap: {{swapBehavior: {behaviour}}}", counted)
        assert made.facts.rules.resources.swap == SwapRules(limited, 5)


def test_memory_is_kept_and_slowed_as_memory_reservation_policy_and_throttling_factor_say() -> None:
    body = "featureGates: {MemoryQoS: true}\nmemoryReservationPolicy: TieredReservation\nmemoryThrottlingFactor: 0.5"
    memory = plan(body).facts.rules.resources.memory
    assert isinstance(memory, MemoryRules)
    assert (memory.tiered, memory.throttling) == (True, 0.5)
    assert plan("").facts.rules.resources.memory is None


def test_qos_reserved_holds_memory_back_where_its_gate_is_on() -> None:
    body = "featureGates: {QOSReserved: true}\nqosReserved: {memory: 40%}"
    assert cgroup_plan("n", configured(body), start(body).gates, version=2).rules.held_back == 40


# (spec 17.2.1)
def test_tls_settings_are_those_of_the_server(tmp_path: Path) -> None:
    body = (
        "tlsCertFile: /c\ntlsPrivateKeyFile: /k\ntlsMinVersion: VersionTLS12\n"
        "tlsCipherSuites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]\ntlsCurvePreferences: [23]"
    )
    files = serving_files(configured(body), str(tmp_path), ("n",))
    assert (files.certificate, files.key, files.min_version) == ("/c", "/k", "VersionTLS12")
    assert files.ciphers == ("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",)
    assert files.curve


@pytest.mark.parametrize(
    ("field", "asked"),
    [
        ("authentication: {webhook: {cacheTTL: 1ns}}", {"tokenreviews": 2, "subjectaccessreviews": 1}),
        ("authorization: {webhook: {cacheAuthorizedTTL: 1ns}}", {"tokenreviews": 1, "subjectaccessreviews": 2}),
        ("authorization: {webhook: {cacheUnauthorizedTTL: 1ns}}", {"tokenreviews": 1, "subjectaccessreviews": 1}),
    ],
)
# (spec 11.4.2)
def test_an_answer_about_a_user_is_kept_as_long_as_the_cache_times_say(field: str, asked: dict[str, int]) -> None:
    configuration = configured(field)
    reviewer = Reviewer(("bob", "pods"))
    gate = AccessGate("n", configuration.authentication, configuration.authorization, reviewer, (0.0,))
    for _ in range(2):
        assert admitted(gate, authorization="Bearer good").name == "bob"
    assert reviewer.asked == asked


def test_a_refusal_is_kept_as_long_as_cache_unauthorized_ttl_says() -> None:
    configuration = configured("authorization: {webhook: {cacheUnauthorizedTTL: 1ns}}")
    reviewer = Reviewer()
    gate = AccessGate("n", configuration.authentication, configuration.authorization, reviewer, (0.0,))
    assert admitted(gate, authorization="Bearer good") == 403
    once = reviewer.asked["subjectaccessreviews"]
    assert admitted(gate, authorization="Bearer good") == 403
    assert reviewer.asked["subjectaccessreviews"] == 2 * once


def test_images_go_by_age_as_image_maximum_gc_age_says() -> None:
    assert GcLimits.of(configured("imageMaximumGCAge: 72h")).max_age_ns == 72 * 3600 * SECOND


def test_as_many_logs_are_rotated_at_once_as_container_log_max_workers_says() -> None:
    limits = log_limits(configured("containerLogMaxWorkers: 3"))
    assert limits is not None
    assert limits.workers == 3


def test_eviction_knows_the_longest_grace_of_eviction_max_pod_grace_period(
    wired: Callable[[str], dict[str, dict[str, Any]]],
) -> None:
    body = "evictionMaxPodGracePeriod: 7\nevictionSoft: {memory.available: 1Gi}\n"
    made = wired(body + "evictionSoftGracePeriod: {memory.available: 1m}")
    assert made["EvictionActor"]["configuration"].eviction_max_pod_grace_period == 7


def test_the_node_reports_as_node_status_report_frequency_and_max_images_say(
    wired: Callable[[str], dict[str, dict[str, Any]]],
) -> None:
    body = "nodeStatusUpdateFrequency: 4s\nnodeStatusReportFrequency: 3m\nnodeStatusMaxImages: 4"
    settings = wired(body)["NodeStatusActor"]["settings"]
    assert settings.configuration.node_status_update_frequency == 4 * SECOND
    assert settings.configuration.node_status_report_frequency == 180 * SECOND
    assert settings.configuration.node_status_max_images == 4


# (spec 12.3.4)
def test_calls_to_the_api_server_have_the_limits_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(node_start, "api_lines", lambda *_, **limits: given.update(limits))
    body = "kubeAPIQPS: 7\nkubeAPIBurst: 8\neventRecordQPS: 9\neventBurst: 10"
    node_start.open_lines(ApiAccess(ClusterAccess("https://h")), None, configured(body))  # type: ignore[arg-type]  # no call is made
    assert [given[name] for name in ("qps", "burst", "event_qps", "event_burst")] == [7, 8, 9, 10]


def test_addresses_and_the_idle_time_of_streams_are_those_of_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[dict[str, Any]] = []

    class Listener:
        def __init__(self, *_: Any, **arguments: Any) -> None:
            made.append(arguments)
            self.port = arguments["port"]

        def start(self) -> None: ...

    monkeypatch.setattr(node_server, "HttpListener", Listener)
    configuration = configured("address: 127.0.0.8\nhealthzBindAddress: 127.0.0.9\nstreamingConnectionIdleTimeout: 90s")
    endpoints, tls = SimpleNamespace(health=0, main=0, upgrade=0, translates=0), SimpleNamespace(context=None)
    node_server.NodeServer(configuration, node_server.Ports(1, None, 2), endpoints, tls, None).start()  # type: ignore[arg-type]
    main, health = made
    assert (main["host"], main["idle_ns"]) == ("127.0.0.8", 90 * SECOND)
    assert health["host"] == "127.0.0.9"


@pytest.mark.parametrize("on", [True, False])
def test_gates_of_pods_are_what_the_node_goes_by(on: bool) -> None:
    gates = (
        "EnvFiles",
        "ContainerStopSignals",
        "RestartAllContainersOnContainerExits",
        "PreventStaticPodAPIReferences",
    )
    chosen = "\n".join(f"  {gate}: {str(on).lower()}" for gate in gates)
    made = plan(f"featureGates:\n{chosen}")
    rules = made.facts.rules
    assert (rules.env_files, rules.stop_signals, rules.restart_all, made.prevent_api_references) == (on, on, on, on)


# (spec 3.12.1)
def test_dead_containers_are_kept_as_the_flags_say() -> None:
    flags = ["--minimum-container-ttl-duration=3s", "--maximum-dead-containers-per-container=4"]
    begun = load_kubelet_configuration(parse_flags([*flags, "--maximum-dead-containers=5"]))
    policy = plan_of(begun, MACHINE, "/root", "containerd").gc_policy
    assert (policy.min_age_ns, policy.per_container, policy.total) == (3 * SECOND, 4, 5)


# (spec 9.6.1)
def test_the_lease_lasts_as_node_lease_duration_seconds_says() -> None:
    cluster = Cluster(configuration=configured("nodeLeaseDurationSeconds: 20"))
    cluster.run(10 * SECOND)
    lease = cluster.ask("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node")
    assert lease["spec"]["leaseDurationSeconds"] == 20


def test_pods_come_from_static_pod_path_and_log_to_pod_logs_dir() -> None:
    configuration = configured("staticPodPath: /data/manifests\npodLogsDir: /data/logs")
    world = World(configuration=configuration)
    world.node.host.tree.write("/data/manifests/web.yaml", manifest("web").encode())
    world.start().until(lambda: bool(world.made))
    (container,) = world.made.values()
    (sandbox,) = world.cri.state.sandboxes.values()
    assert sandbox.config.log_directory.startswith("/data/logs/default_web")
    assert container.log_path.startswith("/data/logs/default_web")
