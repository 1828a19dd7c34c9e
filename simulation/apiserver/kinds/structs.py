"""The struct of `config.objects` that describes a kind, for kinds that have one. Pure."""

from __future__ import annotations

from msgspec import inspect

import config.objects
from config.caches import with_its_object
from config.objects import ApiStruct
from simulation.apiserver.kinds.table import ServedResource


@with_its_object
def struct_of(resource: ServedResource) -> type[ApiStruct] | None:
    """The struct of the resource's kind; None for a kind that has none here."""
    found = getattr(config.objects, resource.kind, None)
    if not isinstance(found, type) or not issubclass(found, ApiStruct):
        return None
    # Events of their own group are the same objects under other names of fields; the struct has the core names.
    return found if api_version_of(found) == resource.api_version else None


def api_version_of(struct: type[ApiStruct]) -> str:
    """The `apiVersion` in documents of the kind; empty for a struct that is no kind."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        if field.name == "api_version" and isinstance(field.type, inspect.LiteralType):
            return str(field.type.values[0])
    return ""
