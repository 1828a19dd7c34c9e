"""On which lane a call about a volume runs."""

from __future__ import annotations

import pytest

from actors.volumes.actual import Device, Key, PodDirectory
from actors.volumes.calls import is_remote
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.volumes.capability import VolumePlace

LOCAL = {
    "config_map",
    "downward_api",
    "empty_dir",
    "host_path",
    "image",
    "local",
    "projected",
    "secret",
}
REMOTE = {"csi", "fc", "flex_volume", "iscsi", "nfs"}


def place(plugin: str, *, block: bool = False) -> VolumePlace:
    return VolumePlace("uid", plugin, "data", block, "/somewhere")


def test_every_kind_that_is_served_is_in_the_table():
    assert {source for source, kind in VOLUME_SOURCES.items() if kind.served} == LOCAL | REMOTE


@pytest.mark.parametrize("source", sorted(LOCAL | REMOTE))
def test_a_volume_and_its_device_are_on_the_lane_of_their_kind(source: str):
    plugin = VOLUME_SOURCES[source].plugin
    for key in (place(plugin), place(plugin, block=True), Device(f"{plugin}/disk")):
        assert is_remote(key) == (source in REMOTE)


@pytest.mark.parametrize(
    ("key", "remote"),
    [
        pytest.param(PodDirectory("uid"), False, id="the directory of a pod"),
        pytest.param(place("vendor/driver"), True, id="a FlexVolume driver"),
        pytest.param(Device("vendor/driver/disk"), True, id="a device of a driver that is gone"),
        pytest.param(place(VOLUME_SOURCES["cephfs"].plugin), True, id="what an older agent left"),
        pytest.param(Device("kubernetes.io/local-volumes/disk"), True, id="a name that only begins alike"),
    ],
)
def test_other_things_are_on_the_lane_of_servers_unless_they_need_the_machine_alone(key: Key, remote: bool):
    assert is_remote(key) == remote
