"""Devices of a plugin over its socket, in containers on containerd (spec 10.11).

The plugin's devices are the null device of this machine under another name, so that the kernel has them everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import Device, DeviceMount, DeviceSetup, HostDevice
from tests.device_plugin.plugin import RESOURCE, Setup
from tests.real.agent import Agent
from tests.real.device_plugins import Plugins
from tests.real.pods import Truth, container, pod

TWO = (Device("gpu-0"), Device("gpu-1"))


def with_driver(shared: Path) -> Setup:
    """Device nodes, the vendor's driver as a mount, a variable and an annotation."""

    def setup(ids: tuple[str, ...]) -> DeviceSetup:
        return DeviceSetup(
            env=FrozenMap({"GPUS": ",".join(ids)}),
            devices=tuple(HostDevice(f"/dev/{each}", "/dev/null", "rw") for each in ids),
            mounts=(DeviceMount("/gpu-driver", str(shared), read_only=True),),
            annotations=FrozenMap({"vendor.example/ids": ",".join(ids)}),
        )

    return setup


@pytest.fixture
def plugins(agent: Agent) -> Iterator[Plugins]:
    shared = agent.directory / "driver"
    shared.mkdir()
    (shared / "version").write_text("7\n")
    found = Plugins(agent, TWO, with_driver(shared))
    yield found
    found.stop()


def wants(count: int = 1, script: str | None = None) -> dict[str, Any]:
    asked: dict[str, Any] = {"resources": {"limits": {RESOURCE: str(count)}}}
    return container(**asked) if script is None else container(script=script, **asked)


def gpus(truth: Truth, name: str) -> list[str]:
    """The device nodes that the container has, read in it."""
    return sorted(truth.run(truth.running(name), "sh", "-c", "cd /dev && ls -d gpu-*").split())


def given(agent: Agent) -> list[list[str]]:
    """The devices of each container in the checkpoint."""
    found = json.loads((agent.root / "device-plugins" / "kubelet_internal_checkpoint").read_text())
    entries = found["Data"]["PodDeviceEntries"] or ()
    return sorted(each for entry in entries for each in entry["DeviceIDs"].values())


# (spec 10.11.2)
def test_device_nodes_mounts_and_variables_are_in_the_container(agent: Agent, truth: Truth, plugins: Plugins) -> None:
    agent.start()
    plugin = plugins.start(pre_start=True, preferred=("gpu-1",))
    agent.drop("a.json", pod("a", wants()))
    agent.await_running("a")
    life = truth.running("a")
    assert gpus(truth, "a") == ["gpu-1"]
    assert truth.variable(life, "GPUS") == "gpu-1"
    assert truth.run(life, "cat", "/gpu-driver/version").strip() == "7"
    assert truth.run(life, "sh", "-c", "echo x > /dev/gpu-1; head -c1 /dev/gpu-1 | wc -c").strip() == "0"
    asked = [call for call in plugin.calls if call[0] in ("Allocate", "PreStartContainer")]
    assert asked == [("Allocate", ("gpu-1",)), ("PreStartContainer", ("gpu-1",))]
    assert given(agent) == [["gpu-1"]]


def test_a_node_without_free_devices_refuses_a_pod_and_ended_pods_leave_theirs(
    agent: Agent, truth: Truth, plugins: Plugins
) -> None:
    agent.start()
    plugins.start()
    agent.drop("a.json", pod("a", wants(2)))
    agent.await_running("a")
    agent.drop("b.json", pod("b", wants()))
    agent.await_phase("Failed", "b")
    why = f"requested number of devices unavailable for {RESOURCE}. Requested: 1, Available: 0"
    assert why in (agent.status("b").message or "")
    (agent.manifests / "a.json").unlink()
    truth.await_none("a")
    agent.await_that(lambda: given(agent) == [], "the devices do not come back")
    agent.drop("c.json", pod("c", wants(2)))
    agent.await_running("c")
    assert gpus(truth, "c") == ["gpu-0", "gpu-1"]


def test_pods_outlive_restarts_of_the_agent_and_of_the_plugin(agent: Agent, truth: Truth, plugins: Plugins) -> None:
    agent.start()
    plugins.start()
    agent.drop("a.json", pod("a", wants()))
    agent.await_running("a")
    before = truth.running("a").id
    agent.kill()
    plugins.stop()
    agent.start()
    agent.drop("b.json", pod("b", wants()))
    agent.drop("plain.json", pod("plain"))
    agent.await_running("plain")
    assert agent.status("b").phase != "Failed"
    assert truth.running("a").id == before
    plugins.start()
    agent.await_running("a", "b")
    assert truth.running("a").id == before
    assert (gpus(truth, "a"), gpus(truth, "b")) == (["gpu-0"], ["gpu-1"])
    plugins.start()
    truth.end(truth.running("b"))
    agent.await_that(lambda: truth.running("b").attempt == 1, "b does not restart")
    assert gpus(truth, "b") == ["gpu-1"]


# (spec 10.11.4)
def test_the_status_shows_a_device_that_fails(agent: Agent, truth: Truth, plugins: Plugins) -> None:
    agent.start()
    plugin = plugins.start()
    agent.drop("a.json", pod("a", wants(2)))
    agent.await_running("a")

    def health() -> dict[str, str | None]:
        status = agent.container("a")
        shown = () if status is None else status.allocated_resources_status
        return {one.resource_id: one.health for each in shown for one in each.resources}

    agent.await_that(lambda: health() == {"gpu-0": "Healthy", "gpu-1": "Healthy"}, "no health is shown")
    plugin.offer(Device("gpu-0"), Device("gpu-1", healthy=False))
    agent.await_that(lambda: health()["gpu-1"] == "Unhealthy", "the sick device is not shown")
    assert health()["gpu-0"] == "Healthy"
    assert truth.running("a").attempt == 0
