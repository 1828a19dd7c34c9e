"""The host ids of pods with a user namespace (spec 17.6). Pure.

The node has one range, divided into slots of equal length. A pod has one slot, for its users and its groups alike. Its
range is written to a document beside the pod, so it stays the same after a restart.
"""

from __future__ import annotations

import msgspec

from runtime.files.state_file import decoded

ALL_IDS = 1 << 32


class IdRangeError(ValueError):
    """The range, or its document, cannot be used; the text says why."""


class IdRange(msgspec.Struct, frozen=True):
    """`length` ids of the host, the first of them `first`."""

    first: int
    length: int


class _Mapping(msgspec.Struct, frozen=True, rename="camel"):
    host_id: int
    container_id: int
    length: int


class _Document(msgspec.Struct, frozen=True, rename="camel"):
    uid_mappings: tuple[_Mapping, ...]
    gid_mappings: tuple[_Mapping, ...]


def node_range(users: str | None, groups: str | None, ids_per_pod: int, max_pods: int) -> IdRange:
    """The range of the node.

    `users`, `groups`: the output of `getsubids` for the agent's user; None if there is no such user.

    Raises IdRangeError if the range cannot be divided among the pods.
    """
    if users is None or groups is None:
        if users is not groups:
            raise IdRangeError("subordinate ids are set for users or for groups only; both are needed (getsubids)")
        return IdRange(ids_per_pod, ALL_IDS - ids_per_pod - ALL_IDS % ids_per_pod)
    if (found := _subordinate(users)) != (other := _subordinate(groups)):
        raise IdRangeError(f"subordinate user ids {found} and group ids {other} must be the same")
    first, length = found.first, found.length
    if first % ids_per_pod or first < ids_per_pod:
        raise IdRangeError(f"the first subordinate id {first} must be a multiple of {ids_per_pod}, and not 0")
    if length % ids_per_pod:
        raise IdRangeError(f"the number of subordinate ids {length} must be a multiple of {ids_per_pod}")
    if length // ids_per_pod < max_pods:
        raise IdRangeError(
            f"{length} subordinate ids are enough for {length // ids_per_pod} pods of {ids_per_pod} ids, "
            f"the node may have {max_pods}; give more, or lower maxPods"
        )
    return found


def _subordinate(said: str) -> IdRange:
    """Parse one line `0: kubelet 65536 7208960`."""
    lines = said.strip().splitlines()
    words = lines[0].split() if len(lines) == 1 else []
    if len(words) != 4 or not (words[2].isdigit() and words[3].isdigit()):
        raise IdRangeError(f"one range of subordinate ids is needed, getsubids says {said.strip()!r}")
    return IdRange(int(words[2]), int(words[3]))


class Slots:
    """Which pod has which slot. Owned by one actor."""

    def __init__(self, whole: IdRange, ids_per_pod: int) -> None:
        self._whole = whole
        self._ids_per_pod = ids_per_pod
        self._given: dict[str, IdRange] = {}
        self._blocked: dict[str, IdRange] = {}

    def of(self, uid: str) -> IdRange | None:
        """The range of the pod, or None."""
        return self._given.get(uid)

    def give(self, uid: str) -> IdRange:
        """The range of the pod, or the first free slot. Raises IdRangeError when none is free."""
        if (had := self.of(uid)) is not None:
            return had
        last = self._whole.first + self._whole.length - self._ids_per_pod
        used = {first for each in (*self._given.values(), *self._blocked.values()) for first in self._slots_of(each)}
        for first in range(self._whole.first, last + 1, self._ids_per_pod):
            if first not in used:
                given = self._given[uid] = IdRange(first, self._ids_per_pod)
                return given
        raise IdRangeError("all ids of user namespaces are given to other pods")

    def restore(self, uid: str, given: IdRange) -> None:
        """Record a range that an earlier life of the agent gave.

        Raises IdRangeError if the pod cannot go on with it; even then no other pod gets it before the release.
        """
        fault = self._fault_of(given)
        if fault:
            self._blocked[uid] = given
            raise IdRangeError(fault)
        self._given[uid] = given

    def _fault_of(self, given: IdRange) -> str:
        first, whole = given.first, self._whole
        if given.length != self._ids_per_pod:
            return f"{given.length} ids were given to the pod, idsPerPod is {self._ids_per_pod} now"
        inside = whole.first <= first <= whole.first + whole.length - given.length
        if not inside or (first - whole.first) % self._ids_per_pod:
            return f"the ids of the pod from {first} on are outside of the node's"
        if given in self._given.values():
            return f"the ids of the pod from {first} on are those of another pod, too"
        return ""

    def release(self, uid: str) -> None:
        """Free the range of the pod."""
        self._given.pop(uid, None)
        self._blocked.pop(uid, None)

    def _slots_of(self, given: IdRange) -> range:
        """First ids of all slots that the range touches, as far as they are the node's."""
        begin, step = self._whole.first, self._ids_per_pod
        first = begin + max(0, given.first - begin) // step * step
        return range(first, min(given.first + given.length, begin + self._whole.length), step)


def document(given: IdRange) -> str:
    """The document written beside the pod."""
    mappings = (_Mapping(given.first, 0, given.length),)
    return msgspec.json.encode(_Document(mappings, mappings)).decode()


_decode_document = msgspec.json.Decoder(_Document).decode


def read_document(text: str) -> IdRange:
    """Parse the document. Raises IdRangeError."""
    try:
        read = decoded(text.encode(), _decode_document)
    except ValueError as fault:
        raise IdRangeError(f"the record of the pod's ids cannot be read: {fault}") from fault
    if read.uid_mappings != read.gid_mappings or len(read.uid_mappings) != 1 or read.uid_mappings[0].container_id:
        raise IdRangeError("the record of the pod's ids is not one range for users and groups that begins at 0")
    [one] = read.uid_mappings
    return IdRange(one.host_id, one.length)
