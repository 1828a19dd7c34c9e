"""The checkpoint of devices, in the format of a kubelet."""

from __future__ import annotations

import pytest

from actors.model.devices import DeviceBook, HeldDevices
from actors.resources.devices.checkpoint import KeptDevices, read_checkpoint, written_checkpoint
from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import Device, DeviceSetup, HostDevice

GPU = "vendor.example/gpu"
SETUP = DeviceSetup(FrozenMap({"GPUS": "a"}), devices=(HostDevice("/dev/gpu0", "/dev/gpu0", "rw"),))
DEVICES = (Device("a", nodes=(0, 1)), Device("b"))
WRITTEN = (
    b'{"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"vendor.example/gpu",'
    b'"DeviceIDs":{"0":["a"],"1":["a"],"-1":["b"]},"AllocResp":"CgkKBEdQVVMSAWEaGgoJL2Rldi9ncHUwEgkvZGV2L2dwdTAaAnJ3"}],'
    b'"RegisteredDevices":{"vendor.example/gpu":["a","b"]}},"Checksum":%d}'
)
CHECKSUM, EMPTY_CHECKSUM = 2158387704, 3467439661
"""As a kubelet computes them: the way was compared with files of kubelets when it was written."""


def book(setup: DeviceSetup | None = SETUP) -> DeviceBook:
    return FrozenMap({"u": FrozenMap({"c": FrozenMap({GPU: HeldDevices(DEVICES, setup)})})})


KEPT = KeptDevices(book(), FrozenMap({GPU: ("a", "b")}))


def test_the_file_is_the_one_of_a_kubelet():
    assert written_checkpoint(KEPT) == WRITTEN % CHECKSUM
    assert read_checkpoint(WRITTEN % CHECKSUM) == KEPT


def test_an_empty_book_is_written_as_a_kubelet_does():
    empty = b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":%d}'
    assert written_checkpoint(KeptDevices()) == empty % EMPTY_CHECKSUM
    assert read_checkpoint(empty % EMPTY_CHECKSUM) == KeptDevices()


def test_devices_without_an_answer_of_their_plugin_are_not_written():
    """A kubelet would start the container without them."""
    kept = KeptDevices(book(None), KEPT.registered)
    assert read_checkpoint(written_checkpoint(kept)) == KeptDevices(registered=KEPT.registered)


def test_an_answer_without_content_is_an_answer():
    kept = KeptDevices(book(DeviceSetup()))
    assert read_checkpoint(written_checkpoint(kept)) == kept


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (WRITTEN % (CHECKSUM + 1), "checkpoint is corrupted"),
        ((WRITTEN % CHECKSUM).replace(b'"b"]', b'"c"]'), "checkpoint is corrupted"),
        (b"", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"Data":{"PodDeviceEntries":[{"DeviceIDs":["a"]}]},"Checksum":1}', "cannot be read"),  # before 1.20
    ],
)
def test_a_file_that_does_not_fit_is_refused(content: bytes, why: str):
    with pytest.raises(ValueError, match=why):
        read_checkpoint(content)
