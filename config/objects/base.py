"""What all objects of the API are made of: frozen structs, named as in JSON.

An absent field costs little.

Owns the three conventions the other files of this package lean on. These are the base classes; fields that are written
even when they hold their zero (`written`); and the record of unknown fields (`UnknownFields`). Refuses to know how
documents are read. The structs refuse unknown fields; `config.documents.codec` sets these aside before and puts them
back after.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec

T = TypeVar("T")

Quantity = Annotated[str, msgspec.Meta(extra={"quantity": True})]
"""A quantity as the user wrote it ("500m", "1Gi").

`config.values.quantity.parse_quantity` gives its value.
"""

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Whole numbers as large as the API takes them."""


def written(value: T, name: str | None = None) -> T:
    """Default of a field the API requires: it is written to JSON even when it holds `value`.

    `omit_defaults` leaves out what is identical to a plain default, but never what a factory made.
    """
    default: T = msgspec.field(default_factory=lambda: value, name=name)
    return default


class UnknownFields:
    """Fields of a document that its struct has no attribute for, immutable.

    Made and read by `config.documents.codec` only.

    `entries` are pairs of the path (field names, and (index, name) pairs for items of lists) and the value as JSON.
    """

    __slots__ = ("entries",)

    entries: tuple[tuple[tuple[str | tuple[int, str | None], ...], bytes], ...]

    def __init__(self, entries: tuple[tuple[tuple[str | tuple[int, str | None], ...], bytes], ...]) -> None:
        object.__setattr__(self, "entries", entries)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a record of unknown fields does not change")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownFields) and other.entries == self.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def __repr__(self) -> str:
        return f"UnknownFields({self.entries!r})"


class Hidden:
    """Hides the values in the repr, since they are secret and a repr may end in a log.

    Put it before the other bases.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(...)"


class ApiStruct(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """The base of all structs of the API. Frozen.

    Attributes are the JSON names in snake_case. An absent field is None, (), {} or "", and is not written.
    """


UNKNOWN_KEY = "#unknown"
"""What the record of unknown fields is called where JSON names stand.

No document can hold a value for it.
"""


class ApiObject(ApiStruct, frozen=True):
    """A kind of its own (Pod, PodList, Secret, ...).

    It remembers the fields of its document that are not known here.

    The record lives as long as the object and survives `msgspec.structs.replace`.
    """

    unknown: UnknownFields | None = msgspec.field(default=None, name=UNKNOWN_KEY)
