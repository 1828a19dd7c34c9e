"""Versions of objects as the frozen structs that a program in this process works with.

A struct is made of the dicts and lists of a version, without the text that would go over a wire: it shares strings with
them and nothing that could change. Each version is made one only once, since who has changed an object and who watches
it get the same. Pods of one spec share the struct of it, as they share the spec itself (see kinds/pod_specs.py).

What can fail is a version that is no such object (`DocumentError`). Refuses to know connections.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

from config.codec import from_builtins
from config.objects import ApiObject, Pod, PodSpec
from simulation.apiserver.status import Json
from simulation.apiserver.store import Version

K = TypeVar("K", bound=ApiObject)

VERSIONS_AT_MOST = 256
"""Whoever is told of a version is told soon."""
SPECS_AT_MOST = 4096


def read_version(version: Version, kind: type[K]) -> K:
    """The object of that version. Raises DocumentError."""
    return cast(K, _read_version(version, kind))


def read_pod(value: Json) -> Pod:
    """A pod with a spec that is kept as it is, be it in other pods, too. Raises DocumentError."""
    spec = value.get("spec")
    shared = None if spec is None else _spec_of(spec)
    return from_builtins(value, Pod) if shared is None else _with_spec(value, shared)


def read_change_of_pod(value: Json) -> Pod:
    """A pod that somebody has sent or changed: its spec may have been read before, or may never be seen again."""
    known = _specs.get(id(value.get("spec")))
    return from_builtins(value, Pod) if known is None or known[1] is None else _with_spec(value, known[1])


@lru_cache(maxsize=VERSIONS_AT_MOST)
def _read_version(version: Version, kind: type[ApiObject]) -> ApiObject:
    return read_pod(version.object) if kind is Pod else from_builtins(version.object, kind)


def _with_spec(value: Json, spec: PodSpec) -> Pod:
    rest = dict(value)
    del rest["spec"]
    return replace(from_builtins(rest, Pod), spec=spec)


_specs: dict[int, tuple[Json, PodSpec | None]] = {}
"""By identity, which is safe for as long as the spec is kept here: the spec and its struct."""


def _spec_of(spec: Json) -> PodSpec | None:
    """The struct of that very spec; None where it has something that a PodSpec has not, which its pod must record."""
    known = _specs.get(id(spec))
    if known is not None:
        return known[1]
    try:
        made = msgspec.convert(spec, PodSpec)
    except (msgspec.ValidationError, RecursionError):
        made = None
    if len(_specs) >= SPECS_AT_MOST:
        _specs.clear()
    _specs[id(spec)] = (spec, made)
    return made
