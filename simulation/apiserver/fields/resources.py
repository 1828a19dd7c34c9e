"""How the fields of a resource are owned."""

from __future__ import annotations

from simulation.apiserver.fields.custom import custom_type
from simulation.apiserver.fields.published import published_type
from simulation.apiserver.fields.types import FieldType
from simulation.apiserver.kinds.table import ServedResource


def type_of(resource: ServedResource) -> FieldType | None:
    """The type of its objects; None where nothing is known of it."""
    described = resource.described
    if resource.is_defined and described is not None:
        return custom_type(described)
    return published_type(resource.api_version, resource.kind)
