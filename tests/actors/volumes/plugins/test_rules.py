"""Which plugins are taken, as a table."""

from __future__ import annotations

import pytest

from actors.volumes.plugins.rules import DevicesTaken, Holder, PluginRefused, Taken, highest_supported, judge, retry_ns
from runtime.plugin_registration.capability import PluginInfo

SOCKET = "/reg/d.sock"
CSI = PluginInfo("CSIPlugin", "disks.example.com", "/run/d.sock", ("1.0.0",))


def csi(name: str = "disks.example.com", *versions: str, endpoint: str = "/run/d.sock") -> PluginInfo:
    return PluginInfo("CSIPlugin", name, endpoint, versions or ("1.0.0",))


@pytest.mark.parametrize(
    ("versions", "highest"),
    [
        (("1.0.0",), (1, 0, 0)),
        (("0.3.0", "1.2", "v1.10.1"), (1, 10, 1)),
        (("0.3.0",), None),
        (("2.0.0",), None),
        (("one",), None),
        ((), None),
    ],
)
# (spec 8.8.1)
def test_the_highest_version_that_is_understood(versions: tuple[str, ...], highest: tuple[int, ...] | None):
    assert highest_supported(versions) == highest


def test_a_driver_is_taken_at_its_endpoint_or_where_it_was_asked():
    assert judge(CSI, SOCKET, None) == Taken("disks.example.com", "/run/d.sock", (1, 0, 0))
    assert judge(csi(endpoint=""), SOCKET, None) == Taken("disks.example.com", SOCKET, (1, 0, 0))


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (PluginInfo("DevicePlugin", "gpu", "", ("v1beta1",)), 'the ResourceName "gpu" is invalid'),
        (PluginInfo("DevicePlugin", "vendor.example/gpu"), "v1beta1, is not among plugin supported versions none"),
        (PluginInfo("DRAPlugin", "gpu"), "none of services supported by the plugin (none) are supported by this agent"),
        (PluginInfo("DRAPlugin", "a/b", "", ("v1.DRAPlugin",)), "cannot be the name of a driver"),
        (PluginInfo("", "x"), "no handler registered for plugin type: none"),
        (csi(""), "cannot be the name of a driver"),
        (csi("a/b"), "cannot be the name of a driver"),
        (csi("a" * 64), "cannot be the name of a driver"),
        (csi("d", "2.0.0"), "speaks no version of csi.v1 that is understood here (it says: 2.0.0)"),
    ],
)
def test_an_invalid_plugin_is_refused_for_good(info: PluginInfo, text: str):
    judgement = judge(info, SOCKET, None)
    assert isinstance(judgement, PluginRefused)
    assert text in judgement.reason
    assert judgement.for_good


# (spec 10.11.1)
def test_a_device_plugin_is_handed_over():
    info = PluginInfo("DevicePlugin", "vendor.example/gpu", "", ("v1beta1",))
    assert judge(info, SOCKET, None) == DevicesTaken("vendor.example/gpu", SOCKET)


@pytest.mark.parametrize(
    ("holder", "taken"),
    [
        (Holder(SOCKET, (1, 0, 0)), True),
        (Holder("/reg/other.sock", (1, 0, 0)), True),
        (Holder("/reg/other.sock", (1, 1, 0)), False),
        (Holder("/reg/other.sock", (1, 2, 0)), False),
    ],
)
def test_the_newer_of_two_drivers_with_one_name_wins(holder: Holder, taken: bool):
    judgement = judge(csi("d", "1.1.0"), SOCKET, holder)
    assert isinstance(judgement, Taken) is taken
    assert taken or (isinstance(judgement, PluginRefused) and not judgement.for_good)


# (spec 8.1.1)
def test_pauses_grow_up_to_two_minutes():
    assert [retry_ns(failures) / 10**9 for failures in (1, 2, 3, 20)] == [0.5, 1, 2, 122]
