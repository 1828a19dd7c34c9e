"""The resources of each admitted pod as a kubelet 1.36 keeps them, so that it can take over the node.

A kubelet reads two files at its start and refuses to start if it cannot: `allocated_pods_state` and
`actuated_pods_state`. Both are a checkpoint: `data`, which is JSON in a string, and the checksum of that string, which
`runtime.state.checkpoint` adds. A pod without a record gets its resources set again, and a container with
`resizePolicy: RestartContainer` restarts.

Each pod has two records: its allocated resources, and those that the runtime was told. They differ while a resize is in
progress, and the agent that reads them goes on with it. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

import msgspec

from actors.model.pod_resources import PodResources, resources_of, same_amounts
from config.frozen_map import FrozenMap
from config.objects import PodSpec, ResourceRequirements
from config.objects.resources import ResourceClaim
from config.pods.once_per_spec import once_per_spec

_BEGINS = b'{"entries":{'
_ENDS = b"}}"


class _Claim(msgspec.Struct, omit_defaults=True):
    name: str
    request: str = ""


class _Resources(msgspec.Struct, omit_defaults=True):
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}
    claims: list[_Claim] = []


class KubeletRecord(msgspec.Struct):
    """Upstream's `PodResourceInfo`; its fields have no JSON names of their own."""

    ContainerResources: dict[str, _Resources] = {}
    PodLevelResources: _Resources | None = None


class _Data(msgspec.Struct):
    entries: dict[str, KubeletRecord] = {}


@once_per_spec
def record_of(spec: PodSpec) -> bytes:
    """The record of a pod that has what its spec asks for, as JSON."""
    return record_from(resources_of(spec))


def record_from(has: PodResources) -> bytes:
    """The record of a pod that has these resources.

    It has all containers but ephemeral ones, and the pod as a whole.
    """
    return msgspec.json.encode({"ContainerResources": dict(has.containers.items()), "PodLevelResources": has.whole})


_decode_record = msgspec.json.Decoder(KubeletRecord).decode


def resources_in(record: bytes) -> PodResources:
    """The resources of the pod in a record."""
    found = _decode_record(record)
    containers = {name: _requirements(each) for name, each in found.ContainerResources.items()}
    whole = found.PodLevelResources
    return PodResources(FrozenMap(containers), None if whole is None else _requirements(whole))


def _requirements(written: _Resources) -> ResourceRequirements:
    claims = tuple(ResourceClaim(name=each.name, request=each.request or None) for each in written.claims)
    return ResourceRequirements(claims=claims, limits=written.limits, requests=written.requests)


def certain(told: bytes, given: bytes) -> bytes:
    """The part of a record of told resources that an earlier agent left for sure.

    It may have died after it told the runtime what the pod was given, and before it wrote that down. So a container is
    left out if the records differ in it, and so are all if they differ in the pod level.
    """
    if told == given:
        return told
    had, has = resources_in(told), resources_in(given)
    if not same_amounts(had.whole, has.whole):
        return record_from(PodResources(whole=had.whole))
    same = {name: each for name, each in had.containers.items() if same_amounts(each, has.containers.get(name))}
    return record_from(PodResources(FrozenMap(same), had.whole))


_decode_data = msgspec.json.Decoder(_Data).decode


def records_in(data: str) -> Mapping[str, bytes]:
    """UID -> record, from the `data` of a checkpoint.

    Unreadable data gives no records; they can be made again.
    """
    try:
        entries = _decode_data(data).entries if data else {}
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return {uid: msgspec.json.encode(record) for uid, record in entries.items()}


class KubeletRecords:
    """The records of a node's pods."""

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}
        """UID -> its part of the data: key, colon, record."""

    def __contains__(self, uid: object) -> bool:
        return uid in self._entries

    def get(self, uid: str) -> bytes | None:
        """The record of a pod as JSON, or None."""
        entry = self._entries.get(uid)
        return None if entry is None else entry[len(msgspec.json.encode(uid)) + 1 :]

    def put(self, uid: str, record: bytes) -> None:
        """Add or replace a record."""
        self.remove(uid)
        self._entries[uid] = _entry(uid, record)

    def remove(self, uid: str) -> None:
        """Remove the record of a pod, if it has one."""
        self._entries.pop(uid, None)

    def entries(self, without: Container[str] = (), instead: Mapping[str, bytes] = {}) -> tuple[bytes, ...]:
        """The parts of the data. `without`: UIDs that are left out.

        `instead`: UID -> the record that stands there in place of the pod's own. New records come last, so what is
        written begins mostly as what was written before.
        """
        entries = self._entries
        if without or instead:
            entries = {uid: entry for uid, entry in entries.items() if uid not in without}
            entries |= {uid: _entry(uid, record) for uid, record in instead.items() if uid in entries}
        return tuple(entries.values())


def data_of(entries: Iterable[bytes]) -> bytes:
    """The member `data` of the JSON object in the files, from its parts."""
    return b'"data":' + msgspec.json.encode((_BEGINS + b",".join(entries) + _ENDS).decode())


def _entry(uid: str, record: bytes) -> bytes:
    return msgspec.json.encode(uid) + b":" + record
