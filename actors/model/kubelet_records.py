"""The resources of each admitted pod as a kubelet 1.36 keeps them, so that it can take over the node.

A kubelet reads two files at its start and refuses to start if it cannot: `allocated_pods_state` and
`actuated_pods_state`. Both are a checkpoint: `data`, which is JSON in a string, and the checksum of that string. A pod
without a record gets its resources set anew, and a container with `resizePolicy: RestartContainer` restarts.

Of each pod there are two records: what it was allocated, and what the runtime was told of that. They differ while a
resize is in progress, and the agent that reads them goes on with it. Pure.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import islice, takewhile

import msgspec

from actors.model.pod_resources import PodResources, resources_of
from config.frozen_map import FrozenMap
from config.objects import PodSpec, ResourceRequirements
from config.objects.resources import ResourceClaim
from config.pods.once_per_spec import once_per_spec
from config.values.go_dump import hash_of_text

_BEGINS = b'{"entries":{'
_ENDS = b"}}"
_HASH_BEGINS = hash_of_text(_BEGINS)


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
    """The record of a pod that has these resources: all containers but ephemeral ones, and the pod as a whole."""
    return msgspec.json.encode({"ContainerResources": dict(has.containers), "PodLevelResources": has.whole})


def resources_in(record: bytes) -> PodResources:
    """What a record says that the pod has."""
    found = msgspec.json.decode(record, type=KubeletRecord)
    containers = {name: _requirements(each) for name, each in found.ContainerResources.items()}
    whole = found.PodLevelResources
    return PodResources(FrozenMap(containers), None if whole is None else _requirements(whole))


def _requirements(written: _Resources) -> ResourceRequirements:
    claims = tuple(ResourceClaim(name=each.name, request=each.request or None) for each in written.claims)
    return ResourceRequirements(claims=claims, limits=written.limits, requests=written.requests)


def records_in(data: str) -> Mapping[str, bytes]:
    """UID -> record, from the `data` of a checkpoint. What cannot be read holds none: records can be made anew."""
    try:
        entries = msgspec.json.decode(data, type=_Data).entries if data else {}
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return {uid: msgspec.json.encode(record) for uid, record in entries.items()}


class KubeletRecords:
    """The records of a node's pods."""

    def __init__(self) -> None:
        self._entries: dict[str, bytes] = {}
        """UID -> its part of the data: key, colon, record."""
        self._hashed: dict[str, int] = {}
        """The first of `_entries` -> the hash of the data up to its end. Saves hashing all of it at each admission."""

    def __contains__(self, uid: object) -> bool:
        return uid in self._entries

    def get(self, uid: str) -> bytes | None:
        """The record of a pod, or None."""
        entry = self._entries.get(uid)
        return None if entry is None else entry[len(msgspec.json.encode(uid)) + 1 :]

    def put(self, uid: str, record: bytes) -> None:
        """Add or replace a record."""
        self.remove(uid)
        self._entries[uid] = _entry(uid, record)

    def remove(self, uid: str) -> None:
        """Remove the record of a pod, if it has one."""
        if self._entries.pop(uid, None) is not None and uid in self._hashed:
            self._hashed = dict(takewhile(lambda each: each[0] != uid, self._hashed.items()))

    def checkpoint(self, without: Container[str] = (), instead: Mapping[str, bytes] = {}) -> bytes:
        """The members `data` and `checksum` of the JSON object in the files. `without`: UIDs that are left out.

        `instead`: UID -> the record that stands there in place of the pod's own.
        """
        if without or instead:
            there = {uid: entry for uid, entry in self._entries.items() if uid not in without}
            there |= {uid: _entry(uid, record) for uid, record in instead.items() if uid in there}
            entries = b",".join(there.values())
            state = hash_of_text(entries, _HASH_BEGINS)
        else:
            entries = b",".join(self._entries.values())
            state = self._hash_of_all()
        data = msgspec.json.encode((_BEGINS + entries + _ENDS).decode())
        return b'"data":%b,"checksum":%d' % (data, hash_of_text(_ENDS, state))

    def _hash_of_all(self) -> int:
        state = next(reversed(self._hashed.values()), _HASH_BEGINS)
        for uid, entry in islice(self._entries.items(), len(self._hashed), None):
            state = hash_of_text(b"," + entry if self._hashed else entry, state)
            self._hashed[uid] = state
        return state


def _entry(uid: str, record: bytes) -> bytes:
    return msgspec.json.encode(uid) + b":" + record
