"""The usage of a node on containerd, in the summary, in Prometheus, and in `kubectl top`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.metrics import cadvisor_names, kubelet, own, resource
from tests.real.agent import NODE, Agent
from tests.real.kubectl import Kubectl, kubectl_on, port_of
from tests.real.pods import STAY, container, pod
from tests.real.prometheus import Prometheus
from tests.real.waiting import until

PAGES = ("/metrics", "/metrics/cadvisor", "/metrics/resource", "/metrics/probes", "/metrics/slis")
MIB = 2**20
BUSY = "dd if=/dev/zero of=/scratch/file bs=1M count=8 2>/dev/null; echo filled; while :; do :; done"
FIXED_NAMES = {
    "cadvisor_version_info",
    "container_fs_inodes_total",
    "container_memory_failcnt",
    "kubelet_certificate_manager_client_expiration_renew_errors",
    "kubelet_cpu_manager_exclusive_cpu_allocation_count",
    "kubelet_evented_pleg_connection_error_count",
    "kubelet_evented_pleg_connection_success_count",
    "kubelet_pleg_discard_events",
    "kubelet_server_expiration_renew_errors",
    "kubelet_topology_manager_admission_duration_ms",
}
"""Names of a kubelet that are not as promtool would have them."""


@pytest.fixture
def kubectl(agent: Agent) -> Iterator[Kubectl]:
    with kubectl_on(agent) as found:
        yield found


def summary(kubectl: Kubectl, query: str = "") -> Any:
    return json.loads(kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy/stats/summary{query}"))


def busy_pod() -> dict[str, Any]:
    mounts: dict[str, Any] = {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
    limits: dict[str, Any] = {"resources": {"limits": {"memory": "64Mi", "cpu": "500m"}}}
    probe: dict[str, Any] = {"livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1}}
    volumes = [{"name": "scratch", "emptyDir": {}}]
    return pod("busy", container(script=BUSY, **mounts, **limits, **probe), container("idle", STAY), volumes=volumes)


# (spec 11.6.1, 11.6.2)
def test_a_node_on_containerd_tells_what_it_uses(agent: Agent, kubectl: Kubectl) -> None:
    kubectl.run(busy_pod())
    until(lambda: "filled" in kubectl("logs", "busy", "-c", "main"), 20, "it does not write")
    the_summary_is_whole(kubectl)
    it_is_shown_by_top(kubectl)
    page = "".join(kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy{page}") for page in PAGES[:1])
    every_name_is_there_with_its_type(page)
    for each in PAGES:
        promtool_reads(kubectl("get", "--raw", f"/api/v1/nodes/{NODE}/proxy{each}"))
    prometheus_reads_every_page(agent, kubectl)


def the_summary_is_whole(kubectl: Kubectl) -> None:
    told = summary(kubectl)
    node = told["node"]
    assert node["nodeName"] == NODE
    assert 0 < node["memory"]["workingSetBytes"] < node["memory"]["workingSetBytes"] + node["memory"]["availableBytes"]
    assert node["cpu"]["usageNanoCores"] > 0
    assert 0 < node["fs"]["usedBytes"] < node["fs"]["capacityBytes"]
    assert node["runtime"]["imageFs"]["capacityBytes"] > 0
    assert node["runtime"]["imageFs"]["usedBytes"] >= 0, "containerd looks every ten seconds only"
    assert 0 < node["rlimit"]["curproc"] < node["rlimit"]["maxpid"]
    assert {each["name"] for each in node["systemContainers"]} >= {"kubelet", "runtime"}
    (told_pod,) = told["pods"]
    assert told_pod["podRef"]["name"] == "busy"
    main, idle = sorted(told_pod["containers"], key=lambda each: each["name"], reverse=True)
    assert (main["name"], idle["name"]) == ("main", "idle")
    assert main["cpu"]["usageNanoCores"] > 50_000_000 > idle["cpu"]["usageNanoCores"]
    assert 0 < main["memory"]["workingSetBytes"] + main["memory"]["availableBytes"] == 64 * MIB
    assert "availableBytes" not in idle["memory"]
    assert main["rootfs"]["usedBytes"] >= 0
    assert main["logs"]["usedBytes"] > 0
    (volume,) = (each for each in told_pod["volume"] if each["name"] == "scratch")
    assert 8 * MIB <= volume["usedBytes"] < 9 * MIB
    assert told_pod["ephemeral-storage"]["usedBytes"] > 8 * MIB
    assert told_pod["network"]["name"] == "eth0"
    assert told_pod["network"]["rxBytes"] >= 0
    assert told_pod["process_stats"]["process_count"] >= 2
    assert told_pod["cpu"]["usageNanoCores"] >= main["cpu"]["usageNanoCores"] // 2
    only = summary(kubectl, "?only_cpu_and_memory=true")
    assert "fs" not in only["node"]
    assert "volume" not in only["pods"][0]
    assert only["pods"][0]["containers"][0]["cpu"]


def it_is_shown_by_top(kubectl: Kubectl) -> None:
    assert NODE in kubectl("top", "node")
    rows = {row.split()[1]: row.split() for row in kubectl("top", "pod", "--containers").splitlines()[1:]}
    assert int(rows["main"][2].removesuffix("m")) > 50 > int(rows["idle"][2].removesuffix("m"))


def every_name_is_there_with_its_type(page: str) -> None:
    types = {line.split()[2]: line.split()[3] for line in page.splitlines() if line.startswith("# TYPE")}
    for family in (*kubelet.FAMILIES, *own.FAMILIES):
        assert types.get(family.name) == family.kind.value, family.name


def promtool_reads(page: str) -> None:
    """It reports no error. It complains only of names that upstream has chosen."""
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    complaints = {line.split()[0] for line in done.stderr.splitlines() if line}
    assert complaints <= FIXED_NAMES


def prometheus_reads_every_page(agent: Agent, kubectl: Kubectl) -> None:
    users = yaml.safe_load(Path(kubectl.kubeconfig).read_text())["users"]
    server = Prometheus(agent.directory / "prometheus", port_of(agent), PAGES, users[0]["user"]["token"])
    try:

        def all_are_up() -> bool:
            targets = server.targets()
            return len(targets) == len(PAGES) and all(each["health"] == "up" for each in targets)

        until(all_are_up, 30, lambda: json.dumps(server.targets(), indent=1))
        rate = 'rate(container_cpu_usage_seconds_total{container="main",job="metrics-resource"}[1m])'
        until(lambda: bool(server.query(rate)), 40, "there are no two samples of the CPU")
        # Each page is read at moments of its own, and one that is late is read again a second later.
        for series in (
            'prober_probe_total{pod="busy",result="successful",probe_type="Liveness"}',
            'kubelet_runtime_operations_total{operation_type="run_podsandbox"}',
            'container_network_receive_bytes_total{pod="busy",interface="eth0"}',
            'container_spec_memory_limit_bytes{container="main"}',
            'container_cpu_cfs_periods_total{container="main"}',
        ):
            until(partial(server.query, series), 20, f"there is no {series}")
        assert float(server.query("kubelet_running_pods")[0]["value"][1]) == 1
        limits = server.query('container_spec_memory_limit_bytes{container="main"}')
        assert float(limits[0]["value"][1]) == 64 * MIB
        throttled = server.query('container_cpu_cfs_periods_total{container="main"}')
        assert float(throttled[0]["value"][1]) > 0
        assert {family.name for family in resource.FAMILIES} >= {"node_cpu_usage_seconds_total"}
        assert server.query(cadvisor_names.MACHINE_MEMORY.name)
        ttl = server.query("kubelet_certificate_manager_server_ttl_seconds")
        assert 0 < float(ttl[0]["value"][1]) < float("inf")
        assert float(server.query("kubelet_node_startup_duration_seconds")[0]["value"][1]) > 0
        mounts = 'storage_operation_duration_seconds_count{operation_name="volume_mount",status="success"}'
        plugins = {series["metric"]["volume_plugin"] for series in server.query(mounts)}
        assert plugins >= {"kubernetes.io/empty-dir", "kubernetes.io/projected"}
        assert server.query('rest_client_requests_total{code="200",method="PATCH"}')
        assert server.query("kubelet_pod_start_sli_duration_seconds_count > 0")
    finally:
        server.stop()
