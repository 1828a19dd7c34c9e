"""The fields of one object of a kubeconfig, taken one by one: what is left in the end is not known.

Owns how a value of the wrong form is reported, lists of named entries, and PEM text in base64. Pure. Refuses to know
any field by name.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from config.documents.codec import DocumentError, Faults
from config.documents.places import DocumentPlace
from config.values.nearest import did_you_mean


class Fields:
    """One object at `place`.

    Every error becomes a fault of the place; a faulty field counts as absent.

    `warnings` is shared by all objects of one document.
    """

    def __init__(self, place: DocumentPlace, value: object, warnings: Faults | None = None) -> None:
        self.place = place
        self.value = value
        self.warnings = Faults() if warnings is None else warnings
        self._left: dict[str, object] = {}
        self._known: list[str] = []
        if isinstance(value, dict):
            self._left = dict(value)
        elif value is not None:
            place.fault("must be an object", "write key: value")

    def take(self, name: str) -> object:
        """The value of the field, of any type; None if absent. The field then counts as known."""
        self._known.append(name)
        return self._left.pop(name, None)

    def text(self, name: str) -> str:
        value = self.take(name)
        if value is None or isinstance(value, str):
            return value or ""
        hint = "put it in quotes" if isinstance(value, int | float) else ""
        (self.place / name).fault("must be a string", hint)
        return ""

    def flag(self, name: str) -> bool:
        value = self.take(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        (self.place / name).fault("must be true or false")
        return False

    def texts(self, name: str) -> tuple[str, ...]:
        return self._texts(self.place / name, self.take(name))

    def texts_by_key(self, name: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """An object of lists of strings."""
        place, value = self.place / name, self.take(name)
        if value is None:
            return ()
        if not isinstance(value, dict):
            place.fault("must be an object of lists of strings")
            return ()
        return tuple((key, self._texts(place / key, each)) for key, each in value.items())

    def pem(self, name: str) -> str:
        """PEM text, which stands there in base64."""
        encoded = self.text(name)
        if not encoded:
            return ""
        place = self.place / name
        try:
            text = base64.b64decode("".join(encoded.split()), validate=True).decode()
        except (binascii.Error, ValueError):
            hint = (
                "PEM text belongs in a file"
                if "-----BEGIN" in encoded
                else "write the base64 of a PEM file in one line"
            )
            place.fault("is not base64 of text", hint)
            return ""
        if "-----BEGIN" not in text:
            place.fault("is the base64 of something else than PEM", "it must begin with -----BEGIN once decoded")
            return ""
        return text

    def part(self, name: str) -> Fields | None:
        """The object in a field, if there is one."""
        value = self.take(name)
        return None if value is None else Fields(self.place / name, value, self.warnings)

    def parts(self, name: str) -> list[Fields]:
        """The objects of a list."""
        place, value = self.place / name, self.take(name)
        if not isinstance(value, list):
            if value is not None:
                place.fault("must be a list", "begin each entry with a dash")
            return []
        return [Fields(place / index, item, self.warnings) for index, item in enumerate(value)]

    def named(self, name: str, field: str, any_value: bool = False) -> dict[str, Fields]:
        """A list of objects with `name` and one `field`, by name. No name may come twice."""
        found: dict[str, Fields] = {}
        for entry in self.parts(name):
            called, value = entry.text("name"), entry.take(field)
            entry.rest()
            if not isinstance(entry.value, dict):
                continue
            if not called:
                (entry.place / "name").fault("is missing", "every entry needs a name")
            elif called in found:
                (entry.place / "name").fault(f"{called!r} is given twice", "keep one of them")
            else:
                below = entry.place / field
                found[called] = (
                    _anything(below, value)
                    if any_value
                    else Fields(below, {} if value is None else value, self.warnings)
                )
        return found

    def ignore(self, *names: str) -> None:
        """Accept these fields without using them."""
        for name in names:
            self.take(name)

    def rest(self) -> None:
        """Warn of all fields that were not read."""
        for name in self._left:
            if self.warnings.full:
                break
            hint = did_you_mean(name, self._known, "remove it")
            self.warnings.append(
                DocumentError((self.place / name).path, "this field is unknown and has no effect", hint)
            )
        self._left = {}

    def _texts(self, place: DocumentPlace, value: object) -> tuple[str, ...]:
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        place.fault("must be a list of strings", "put numbers in quotes")
        return ()


def _anything(place: DocumentPlace, value: object) -> Fields:
    fields = Fields(place, value if isinstance(value, Mapping) else None)
    fields.value = value
    return fields
