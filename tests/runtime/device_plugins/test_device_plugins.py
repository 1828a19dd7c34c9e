"""Device plugins at sockets: they register, offer devices, and are asked; and what is refused."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from config.frozen_map import FrozenMap
from runtime.cri.errors import StatusCode
from runtime.device_plugins import client
from runtime.device_plugins.capability import (
    DEVICES_AT_MOST,
    Device,
    DeviceMount,
    DeviceSetup,
    Following,
    HostDevice,
    PluginFound,
    PluginOptions,
)
from runtime.device_plugins.local import LocalDevicePlugins
from runtime.device_plugins.wire import devices_in, devices_message, setup_in, written_setup
from runtime.plugins.errors import PluginError
from tests.device_plugin.plugin import RESOURCE, SamplePlugin
from tests.real.waiting import until

SETUP = DeviceSetup(
    FrozenMap({"GPU": "0,1"}),
    (DeviceMount("/lib/gpu", "/usr/lib/gpu", True),),
    (HostDevice("/dev/gpu0", "/dev/dri/card0", "rwm"),),
    FrozenMap({"vendor.example/slot": "3"}),
    ("vendor.example/gpu=0",),
)
WAIT_S = 30


@pytest.fixture
def root() -> Iterator[Path]:
    """Short, because paths of sockets are."""
    with tempfile.TemporaryDirectory(prefix="d-") as directory:
        yield Path(directory)


class Agent:
    """An agent that takes plugins."""

    def __init__(self, root: Path, refuse: str = "") -> None:
        self.plugins = LocalDevicePlugins(str(root))
        self.directory = Path(self.plugins.directory)
        self.found: list[PluginFound] = []
        self._refuse = refuse
        self.registrations = self.plugins.serve(self._accept)

    def _accept(self, found: PluginFound) -> str:
        self.found.append(found)
        return self._refuse

    def close(self) -> None:
        self.registrations.close()


@pytest.fixture
def agent(root: Path) -> Iterator[Agent]:
    made = Agent(root)
    yield made
    made.close()


def test_a_plugin_registers_with_the_options_that_it_has(agent: Agent):
    with SamplePlugin(agent.directory, preferred=("a",), pre_start=True) as plugin:
        assert plugin.register(agent.directory) == ""
        options = PluginOptions(pre_start=True, prefers=True)
        assert agent.found == [PluginFound(RESOURCE, str(plugin.path), options)]


def test_the_sockets_have_the_modes_of_a_kubelet(agent: Agent):
    found = (agent.directory / "kubelet.sock").lstat()
    assert stat.S_ISSOCK(found.st_mode)
    assert stat.S_IMODE(found.st_mode) == 0o755
    assert found.st_uid == os.geteuid()
    assert stat.S_IMODE(agent.directory.stat().st_mode) == 0o750


def test_a_start_removes_the_sockets_of_plugins_and_makes_its_own_anew(root: Path):
    """Plugins watch for one or the other, and register anew."""
    directory = root / "device-plugins"
    directory.mkdir()
    for name in ("kubelet.sock", "plugin.sock"):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(directory / name))
    (directory / "kubelet_internal_checkpoint").write_text("kept")
    (directory / "link.sock").symlink_to(directory / "plugin.sock")
    before = (directory / "kubelet.sock").lstat()
    agent = Agent(root)
    try:
        assert sorted(each.name for each in directory.iterdir()) == [
            *("kubelet.sock", "kubelet_internal_checkpoint", "link.sock"),
        ]
        after = (directory / "kubelet.sock").lstat()
        assert (after.st_ino, after.st_ctime_ns) != (before.st_ino, before.st_ctime_ns)
    finally:
        agent.close()


@pytest.mark.parametrize("kind", ["link", "file", "directory"])
def test_what_is_no_socket_in_the_place_of_ours_is_refused_and_stays(root: Path, kind: str):
    directory = root / "device-plugins"
    directory.mkdir()
    path = directory / "kubelet.sock"
    if kind == "link":
        path.symlink_to(root / "elsewhere")
    elif kind == "file":
        path.touch()
    else:
        path.mkdir()
    with pytest.raises(OSError, match="is no socket"):
        Agent(root)
    assert os.path.lexists(path)


@pytest.mark.parametrize(
    ("version", "endpoint", "reason"),
    [
        ("v1alpha1", "", 'requested API version "v1alpha1" is not supported by kubelet'),
        ("v1beta1", "../elsewhere.sock", "has to be the name of a socket beside kubelet.sock"),
        ("v1beta1", "kubelet.sock", "has to be the name of a socket beside kubelet.sock"),
        ("v1beta1", "link.sock", "is a link"),
        ("v1beta1", "file.sock", "is no socket"),
    ],
)
def test_a_wrong_registration_is_refused_with_the_reason(agent: Agent, version: str, endpoint: str, reason: str):
    (agent.directory / "file.sock").touch()
    with SamplePlugin(agent.directory) as plugin:
        (agent.directory / "link.sock").symlink_to(plugin.path)
        assert reason in plugin.register(agent.directory, version=version, endpoint=endpoint)
        assert not agent.found


def test_a_plugin_hears_why_the_agent_refuses_it(root: Path):
    agent = Agent(root, refuse='the ResourceName "cpu" is invalid')
    try:
        with SamplePlugin(agent.directory) as plugin:
            assert plugin.register(agent.directory, "cpu") == 'the ResourceName "cpu" is invalid'
    finally:
        agent.close()


def test_a_plugin_whose_options_cannot_be_read_hears_a_kubelets_words_and_is_not_used(agent: Agent):
    with SamplePlugin(agent.directory) as plugin:
        plugin.fails["GetDevicePluginOptions"] = "no such card"
        refusal = plugin.register(agent.directory)
        assert refusal.startswith("failed to get device plugin options: rpc error: ")
        assert refusal.endswith("no such card")
        assert not agent.found


def test_devices_arrive_and_the_newest_list_counts(root: Path):
    one, two = Device("a", nodes=(0, 1)), Device("b", healthy=False)
    with SamplePlugin(root, [one]) as plugin:
        asked = LocalDevicePlugins(str(root)).connect(str(plugin.path))
        ended: list[str] = []
        following = asked.follow(lambda: None, ended.append)
        until(lambda: following.newest() == (one,), WAIT_S, "the list does not come")
        plugin.offer(one, two)
        until(lambda: following.newest() == (one, two), WAIT_S, "the list does not come")
        assert not ended
    until(lambda: bool(ended), WAIT_S, "the list does not come")
    asked.close()


def test_a_list_that_flaps_costs_one_list(root: Path):
    """Thousands of changes wait for nobody: the last one arrives."""
    last = Device("last")
    with SamplePlugin(root, [Device("a")]) as plugin:
        asked = LocalDevicePlugins(str(root)).connect(str(plugin.path))
        for turn in range(2_000):
            plugin.offer(Device("a", healthy=turn % 2 == 0))
        plugin.offer(last)
        following: Following = asked.follow(lambda: None, lambda _: None)
        until(lambda: following.newest() == (last,), WAIT_S, "the list does not come")
        following.close()
        asked.close()


def test_a_list_over_the_limit_of_the_wire_ends_the_plugin(root: Path):
    said: list[str] = []
    ended = Event()
    with SamplePlugin(root, [Device("x" * 1_000_000 + str(n)) for n in range(5)]) as plugin:
        asked = LocalDevicePlugins(str(root)).connect(str(plugin.path))

        def end(reason: str) -> None:
            said.append(reason)
            ended.set()

        following = asked.follow(lambda: None, end)
        assert ended.wait(WAIT_S)
        assert following.newest() is None
        assert "RESOURCE_EXHAUSTED" in said[0]
        asked.close()


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        ([Device("")], "a device ID has 0 characters"),
        ([Device("x" * 1_000_000)], "a device ID has 1000000 characters; it may have 1 to 256"),
        ([Device(str(n)) for n in range(DEVICES_AT_MOST + 1)], "it lists 16385 devices; this agent takes 16384"),
    ],
)
def test_a_list_of_nonsense_is_refused(devices: list[Device], reason: str):
    with pytest.raises(PluginError, match=reason):
        devices_in(devices_message(tuple(devices)).SerializeToString())


def test_of_a_device_that_is_listed_twice_the_last_counts():
    data = devices_message((Device("a"), Device("b"), Device("a", healthy=False))).SerializeToString()
    assert devices_in(data) == (Device("a", healthy=False), Device("b"))


def test_bytes_that_are_no_list_are_refused():
    with pytest.raises(PluginError, match="cannot be read"):
        devices_in(b"\xff\xff")
    with pytest.raises(ValueError, match="cannot be read"):
        setup_in(b"\xff\xff")


def test_a_setup_survives_the_way_through_a_checkpoint():
    assert setup_in(written_setup(SETUP)) == SETUP
    assert written_setup(SETUP) == written_setup(setup_in(written_setup(SETUP)))


def test_a_plugin_is_asked_for_all_that_the_interface_has(root: Path):
    with SamplePlugin(root, pre_start=True, preferred=("b",), setup=lambda _: SETUP) as plugin:
        asked = LocalDevicePlugins(str(root)).connect(str(plugin.path))
        assert asked.options() == PluginOptions(pre_start=True, prefers=True)
        assert asked.prefer(["a", "b"], ["b"], 1) == ("b",)
        assert asked.allocate(["b"]) == SETUP
        asked.pre_start(["b"])
        assert plugin.calls[1:] == [
            ("GetPreferredAllocation", ("a", "b")),
            ("Allocate", ("b",)),
            ("PreStartContainer", ("b",)),
        ]
        plugin.fails["Allocate"] = "no power"
        with pytest.raises(PluginError, match="no power"):
            asked.allocate(["b"])
        asked.close()


def test_a_plugin_that_hangs_is_given_up_after_the_deadline(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(client, "ALLOCATE_NS", 200_000_000)
    with SamplePlugin(root) as plugin:
        plugin.hangs.add("Allocate")
        asked = LocalDevicePlugins(str(root)).connect(str(plugin.path))
        with pytest.raises(PluginError) as failure:
            asked.allocate(["a"])
        assert failure.value.code is StatusCode.DEADLINE_EXCEEDED
        asked.close()
