"""Public drivers of devices, unchanged, on a real control plane with its scheduler.

Each program is built from its sources and named by a variable: `ACTORLET_TEST_CONTROL_PLANE` (a folder),
`ACTORLET_TEST_DRA_DRIVER` (`dra-example-kubeletplugin` of kubernetes-sigs/dra-example-driver) and
`ACTORLET_TEST_DEVICE_PLUGIN` (squat/generic-device-plugin). With `ACTORLET_TEST_KUBELET` a kubelet takes the agent's
place and gives it back while pods have devices. It needs containerd 2, which puts CDI devices into containers, and this
machine's /dev/fuse.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from config.api.resources import NODES, RESOURCE_CLAIMS, Resource
from config.objects import Node, ResourceClaim
from runtime.api import ApiError, create_unread, get
from runtime.cri.identity import POD_NAME
from runtime.cri.messages import ContainerState, ListContainersRequest
from runtime.cri.verbs import LIST_CONTAINERS
from tests.real.agent import NODE, Agent
from tests.real.change_of_agents import PROGRAM, Kubelet
from tests.real.cluster import ANSWER_S, Cluster
from tests.real.containerd import Containerd
from tests.real.pods import Truth, container, pod
from tests.real.waiting import until
from tests.real.whole_plane import FOLDER, whole_plane

DRA_DRIVER = os.environ.get("ACTORLET_TEST_DRA_DRIVER", "")
DEVICE_PLUGIN = os.environ.get("ACTORLET_TEST_DEVICE_PLUGIN", "")
DEVICE_CLASSES = Resource("resource.k8s.io", "v1", "deviceclasses", ResourceClaim, namespaced=False)
CLASS = "gpu.example.com"
FUSE = "squat.ai/fuse"
OF_KUBELET = Path("/var/lib/kubelet/device-plugins")
"""A kubelet has the directory of plugins by this name, wherever its root is."""

pytestmark = pytest.mark.skipif(
    not (FOLDER and DRA_DRIVER and DEVICE_PLUGIN), reason="the variables of this module name no drivers"
)


@pytest.fixture
def plane(newer_agent: Agent) -> Iterator[Cluster]:
    """A real control plane, with a class for the driver's devices and a claim for one."""
    open_to_tests = {"anonymous": {"enabled": True}, "webhook": {"enabled": False}}
    newer_agent.configure(authentication=open_to_tests, authorization={"mode": "AlwaysAllow"}, clusterDNS=["10.0.0.10"])
    with whole_plane(newer_agent) as cluster:
        selector = {"cel": {"expression": f"device.driver == '{CLASS}'"}}
        spec = {"extendedResourceName": "example.com/gpu", "selectors": [selector]}
        make(cluster, DEVICE_CLASSES, "DeviceClass", CLASS, spec)
        request = {"name": "gpu", "exactly": {"deviceClassName": CLASS}}
        make(cluster, RESOURCE_CLAIMS, "ResourceClaim", "gpu", {"devices": {"requests": [request]}})
        yield cluster


def make(cluster: Cluster, resource: Resource[Any], kind: str, name: str, spec: dict[str, Any]) -> None:
    document = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    namespace = "default" if resource.namespaced else ""
    cluster.lines.main.call(create_unread(resource, namespace, name, document)).result(ANSWER_S)


class Drivers:
    """Both drivers of the node, as their DaemonSets would have them."""

    def __init__(self, agent: Agent, containerd: Containerd, cluster: Cluster, after: ExitStack) -> None:
        registry, plugins = agent.root / "plugins_registry", agent.root / "plugins"
        until(registry.is_dir, 60, "the agent makes no directory for drivers")
        (plugins / CLASS).mkdir(parents=True)
        variables = {
            "DRIVER_NAME": CLASS,
            "NODE_NAME": NODE,
            "CDI_ROOT": str(containerd.cdi),
            "KUBELET_REGISTRAR_DIRECTORY_PATH": str(registry),
            "KUBELET_PLUGINS_DIRECTORY_PATH": str(plugins),
        }
        self._log = agent.directory / "drivers.log"
        self._after = after
        self.dra = self._start([DRA_DRIVER, "--kubeconfig", cluster.kubeconfig], **variables)
        directory = agent.root / "device-plugins"
        until((directory / "kubelet.sock").exists, 60, "the agent takes no plugins")
        device = {"name": "fuse", "groups": [{"count": 3, "paths": [{"path": "/dev/fuse"}]}]}
        flags = ["--plugin-directory", str(directory), "--domain", "squat.ai", "--device", json.dumps(device)]
        self.plugin = self._start([DEVICE_PLUGIN, *flags, "--listen", "127.0.0.1:0"])

    def _start(self, words: list[str], **variables: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            running = subprocess.Popen(words, env={**os.environ, **variables}, stdout=log, stderr=log)
        self._after.callback(running.wait)
        self._after.callback(running.kill)
        return running


@pytest.fixture
def drivers(newer_agent: Agent, newer_containerd: Containerd, plane: Cluster, after: ExitStack) -> Drivers:
    """The agent has begun, and both drivers have registered."""
    plane.join()
    found = Drivers(newer_agent, newer_containerd, plane, after)
    until(lambda: FUSE in _allocatable(plane), 60, "the plugin's devices are not there")
    return found


def _allocatable(plane: Cluster) -> dict[str, str]:
    try:
        node: Node = plane.lines.main.call(get(NODES, "", NODE)).result(ANSWER_S)
    except ApiError as failure:
        if not failure.not_found:
            raise
        return {}
    return dict(node.status.allocatable) if node.status is not None else {}


def wants(name: str, **resources: Any) -> dict[str, Any]:
    """A pod with the claim and a device of the plugin."""
    asked = {"limits": {FUSE: "1"}, "claims": [{"name": "gpu"}], **resources}
    return pod(name, container(resources=asked), resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])


def lives(truth: Truth) -> dict[str, str]:
    """Pod -> its container that runs."""
    listed = truth.ask(LIST_CONTAINERS, ListContainersRequest()).containers
    return {each.labels[POD_NAME]: each.id for each in listed if each.state == ContainerState.CONTAINER_RUNNING}


def book(agent: Agent) -> tuple[dict[str, int], int]:
    """Claim -> how many pods have it; how many devices of the plugin are given."""
    claims = json.loads(json.loads((agent.root / "dra_manager_state").read_text())["Data"])["ClaimInfoStateList"]
    file = agent.root / "device-plugins" / "kubelet_internal_checkpoint"
    entries = json.loads(file.read_text())["Data"]["PodDeviceEntries"] or ()
    return {each["ClaimName"]: len(each["PodUIDs"]) for each in claims or ()}, len(entries)


def run_one(plane: Cluster, prefix: str) -> str:
    """A new pod that runs. As with a ReplicaSet, another comes where one fails.

    A kubelet fails those that come before the plugin has registered again.
    """
    for number in range(20):
        name = f"{prefix}-{number}"
        plane.submit(wants(name))
        until(lambda: plane.status(name).phase in ("Running", "Failed"), 120, f"{name} waits")  # noqa: B023
        if plane.status(name).phase == "Running":
            return name
        plane.delete(name)
        plane.await_gone(name)
    raise AssertionError("each new pod fails")


def test_pods_get_devices_of_both_drivers_and_give_them_back(
    newer_agent: Agent, newer_truth: Truth, plane: Cluster, drivers: Drivers
) -> None:
    for name in ("one", "two"):
        plane.submit(wants(name))
    plane.submit(pod("by-name", container(resources={"limits": {"example.com/gpu": "1"}})))
    plane.await_phase("Running", "one", "two", "by-name")
    for name in ("one", "two"):
        life = newer_truth.running(name)
        assert newer_truth.variable(life, "GPU_DEVICE_0")
        assert newer_truth.run(life, "ls", "/dev/fuse").strip() == "/dev/fuse"
    assert "GPU_DEVICE_" in newer_truth.run(newer_truth.running("by-name"), "env")
    assert book(newer_agent)[0]["gpu"] == 2
    drivers.dra.kill()
    plane.delete("one")
    plane.await_gone("one")
    plane.delete("two")
    plane.await_gone("two")


@pytest.mark.skipif(not PROGRAM, reason="ACTORLET_TEST_KUBELET names no kubelet")
def test_devices_stay_with_their_pods_while_a_kubelet_and_the_agent_change_places(
    newer_agent: Agent, newer_truth: Truth, plane: Cluster, drivers: Drivers, after: ExitStack
) -> None:
    OF_KUBELET.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", str(newer_agent.root / "device-plugins"), str(OF_KUBELET)], check=True)
    after.callback(subprocess.run, ["umount", "--lazy", str(OF_KUBELET)], check=True)
    kubelet = Kubelet(newer_agent.directory, newer_agent.endpoint)
    after.callback(kubelet.take_down)
    for name in ("one", "two"):
        plane.submit(wants(name))
    plane.await_phase("Running", "one", "two")
    before = lives(newer_truth)
    for number, (leaves, comes) in enumerate(((newer_agent, kubelet), (kubelet, newer_agent))):
        leaves.kill()
        comes.begin("--kubeconfig", plane.node_kubeconfig)
        new = run_one(plane, f"new-{number}")
        assert {name: lives(newer_truth)[name] for name in before} == before
        assert book(newer_agent)[0] == {"gpu": 3}
        plane.delete(new)
        plane.await_gone(new)
        assert book(newer_agent)[0] == {"gpu": 2}
    assert lives(newer_truth) == before
    assert drivers.plugin.poll() is None
