"""The allocations of the node: one `Allocation` per admitted pod, and the sums (spec 10.14, 10.16).

Pure.

An allocation holds from the admission of its pod until nothing of the pod runs any more. It has all inputs of later
decisions, and is kept on disk. So after a restart the node knows its allocations before it hears of the pods again.

The file is a kubelet's file, too: a kubelet ignores `allocations`; earlier agents ignore the kubelet's records beside
it (`actors.model.kubelet_records`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from actors.model.kubelet_records import (
    KubeletRecords,
    certain,
    data_of,
    record_of,
    records_in,
    resources_in,
)
from actors.model.pod_resources import PodResources
from config.frozen_map import FrozenMap
from config.objects import Pod
from config.pods.identity import QosClass, is_critical, qos_class
from config.pods.requests import HostPorts, Port, host_ports, pod_requests
from runtime.files.state_file import VERSION


class Allocation(msgspec.Struct, frozen=True):
    """The allocation of one pod. `requests`: billionths of the resource's unit."""

    uid: str
    namespace: str
    name: str
    requests: FrozenMap[str, int]
    ports: tuple[Port, ...] = ()
    priority: int | None = None
    critical: bool = False
    qos: QosClass = QosClass.BEST_EFFORT


def allocation_of(pod: Pod) -> Allocation:
    """The allocation that the pod asks for. Raises QuantityError."""
    meta, spec = pod.metadata, pod.spec
    return Allocation(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        requests=FrozenMap(pod_requests(pod)),
        ports=host_ports(spec),
        priority=spec.priority,
        critical=is_critical(pod),
        qos=qos_class(pod),
    )


class _Written(msgspec.Struct, frozen=True):
    """The document on the disk."""

    allocations: tuple[Allocation, ...] = ()
    data: str = ""
    """The records of a kubelet."""


class KeptBook(msgspec.Struct, frozen=True):
    """The book as read from disk.

    `records`: UID -> record of each pod that has both an allocation and a record.

    `actuated`: the same for the resources that the runtime was told, from the other file. `problems`: which of the
    files were of no use, and why.
    """

    allocations: tuple[Allocation, ...] = ()
    records: FrozenMap[str, bytes] = FrozenMap()
    actuated: FrozenMap[str, bytes] = FrozenMap()
    problems: tuple[str, ...] = ()


NOTHING_KEPT = KeptBook()


class WrittenBook(msgspec.Struct, frozen=True):
    """The contents of both files, without checksums, in parts: one of each pod.

    Whoever writes them joins them, on a lane: together they are as large as all pods of the node.
    """

    lines: tuple[bytes, ...]
    records: tuple[bytes, ...]
    told: tuple[bytes, ...]

    @property
    def allocated(self) -> bytes:
        """What is allocated."""
        text, data = b",".join(self.lines), data_of(self.records)
        return b"".join((b'{"version":%d,"allocations":[' % VERSION, text, b"],", data, b"}"))

    @property
    def actuated(self) -> bytes:
        """What of that is in force."""
        return b"{%b}" % data_of(self.told)


def _frozen_amounts(_: type, value: Any) -> FrozenMap[str, int]:
    """Decode `requests`; msgspec knows no frozen mapping."""
    return FrozenMap(msgspec.convert(value, dict[str, int]))


_decode_written = msgspec.json.Decoder(_Written, dec_hook=_frozen_amounts).decode


def book_in(text: bytes) -> KeptBook:
    """Parse the file of allocations, as this agent, an earlier one or a kubelet wrote it.

    A kubelet's holds none.

    Raises msgspec.MsgspecError.
    """
    written = _decode_written(text)
    records = records_in(written.data) if written.allocations else {}
    mine = FrozenMap({each.uid: records[each.uid] for each in written.allocations if each.uid in records})
    return KeptBook(written.allocations, mine)


def actuated_in(text: bytes) -> FrozenMap[str, bytes]:
    """Parse the file of resources that the runtime was told: UID -> record. Raises msgspec.MsgspecError."""
    return FrozenMap(records_in(_decode_written(text).data))


class Book:
    """All allocations of a node, and their sums.

    For each pod it also has its resources, and those that the runtime was told.
    """

    def __init__(self, kept: KeptBook = NOTHING_KEPT) -> None:
        self._by_uid: dict[str, Allocation] = {}
        self._records = KubeletRecords()
        self._behind: dict[str, bytes] = {}
        """UID -> what the runtime was told of a pod, where that is not what it was given."""
        self._used: dict[str, int] = {}
        self._ports: dict[str, HostPorts] = {}
        """Those of pods that have any, by UID."""
        self._more = 0
        """How many pods count that are not in the book."""
        self._lines: dict[str, bytes] = {}
        """UID -> the allocation as JSON, made when needed."""
        self._unwritten: dict[str, None] = {}
        for allocation in kept.allocations:
            self.put(allocation)
        for uid, record in kept.records.items():
            self._records.put(uid, record)
            self._note_told(uid, certain(kept.actuated.get(uid, record), record))

    def __len__(self) -> int:
        return len(self._by_uid) + self._more

    def __iter__(self) -> Iterator[Allocation]:
        return iter(self._by_uid.values())

    def __contains__(self, uid: object) -> bool:
        return uid in self._by_uid

    def get(self, uid: str) -> Allocation | None:
        """The allocation of the pod, or None."""
        return self._by_uid.get(uid)

    def put(self, allocation: Allocation, ports: HostPorts | None = None) -> None:
        """Add or replace the allocation of a pod. `ports`: its host ports, if they are at hand as sets."""
        self._drop(allocation.uid)
        self._by_uid[allocation.uid] = allocation
        self._unwritten[allocation.uid] = None
        self._add_up(allocation, ports)

    def _add_up(self, allocation: Allocation, ports: HostPorts | None = None) -> None:
        if allocation.ports:
            self._ports[allocation.uid] = ports or HostPorts.of(allocation.ports)
        for resource, amount in allocation.requests.items():
            self._used[resource] = self._used.get(resource, 0) + amount

    def _take_off(self, allocation: Allocation) -> None:
        self._ports.pop(allocation.uid, None)
        for resource, amount in allocation.requests.items():
            self._used[resource] -= amount

    def record(self, pod: Pod) -> bool:
        """Keep the record of a pod that has none yet. Returns whether it is new."""
        uid = pod.metadata.uid
        if uid in self._records:
            return False
        self._records.put(uid, record_of(pod.spec))
        return True

    def resources(self, uid: str) -> PodResources | None:
        """The resources of a pod; None: there is no record."""
        record = self._records.get(uid)
        return None if record is None else resources_in(record)

    def actuated(self, uid: str) -> PodResources | None:
        """The resources that the runtime was told of a pod; None: there is no record."""
        record = self._told(uid)
        return None if record is None else resources_in(record)

    def resize(self, allocation: Allocation, pod: Pod) -> None:
        """Give a pod what it asks for now. The runtime has not been told yet."""
        told = self._told(allocation.uid)
        self.put(allocation)
        self._records.put(allocation.uid, record_of(pod.spec))
        if told is not None:
            self._note_told(allocation.uid, told)

    def actuate(self, uid: str, record: bytes) -> bool:
        """Note the record of what the runtime was told. True if that is news about a known pod."""
        if uid not in self._records or self._told(uid) == record:
            return False
        self._note_told(uid, record)
        return True

    def records(self, uid: str) -> tuple[bytes, bytes] | None:
        """The records of what a pod was given, and of what the runtime was told; None: there are none."""
        given, told = self._records.get(uid), self._told(uid)
        return None if given is None or told is None else (given, told)

    def _told(self, uid: str) -> bytes | None:
        return self._behind.get(uid) or self._records.get(uid)

    def _note_told(self, uid: str, record: bytes) -> None:
        self._behind.pop(uid, None)
        if record != self._records.get(uid):
            self._behind[uid] = record

    @contextmanager
    def without(self, uid: str) -> Iterator[None]:
        """A block in which the pod does not count, to check whether it fits with other requests."""
        has, ports = self._by_uid.get(uid), self._ports.get(uid)
        self._drop(uid)
        try:
            yield
        finally:
            if has is not None and uid not in self._by_uid:
                self.put(has, ports)

    @contextmanager
    def with_more(self, allocations: Iterable[Allocation]) -> Iterator[None]:
        """A block in which these pods count too. They are not in the book, so nobody ends them to make room."""
        more = tuple(allocations)
        self._more = len(more)
        for each in more:
            self._add_up(each)
        try:
            yield
        finally:
            self._more = 0
            for each in more:
                self._take_off(each)

    def remove(self, uid: str) -> Allocation | None:
        """Remove and return the allocation of a pod, or None."""
        self._records.remove(uid)
        self._behind.pop(uid, None)
        return self._drop(uid)

    def _drop(self, uid: str) -> Allocation | None:
        allocation = self._by_uid.pop(uid, None)
        if allocation is not None:
            self._lines.pop(uid, None)
            self._unwritten.pop(uid, None)
            self._take_off(allocation)
        return allocation

    def written(self, without: Container[str] = ()) -> WrittenBook:
        """All allocations as JSON, for the disk, except those of these UIDs.

        It is written at every admission, so only new ones are encoded.
        """
        for uid in self._unwritten:
            self._lines[uid] = msgspec.json.encode(self._by_uid[uid], enc_hook=_plain)
        self._unwritten.clear()
        lines = [line for uid, line in self._lines.items() if uid not in without] if without else self._lines.values()
        records = self._records.entries(without)
        told = self._records.entries(without, self._behind) if self._behind else records
        return WrittenBook(tuple(lines), records, told)

    def used(self, resource: str) -> int:
        """How much of the resource is allocated, in billionths."""
        return self._used.get(resource, 0)

    def takes_ports(self, wanted: HostPorts) -> bool:
        """Whether some pod has one of these ports of the host."""
        return bool(wanted.exact) and any(wanted.clash(other) for other in self._ports.values())


def _plain(amounts: FrozenMap[str, int]) -> dict[str, int]:
    return dict(amounts.items())
