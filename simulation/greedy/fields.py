"""Every field of a pod that can be made large or many, from the types of `config.objects`.

The name of such a field is its path, with a star where it grows. `spec.volumes[*].nfs`: many volumes, each of NFS.
`spec.containers[].args[*]`: many arguments of one container. `metadata.labels{*}`: many labels. `spec.hostname=*`: a
long text. A field that the types get later is found by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import inspect as types

from config.objects import Pod

MANY, LARGE = "*", "=*"
_OF_THE_SERVER = frozenset({"apiVersion", "kind", "status", "#unknown"})
BOOKS = "managedFields"
"""Who wrote which field. The server writes it in the metadata of every object."""


def greedy_fields() -> tuple[str, ...]:
    """The names of all such fields, in the order of the types. Some of them no API server lets grow."""
    return tuple(dict.fromkeys(_below(_pod(), "")))


@lru_cache(maxsize=1)
def _pod() -> types.StructType:
    found = types.type_info(Pod)
    assert isinstance(found, types.StructType)
    return found


def _below(kind: types.StructType, path: str) -> Iterator[str]:
    for name, part in fields_of(kind).items():
        at = f"{path}.{name}" if path else name
        if at in _OF_THE_SERVER or name == BOOKS:
            continue
        if isinstance(part, types.VarTupleType):
            item = plain(part.item_type)
            if isinstance(item, types.StructType):
                yield from _shapes(item, f"{at}[{MANY}]")
                yield from _below(item, f"{at}[]")
            else:
                yield f"{at}[{MANY}]"
                if isinstance(item, types.StrType):
                    yield f"{at}[]{LARGE}"
        elif isinstance(part, types.DictType):
            yield f"{at}{{{MANY}}}"
            yield f"{at}{{}}{LARGE}"
        elif isinstance(part, types.StructType):
            yield from _below(part, at)
        elif isinstance(part, types.StrType):
            yield f"{at}{LARGE}"


def _shapes(item: types.StructType, path: str) -> Iterator[str]:
    """An item with nothing but what it must have, and with each structure that it may have."""
    yield path
    for name, part in fields_of(item).items():
        if isinstance(part, types.StructType):
            yield from _shapes(part, f"{path}.{name}")


def fields_of(kind: types.StructType) -> dict[str, types.Type]:
    """The fields of a structure by their names in JSON."""
    return {field.encode_name: plain(field.type) for field in kind.fields}


def required_of(kind: types.StructType) -> Iterator[str]:
    """The fields that the API always writes (`config.objects.base.written`)."""
    return (field.encode_name for field in kind.fields if callable(field.default_factory))


def plain(kind: types.Type) -> types.Type:
    """A type without its bounds, and without null. Of several, the first."""
    while isinstance(kind, types.Metadata):
        kind = kind.type
    if isinstance(kind, types.UnionType):
        return next(plain(each) for each in kind.types if not isinstance(each, types.NoneType))
    return kind


def type_at(path: str) -> types.Type:
    """The type of what stands at a path such as `spec.volumes[].nfs.server` or `metadata.labels{}`."""
    found: types.Type = _pod()
    for step in path.replace("[", ".[").replace("{", ".{").split("."):
        if isinstance(found, types.VarTupleType):
            found = plain(found.item_type)
        elif isinstance(found, types.DictType):
            found = plain(found.value_type)
        elif isinstance(found, types.StructType):
            found = fields_of(found)[step]
    return found
