"""The book of claims in a file, `dra_manager_state`, in a kubelet's format. Pure.

A kubelet reads no file whose checksum does not fit; it is of the text of the content. The file does not tell whether a
claim is prepared, so after a start each counts as one whose drivers may have been asked.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import msgspec

from actors.resources.claims.life import ClaimLife, ClaimStage
from config.frozen_map import FrozenMap
from runtime.dra.capability import ClaimDevice, ClaimRef

FILE = "dra_manager_state"
KIND, API_VERSION = "DRACheckpoint", "checkpoint.dra.kubelet.k8s.io/v1"


class _Device(msgspec.Struct, rename="pascal"):
    pool_name: str = ""
    device_name: str = ""
    share_id: str | None = msgspec.field(name="ShareID", default=None)
    request_names: list[str] | None = None
    cdi_device_ids: list[str] | None = msgspec.field(name="CDIDeviceIDs", default=None)


class _Driver(msgspec.Struct, rename="pascal"):
    devices: list[_Device] | None = None


class _Claim(msgspec.Struct, rename="pascal"):
    claim_uid: str = msgspec.field(name="ClaimUID", default="")
    claim_name: str = ""
    namespace: str = ""
    pod_uids: dict[str, dict[str, str]] = msgspec.field(name="PodUIDs", default_factory=dict)
    driver_state: dict[str, _Driver] | None = None


class _Content(msgspec.Struct):
    kind: str = ""
    api_version: str = msgspec.field(name="apiVersion", default="")
    claims: list[_Claim] | None = msgspec.field(name="ClaimInfoStateList", default=None)


class _Document(msgspec.Struct, rename="pascal"):
    data: str
    checksum: int


_decode_document = msgspec.json.Decoder(_Document).decode
_decode_content = msgspec.json.Decoder(_Content).decode


def read_claims(content: bytes) -> tuple[ClaimLife, ...]:
    """The claims in the file. Raises ValueError with the reason."""
    try:
        document = _decode_document(content)
        if zlib.crc32(document.data.encode()) != document.checksum:
            raise ValueError("checkpoint is corrupted")
        found = _decode_content(document.data)
    except (msgspec.MsgspecError, RecursionError) as fault:
        raise ValueError(f"it cannot be read: {fault}") from None
    return tuple(_life(each) for each in found.claims or ())


def written_claims(claims: Iterable[ClaimLife]) -> bytes:
    """The content of the file."""
    entries = [_entry(life) for life in sorted(claims, key=lambda life: life.ref)]
    data = msgspec.json.encode(_Content(KIND, API_VERSION, entries)).decode()
    return msgspec.json.encode(_Document(data, zlib.crc32(data.encode())))


def _life(entry: _Claim) -> ClaimLife:
    drivers = entry.driver_state or {}
    pods = frozenset(entry.pod_uids)
    return ClaimLife(
        ClaimRef(entry.namespace, entry.claim_name, entry.claim_uid),
        tuple(sorted(drivers)),
        pods,
        ClaimStage.WANTED if pods else ClaimStage.ENDING,
        FrozenMap({name: _devices(driver.devices) for name, driver in drivers.items() if driver.devices}),
        touched=True,
    )


def _devices(devices: Iterable[_Device] | None) -> tuple[ClaimDevice, ...]:
    return tuple(
        ClaimDevice(
            each.pool_name,
            each.device_name,
            tuple(each.request_names or ()),
            tuple(each.cdi_device_ids or ()),
            each.share_id or "",
        )
        for each in devices or ()
    )


def _entry(life: ClaimLife) -> _Claim:
    drivers = {name: _Driver([_device(each) for each in life.devices.get(name, ())] or None) for name in life.drivers}
    return _Claim(life.ref.uid, life.ref.name, life.ref.namespace, {pod: {} for pod in sorted(life.pods)}, drivers)


def _device(device: ClaimDevice) -> _Device:
    return _Device(
        device.pool, device.device, device.share or None, list(device.requests) or None, list(device.cdi) or None
    )
