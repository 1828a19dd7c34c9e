"""Public device plugins, unchanged, through restarts of the agent and of themselves (spec 10.11).

Each program is built from its sources and named by a variable (`PUBLIC`); a plugin without one is skipped. They serve
where a kubelet has its sockets, so each runs in a mount namespace in which that is the agent's directory.

- squat/generic-device-plugin gives this machine's /dev/fuse, three times.
- The sample plugin of Kubernetes (test/images/sample-device-plugin) gives a file for each device.
- kubevirt/macvtap-cni is built on kubevirt's framework (device-plugin-manager). It makes a tap for each device that it
  gives, on a network interface of this machine.
- ROCm/k8s-device-plugin (AMD) is on that framework as well, and ends when the agent does, to be started again. It finds
  GPUs in files of /sys, which the test writes for it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.real.agent import Agent
from tests.real.pods import Truth, container, pod
from tests.real.waiting import until

OF_KUBELET = "/var/lib/kubelet/device-plugins"
_IN_ITS_NAMESPACE = """
mount -t tmpfs kubelet "${1%/*}" && mkdir "$1" && mount --bind "$0" "$1" && shift && exec "$@"
"""


class Public(NamedTuple):
    """A plugin: the variable that names its program, its flags and environment, and what it gives.

    `script` is true in a container that has one device. `machine` prepares this machine, and says what goes before the
    program.
    """

    variable: str
    resource: str
    script: str
    flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    machine: Callable[[Path, ExitStack], tuple[str, ...]] = lambda _, __: ()


_LOWER = "act-lower"
_FUSE = {"name": "fuse", "groups": [{"count": 3, "paths": [{"path": "/dev/fuse"}]}]}
_MACVTAP = [{"name": "tap", "lowerDevice": _LOWER, "mode": "bridge", "capacity": 3}]


def _interface(_: Path, after: ExitStack) -> tuple[str, ...]:
    """One end of a cable, for taps."""
    subprocess.run(["ip", "link", "add", _LOWER, "type", "veth", "peer", "name", f"{_LOWER}-2"], check=True)
    after.callback(subprocess.run, ["ip", "link", "delete", _LOWER], check=False)
    return ()


def _gpus(directory: Path, after: ExitStack) -> tuple[str, ...]:
    """Three GPUs: what the driver would tell in /sys, and null devices under their names in /dev."""
    tree = directory / "sys"
    for number in range(3):
        card = tree / "module/amdgpu/drivers/pci:amdgpu" / f"0000:0{number + 1}:00.0"
        for name in (f"card{number}", f"renderD{128 + number}"):
            (card / "drm" / name).mkdir(parents=True)
            _null_device(Path("/dev/dri", name), after)
        (card / "numa_node").write_text("0\n")
        node = tree / "class/kfd/kfd/topology/nodes" / str(number + 1)
        node.mkdir(parents=True)
        facts = {"cpu_cores_count": 0, "simd_count": 256, "gfx_target_version": 90010, "domain": 0}
        facts |= {"drm_render_minor": 128 + number, "location_id": (number + 1) << 8}
        (node / "properties").write_text("".join(f"{name} {value}\n" for name, value in facts.items()))
    _null_device(Path("/dev/kfd"), after)
    return ("sh", "-c", 'mount --rbind "$0" /sys && exec "$@"', str(tree))


def _null_device(path: Path, after: ExitStack) -> None:
    if not path.parent.exists():
        path.parent.mkdir()
        after.callback(path.parent.rmdir)
    subprocess.run(["mknod", str(path), "c", "1", "3"], check=True)
    after.callback(path.unlink)


PUBLIC = {
    "generic": Public(
        "ACTORLET_TEST_DEVICE_PLUGIN",
        "squat.ai/fuse",
        "test -c /dev/fuse",
        ("--domain", "squat.ai", "--device", json.dumps(_FUSE), "--listen", "127.0.0.1:0"),
    ),
    "sample": Public("ACTORLET_TEST_SAMPLE_PLUGIN", "example.com/resource", "ls /tmp/Dev-*"),
    "macvtap": Public(
        "ACTORLET_TEST_MACVTAP_PLUGIN",
        "macvtap.network.kubevirt.io/tap",
        "test -c /dev/tap*",
        ("-logtostderr", "-v", "3"),
        {"DP_MACVTAP_CONF": json.dumps(_MACVTAP)},
        _interface,
    ),
    "amd": Public(
        "ACTORLET_TEST_AMD_PLUGIN",
        "amd.com/gpu",
        "test -c /dev/kfd && test -c /dev/dri/renderD1*",
        ("-logtostderr", "-pulse", "1"),
        machine=_gpus,
    ),
}


class Plugin:
    """One program after the other, as its DaemonSet has them: another comes where one has ended."""

    def __init__(self, public: Public, agent: Agent, before: tuple[str, ...], after: ExitStack) -> None:
        self.public = public
        self.log = agent.directory / "plugin.log"
        served = ["unshare", "--mount", "sh", "-c", _IN_ITS_NAMESPACE, str(agent.root / "device-plugins"), OF_KUBELET]
        self._command = [*served, *before, os.environ[public.variable], *public.flags]
        self._running: subprocess.Popen[bytes] | None = None
        after.callback(self.kill)

    def keep(self) -> None:
        """Start it if it does not run."""
        if self._running is None or self._running.poll() is not None:
            with self.log.open("ab") as log:
                environment = {**os.environ, **self.public.environment}
                self._running = subprocess.Popen(self._command, env=environment, stdout=log, stderr=log)

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def kill(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()


@pytest.fixture(params=[pytest.param(each, id=name) for name, each in PUBLIC.items()])
def plugin(request: pytest.FixtureRequest, agent: Agent, after: ExitStack) -> Plugin:
    public: Public = request.param
    if not os.environ.get(public.variable):
        pytest.skip(f"{public.variable} names no plugin")
    Path(OF_KUBELET).parent.mkdir(exist_ok=True)
    (agent.root / "device-plugins").mkdir()
    return Plugin(public, agent, public.machine(agent.directory, after), after)


def wants(plugin: Plugin) -> dict[str, Any]:
    return container(resources={"limits": {plugin.public.resource: "1"}})


def book(agent: Agent) -> tuple[set[str], list[str]]:
    """The resources of plugins that are there, and the devices that are given."""
    file = agent.root / "device-plugins" / "kubelet_internal_checkpoint"
    if not file.exists():
        return set(), []
    data = json.loads(file.read_text())["Data"]
    entries = data["PodDeviceEntries"] or ()
    given = sorted(one for entry in entries for ids in entry["DeviceIDs"].values() for one in ids)
    return {name for name, ids in (data["RegisteredDevices"] or {}).items() if ids}, given


def given(agent: Agent) -> int:
    """How many devices are given, each to one container."""
    ids = book(agent)[1]
    assert len(set(ids)) == len(ids), f"a device is given twice: {ids}"
    return len(ids)


def run(agent: Agent, plugin: Plugin, truth: Truth, name: str) -> None:
    """A new pod, which waits for the plugin where that is late, runs with its device."""
    agent.drop(f"{name}.json", pod(name, wants(plugin)))

    def runs() -> bool:
        plugin.keep()
        return agent.status(name).phase == "Running"

    until(runs, 180, lambda: f"{name} does not run: {agent.troubles()} {plugin.said()}")
    assert truth.run(truth.running(name), "sh", "-c", f"{plugin.public.script} >&2 && echo has it").strip() == "has it"


def end(agent: Agent, name: str) -> None:
    """The pod goes, and its device is given back."""
    before = given(agent)
    (agent.manifests / f"{name}.json").unlink()
    until(lambda: given(agent) == before - 1, 120, lambda: f"{name} keeps its device: {agent.troubles()}")


def test_a_public_plugin_serves_pods_through_restarts_of_each_side(agent: Agent, truth: Truth, plugin: Plugin) -> None:
    agent.start()
    plugin.keep()
    until(lambda: plugin.public.resource in book(agent)[0], 60, plugin.said)
    run(agent, plugin, truth, "first")
    first = truth.running("first")
    plugin.kill()
    run(agent, plugin, truth, "after-plugin")
    assert given(agent) == 2
    end(agent, "after-plugin")
    agent.kill()
    agent.start()
    run(agent, plugin, truth, "after-agent")
    end(agent, "after-agent")
    agent.terminate()
    plugin.kill()
    agent.start()
    run(agent, plugin, truth, "after-both")
    assert given(agent) == 2
    assert truth.running("first").key == first.key
