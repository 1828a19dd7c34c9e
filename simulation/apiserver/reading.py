"""Versions of objects as the frozen structs that a program in this process works with.

A struct is made of the dicts and lists of a version, without the text that would go over a wire: it shares strings with
them and nothing that could change. Each version is made one only once, since who has changed an object and who watches
it get the same. Pods of one spec share the struct of it, as they share the spec itself (see kinds/pod_specs.py); and
the struct of a status is that which the status was checked with when it came.

What can fail is a version that is no such object (`DocumentError`). Refuses to know connections.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from config.documents.codec import DocumentError, from_builtins
from config.objects import ApiObject, ObjectMeta, Pod, PodSpec, PodStatus
from simulation.apiserver.by_identity import ByIdentity
from simulation.apiserver.status import Json
from simulation.apiserver.store import Version

VERSIONS_AT_MOST = 256
"""Whoever is told of a version is told soon."""
SPECS_AT_MOST = 4096
STATUSES_AT_MOST = 256
_PARTS = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})


@lru_cache(maxsize=VERSIONS_AT_MOST)
def read_version(version: Version, kind: type[ApiObject]) -> Any:
    """The object of that version: of type `kind`. Raises DocumentError."""
    return read_pod(version.object) if kind is Pod else from_builtins(version.object, kind)


def read_pod(value: Json) -> Pod:
    """A pod with a spec that is kept as it is, be it in other pods, too. Raises DocumentError."""
    spec = value.get("spec")
    read = None if spec is None else _specs.get(spec) or _read_spec(spec)
    return from_builtins(value, Pod) if read is None else _put_together(value, read)


def read_change_of_pod(value: Json) -> Pod:
    """A pod that somebody has sent or changed: its spec may have been read before, or may never be seen again."""
    read = _specs.get(value.get("spec"))
    return from_builtins(value, Pod) if read is None else _put_together(value, read)


def knows_change_of_status(old: Version, status: Any) -> bool:
    """Whether all of a pod is known that is as `old` was but for its status, so that no more of it need be read."""
    try:
        if read_version(old, Pod).unknown is not None:
            return False
        _read_status(status)
    except (DocumentError, msgspec.ValidationError, RecursionError):
        return False
    return True


_specs: ByIdentity[PodSpec] = ByIdentity(SPECS_AT_MOST)
_statuses: ByIdentity[PodStatus] = ByIdentity(STATUSES_AT_MOST)
"""A status is read when it comes, and again in the version that it has come to."""


def _put_together(value: Json, spec: PodSpec) -> Pod:
    """A pod, whose type is not in doubt, of its parts. One that has anything unknown is read as a whole."""
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
    return _statuses.put(status, msgspec.convert(status, PodStatus))


def _read_spec(spec: Json) -> PodSpec | None:
    """None where the spec has something that a PodSpec has not, which its pod must record."""
    try:
        return _specs.put(spec, msgspec.convert(spec, PodSpec))
    except (msgspec.ValidationError, RecursionError):
        return None
