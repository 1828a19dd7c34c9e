"""Devices of plugins and of claims, in containers on containerd 1.7 and 2 (spec 10.11, 10.12).

containerd 1.6 does not know CDI devices. Each device is the null device of this machine under another name; a CDI
device comes with a variable and a mount.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from runtime.device_plugins.capability import Device, DeviceSetup, HostDevice
from runtime.dra.capability import ClaimDevice
from tests.device_plugin.plugin import RESOURCE
from tests.dra_driver.driver import SampleDriver
from tests.real.agent import Agent
from tests.real.cluster import Cluster, cluster_for
from tests.real.containerd import Containerd
from tests.real.device_claims import DeviceClaims
from tests.real.device_plugins import Plugins
from tests.real.newer_runtime import CONTAINERD_1_7, CONTAINERD_2
from tests.real.pods import Truth, container, pod

KIND = "vendor.example/gpu"
BOTH = [pytest.param(CONTAINERD_1_7, id="containerd 1.7"), pytest.param(CONTAINERD_2, id="containerd 2")]
pytestmark = pytest.mark.parametrize("newer_containerd", BOTH, indirect=True, scope="session")


@pytest.fixture
def newer_cluster(newer_agent: Agent) -> Iterator[Cluster]:
    with cluster_for(newer_agent) as served:
        yield served


def describe(containerd: Containerd, *names: str) -> None:
    """Write down what a container gets with each device, as a driver does."""
    (containerd.directory / "library").mkdir(exist_ok=True)
    (containerd.directory / "library" / "version").write_text("7\n")
    mount = {"hostPath": str(containerd.directory / "library"), "containerPath": "/library", "options": ["ro", "bind"]}
    devices = [
        {
            "name": name,
            "containerEdits": {
                "env": [f"{name.upper()}=mine"],
                "deviceNodes": [{"path": f"/dev/{name}", "hostPath": "/dev/null", "permissions": "rw"}],
                "mounts": [mount],
            },
        }
        for name in names
    ]
    document = {"cdiVersion": "0.6.0", "kind": KIND, "devices": devices}
    (containerd.cdi / "vendor.json").write_text(json.dumps(document))


def has(truth: Truth, name: str, *devices: str) -> None:
    """The container has these devices, with all that belongs to them, and can use them."""
    life = truth.running(name)
    found = truth.run(life, "sh", "-c", "cd /dev && ls -d gpu* || true").split()
    assert sorted(found) == sorted(devices)
    for each in devices:
        assert truth.variable(life, each.upper()) == "mine"
        assert truth.run(life, "sh", "-c", f"echo x > /dev/{each}; head -c1 /dev/{each} | wc -c").strip() == "0"
    assert truth.run(life, "cat", "/library/version").strip() == "7"


def test_cdi_devices_of_a_plugin_are_in_the_container(
    newer_agent: Agent, newer_truth: Truth, newer_containerd: Containerd, after: ExitStack
) -> None:
    describe(newer_containerd, "gpu0", "gpu1")
    newer_agent.start()

    def setup(ids: tuple[str, ...]) -> DeviceSetup:
        return DeviceSetup(cdi=tuple(f"{KIND}={each}" for each in ids))

    plugins = Plugins(newer_agent, (Device("gpu0"), Device("gpu1")), setup)
    after.callback(plugins.stop)
    plugins.start()
    asked: dict[str, Any] = {"resources": {"limits": {RESOURCE: "1"}}}
    for name in ("a", "b"):
        newer_agent.drop(f"{name}.json", pod(name, container(**asked)))
        newer_agent.await_running(name)
    first = "gpu0" if _in_dev(newer_truth, "a", "gpu0") else "gpu1"
    has(newer_truth, "a", first)
    has(newer_truth, "b", "gpu1" if first == "gpu0" else "gpu0")


def _in_dev(truth: Truth, name: str, device: str) -> bool:
    return device in truth.run(truth.running(name), "ls", "/dev").split()


def test_a_device_node_of_a_plugin_is_in_the_container_and_no_other_device_is_allowed(
    newer_agent: Agent, newer_truth: Truth, after: ExitStack
) -> None:
    newer_agent.start()

    def setup(ids: tuple[str, ...]) -> DeviceSetup:
        return DeviceSetup(devices=tuple(HostDevice(f"/dev/{each}", "/dev/fuse", "rw") for each in ids))

    plugins = Plugins(newer_agent, (Device("gpu0"),), setup)
    after.callback(plugins.stop)
    plugins.start()
    newer_agent.drop("with.json", pod("with", container(resources={"limits": {RESOURCE: "1"}})))
    newer_agent.drop("without.json", pod("without"))
    newer_agent.await_running("with", "without")
    opens = "mknod /tmp/fuse c 10 229 && (: <> /tmp/fuse) 2>/dev/null && echo allowed || echo refused"
    assert newer_truth.run(newer_truth.running("with"), "sh", "-c", "ls /dev/gpu0").strip() == "/dev/gpu0"
    assert newer_truth.run(newer_truth.running("with"), "sh", "-c", opens).strip() == "allowed"
    assert newer_truth.run(newer_truth.running("without"), "sh", "-c", opens).strip() == "refused"


def test_pods_that_share_a_claim_have_its_cdi_device_until_the_last_has_gone(
    newer_agent: Agent, newer_truth: Truth, newer_containerd: Containerd, newer_cluster: Cluster
) -> None:
    describe(newer_containerd, "gpu0")
    newer_cluster.join()
    given = (ClaimDevice("pool", "gpu-0", cdi=(f"{KIND}=gpu0",)),)
    with SampleDriver(newer_agent.root, devices=lambda _: given) as driver:
        assert driver.registered.result(60) == ""
        claims = DeviceClaims(newer_cluster)
        claims.make("gpu")
        for name in ("one", "two"):
            claims.run(name, "gpu")
        claims.give("gpu", "one", "two")
        newer_cluster.await_phase("Running", "one", "two")
        for name in ("one", "two"):
            has(newer_truth, name, "gpu0")
        newer_cluster.delete("one")
        newer_cluster.await_gone("one")
        has(newer_truth, "two", "gpu0")
        assert len(driver.prepared) == 1
        newer_cluster.delete("two")
        newer_cluster.await_gone("two")
        assert [method for method, _ in driver.calls] == ["NodePrepareResources", "NodeUnprepareResources"]
