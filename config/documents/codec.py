"""Documents to objects and back: JSON bytes, or the dicts and lists that YAML gives.

Owns the promise that a field this program does not know survives a round trip. The structs refuse unknown fields, so a
document of known fields is decoded in one go, at full speed. Any other document is walked along the types
(`config.documents.walk`), which is slower. The walk finds every fault with its path and mends what the API forgives. It
sets unknown fields aside in the record of their kind; encoding puts them back.

What can fail is decoding alone (`DocumentError`). Refuses to know YAML, files, defaults and validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Self, TypeVar

import msgspec

from config.documents.limits import FAULTS_AT_MOST, PATH_CHARACTERS_AT_MOST, REASON_CHARACTERS_AT_MOST, shortened
from config.documents.walk import FieldFault, Step, path_text, walk
from config.objects import ApiObject, ApiStruct, UnknownFields
from config.objects.base import UNKNOWN_KEY

T = TypeVar("T", bound=ApiStruct)


class DocumentError(ValueError):
    """One fault of a document: where, why, and what to do.

    `where` is a path such as `$.spec.containers[0].image`. The hint may be "".

    It is both an exception and a value. Of several faults, the first is raised and `also` has the others.
    """

    def __init__(self, path: str, reason: str, hint: str = "", also: tuple[DocumentError, ...] = ()) -> None:
        path = shortened(path, PATH_CHARACTERS_AT_MOST)
        reason = shortened(reason, REASON_CHARACTERS_AT_MOST)
        super().__init__(path, reason, hint)
        self.path = path
        self.reason = reason
        self.hint = hint
        self.also = also

    @property
    def faults(self) -> tuple[DocumentError, ...]:
        """Every fault, this one first."""
        return (self, *self.also)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}; {self.hint}" if self.hint else f"{self.path}: {self.reason}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DocumentError) and other.args == self.args

    def __hash__(self) -> int:
        return hash(self.args)


class Faults(list[DocumentError]):
    """The faults or warnings of one document. Beyond a readable number, later ones are left out."""

    @property
    def full(self) -> bool:
        return len(self) >= FAULTS_AT_MOST

    def append(self, fault: DocumentError) -> None:
        if not self.full:
            super().append(fault)

    def extend(self, faults: Iterable[DocumentError]) -> None:
        super().extend(islice(faults, FAULTS_AT_MOST - len(self)))

    def __iadd__(self, faults: Iterable[DocumentError]) -> Self:  # type: ignore[override,misc]  # narrower than any list, as append
        self.extend(faults)
        return self


def decode(data: bytes, kind: type[T]) -> T:
    """The object in the JSON `data`.

    Unknown fields go into the record of the kind around them. Raises DocumentError.

    A struct that is decoded by itself and is no kind (a PodSpec) has no record and drops them.
    """
    try:
        decoded: T = _decoder(kind).decode(data)
        return decoded
    except msgspec.ValidationError:
        return from_builtins(read_json(data), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        read_json(data)
        raise AssertionError("both decoders read the same JSON") from None


def read_json(data: bytes) -> Any:
    """The dicts and lists in `data`. Raises DocumentError."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise DocumentError("$", "it is nested too deeply", "flatten it") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if not data.strip():
            raise DocumentError("$", "it is empty") from None
        raise DocumentError("$", f"it is not JSON: {error}") from None


def from_builtins(value: object, kind: type[T]) -> T:
    """The object in `value`, made of dict, list, str, int, float, bool and None. Otherwise like `decode`."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        try:
            known, faults = walk(value, kind)
        except RecursionError:
            raise DocumentError("$", "it is nested too deeply", "flatten it") from None
    if faults:
        raise _errors(faults)
    try:
        return msgspec.convert(known, kind)
    except msgspec.ValidationError as error:
        reason, at, path = str(error).rpartition(" - at `")
        if not at:
            reason, path = path, "$"
        raise DocumentError(path.removesuffix("`"), reason[:1].lower() + reason[1:]) from None


def encode(value: ApiStruct) -> bytes:
    """JSON, with the unknown fields of its document back in their places."""
    try:
        return _ENCODER.encode(value)
    except _UnknownFieldsError:
        return msgspec.json.encode(to_builtins(value))


def to_builtins(value: ApiStruct) -> dict[str, Any]:
    """Like `encode`, as dicts and lists."""
    records: list[UnknownFields] = []

    def hold(record: Any) -> int:
        records.append(record)
        return len(records) - 1

    tree: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value, enc_hook=hold))
    if records:
        for part in (tree, *tree.get("items", ())):
            number = part.pop(UNKNOWN_KEY, None)
            if number is not None:
                _put_back(part, records[number])
    return tree


def unknown_fields(value: ApiStruct, at_most: int = FAULTS_AT_MOST) -> tuple[str, ...]:
    """Paths of the fields of its document that are not known here, for warnings: `("$.spec.newField",)`."""
    return tuple(path_text(path) for path in islice(unknown_paths(value), max(at_most, 0)))


def unknown_paths(value: ApiStruct) -> Iterator[tuple[Step, ...]]:
    """The paths of the unknown fields of an object, each as a tuple of steps."""
    record = getattr(value, "unknown", None)
    if record is not None:
        yield from (path for path, _ in record.entries)
    for index, item in enumerate(getattr(value, "items", ())):
        record = getattr(item, "unknown", None)
        if record is not None:
            yield from (("items", (index, None), *path) for path, _ in record.entries)


class _UnknownFieldsError(Exception):
    """The fast encoder met a record of unknown fields."""


def _refuse_record(_: object) -> Any:
    raise _UnknownFieldsError


_ENCODER = msgspec.json.Encoder(enc_hook=_refuse_record)


@lru_cache(maxsize=256)
def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(kind)


# msgspec learns a struct when it is first decoded, and two threads that do so at once crash the process. Sources and
# the lines to the API server decode on lanes, so every kind and all that it is made of is learned here, while the lock
# of the import keeps other threads out.
for _kind in ApiObject.__subclasses__():
    _decoder(_kind)


def _errors(faults: list[FieldFault]) -> DocumentError:
    first, *rest = faults
    return DocumentError(*first, also=tuple(DocumentError(*fault) for fault in rest))


def _put_back(tree: dict[str, Any], record: UnknownFields) -> None:
    """Set each recorded field where its parent still is.

    A removed part takes its unknown fields with it.
    """
    for path, value in record.entries:
        parent: Any = tree
        for step in path[:-1]:
            parent = _descend(parent, step)
            if parent is None:
                break
        if isinstance(parent, dict):
            parent.setdefault(path[-1], msgspec.json.decode(value))


def _descend(parent: Any, step: Step) -> Any:
    """The value at `step` below `parent`, or None.

    A list item is found by its name, wherever it is now.
    """
    if isinstance(step, str):
        return parent.get(step) if isinstance(parent, dict) else None
    if not isinstance(parent, list):
        return None
    index, name = step
    at_index = parent[index] if index < len(parent) else None
    if name is None or (isinstance(at_index, dict) and at_index.get("name") == name):
        return at_index
    return next((item for item in parent if isinstance(item, dict) and item.get("name") == name), None)
