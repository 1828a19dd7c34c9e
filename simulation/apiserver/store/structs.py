"""Versions of objects as frozen structs, for clients in this process.

A struct is made of the dicts and lists of a version, without encoding them. Each version is read once, because the
client that changed an object and all watchers get the same struct. A pod is put together for each of them, of parts
that are read once. Pods that share a spec (see `strategies/pod_specs.py`) share its struct. The struct of a status is
the one from the status check. So no spec is held here when its pods are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import ref

import msgspec

from config.caches import MIB, KeptBytes
from config.documents.codec import from_builtins
from config.documents.sharing import shared
from config.objects import ApiObject, ObjectMeta, Pod, PodSpec, PodStatus
from simulation.apiserver.status import Json
from simulation.apiserver.store.by_identity import ByIdentity, WhileHeld, in_memory_bytes
from simulation.apiserver.store.store import Version

VERSIONS_BYTES = 8 * MIB
"""Some hundreds: watchers get a version soon after it is stored."""
STATUSES_BYTES = 4 * MIB
LONGEST_BYTES = MIB
P = TypeVar("P")
_PARTS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})


def read_version(version: Version, kind: type[ApiObject]) -> Any:
    """The object of that version: of type `kind`. Raises DocumentError."""
    if kind is Pod:
        return read_pod(version.object)
    try:
        return _versions[version, kind]
    except KeyError:
        read = from_builtins(version.object, kind)
    return _versions.keep((version, kind), read, in_memory_bytes(version.size_bytes))


def read_pod(value: Json) -> Pod:
    """A stored pod, whose spec other pods may share. Raises DocumentError."""
    spec = value.get("spec")
    read = None if spec is None else _specs.get(spec) or _read_spec(spec)
    return from_builtins(value, Pod) if read is None else _put_together(value, read)


def read_change_of_pod(value: Json) -> Pod:
    """A pod that a client sent: its spec may be a stored one, or may never be used again."""
    read = _specs.get(value.get("spec"))
    return from_builtins(value, Pod) if read is None else _put_together(value, read)


def knows_change_of_status(old: Version, status: Any) -> bool:
    """Whether a pod that differs from `old` only in this status needs no further reading."""
    value = old.object
    spec = value.get("spec")
    try:
        if spec is None or (_specs.get(spec) is None and _read_spec(spec) is None) or not value.keys() <= _PARTS:
            return False
        msgspec.convert(value["metadata"], ObjectMeta)
        _read_status(status)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


class LatestPart(Generic[P]):
    """The part that was read last. Pods of one template come together, and share what they can.

    `hold`: how it is held until the next one comes; a weak reference keeps nothing of a pod that is gone.
    """

    def __init__(self, hold: Callable[[P], Callable[[], P | None]]) -> None:
        self._hold = hold
        self._last: Callable[[], P | None] = _no_part

    def shared_with(self, part: P) -> P:
        """An equal part that shares with the one before."""
        last = self._last()
        made = part if last is None else shared(part, last)
        self._last = self._hold(made)
        return made

    def clear(self) -> None:
        """The next part is the first."""
        self._last = _no_part


def _no_part() -> None:
    return None


def _strongly(part: P) -> Callable[[], P]:
    return lambda: part


_last_spec: LatestPart[PodSpec] = LatestPart(ref)
_last_status: LatestPart[PodStatus] = LatestPart(_strongly)
_versions: KeptBytes[tuple[Version, type[ApiObject]], Any] = KeptBytes(VERSIONS_BYTES, LONGEST_BYTES)
_specs: WhileHeld[PodSpec] = WhileHeld()
"""Each pod with a token has a spec of its own: a cluster has as many specs as pods."""
_statuses: ByIdentity[PodStatus] = ByIdentity(STATUSES_BYTES, LONGEST_BYTES)
"""A status is read when it arrives, and again in its stored version."""


def _put_together(value: Json, spec: PodSpec) -> Pod:
    """A pod made of its parts. One with unknown fields is read as a whole."""
    if value.keys() <= _PARTS:
        try:
            status = value.get("status")
            return Pod(
                api_version="v1",
                kind="Pod",
                metadata=msgspec.convert(value["metadata"], ObjectMeta),
                spec=spec,
                status=None if status is None else _statuses.get(status) or _read_status(status),
            )
        except (msgspec.ValidationError, RecursionError):
            pass
    return from_builtins(value, Pod)


def _read_status(status: Json) -> PodStatus:
    return _statuses.put(status, _last_status.shared_with(msgspec.convert(status, PodStatus)))


def _read_spec(spec: Json) -> PodSpec | None:
    """Read a spec; None for one with unknown fields, which its pod must record."""
    try:
        return _specs.put(spec, _last_spec.shared_with(msgspec.convert(spec, PodSpec)))
    except (msgspec.ValidationError, RecursionError):
        return None
