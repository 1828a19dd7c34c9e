"""A place in a document, to which faults can be pinned while a validation walks down.

A `DocumentPlace` is a path and the list that all places of one walk share. Refuses to know any rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from config.documents.codec import DocumentError, Faults
from config.documents.walk import path_text

T = TypeVar("T")


class DocumentPlace:
    """See the module. `DocumentPlace()` is the root of a new walk."""

    __slots__ = ("_parent", "_step", "faults")

    def __init__(self, path: str = "$", faults: Faults | None = None) -> None:
        self._parent: DocumentPlace | None = None
        self._step: str | int = path
        self.faults = Faults() if faults is None else faults

    @property
    def path(self) -> str:
        """Its path as text, which is made only for faults: most places have none."""
        step = self._step
        if self._parent is None:
            return str(step)
        return self._parent.path + path_text((step if isinstance(step, str) else (step, None),))[1:]

    def __truediv__(self, step: str | int) -> DocumentPlace:
        """The place of a field, or of the item with that index."""
        place = DocumentPlace.__new__(DocumentPlace)
        place._parent = self
        place._step = step
        place.faults = self.faults
        return place

    def items(self, field: str, values: Iterable[T]) -> Iterator[tuple[DocumentPlace, T]]:
        """Every item of the list `field` with its place."""
        below = self / field
        for index, value in enumerate(values):
            yield below / index, value

    def fault(self, reason: str, hint: str = "") -> None:
        """Something is wrong here. Faults beyond the first hundred of a walk are left out."""
        if not self.faults.full:
            self.faults.append(DocumentError(self.path, reason, hint))

    def required(self, value: object, hint: str = "") -> bool:
        """Whether there is a value; its absence is a fault."""
        if value is None or value == "" or value == ():
            self.fault("is required", hint)
            return False
        return True

    def one_of(self, value: str | None, choices: Iterable[str]) -> bool:
        """Whether `value` is absent or one of `choices`; anything else is a fault."""
        choices = tuple(choices)
        if value is None or value in choices:
            return True
        self.fault(f"{value!r} is not supported", f"use one of {', '.join(choice for choice in choices if choice)}")
        return False

    def at_least(self, value: int | None, least: int) -> None:
        """A number below `least` is a fault."""
        if value is not None and value < least:
            self.fault(f"must be at least {least}, not {value}")
