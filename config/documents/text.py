"""YAML or JSON bytes become plain data: dict, list, str, int, float, bool, None.

Owns how the text is read: duplicate keys are faults, several documents are told apart, dates and base-60 numbers stay
text, merge keys and aliases are followed within limits, and every place has its line. The YAML is read event by event,
so that no depth of nesting and no multiplication of aliases can hurt the process. Refuses to know what it means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from config.documents.codec import DocumentError
from config.documents.walk import path_text

NODES_AT_MOST = 500_000
"""Values in one file, aliases expanded. A pod has a few hundred."""

DEPTH_AT_MOST = 100
"""A pod is at most 15 deep."""

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE = frozenset({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9_]*|0[0-7_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_TAG = "tag:yaml.org,2002:"

# The parser in C where PyYAML has it: it is told event by event here, which never recurses.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _line_of(event: Any) -> int:
    return int(event.start_mark.line) + 1


class Document(msgspec.Struct, frozen=True):
    """One document: its value, its faults, and path -> line (from 1) where the text is YAML."""

    value: object
    faults: tuple[DocumentError, ...] = ()
    lines: Mapping[str, int] = msgspec.field(default_factory=dict)

    def line_of(self, path: str) -> int | None:
        """The line of the place, or of the nearest place around it."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path)


def read_documents(data: bytes) -> tuple[Document, ...]:
    """Every document that is not empty. What cannot be read gives one document of value None with the fault."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = DocumentError("$", f"byte {error.start} is no UTF-8", "save the file as UTF-8 text")
        return (Document(None, (fault,)),)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return (_read_json(text),)
        except (ValueError, RecursionError):
            pass  # YAML has braces too, and says where it breaks.
    return _read_yaml(text)


def read_document(data: bytes) -> tuple[object, list[DocumentError]]:
    """(value of the only document, faults); nothing at all is (None, []), and several documents are a fault."""
    documents = read_documents(data)
    if not documents:
        return None, []
    if len(documents) > 1:
        return None, [DocumentError("$", f"it has {len(documents)} documents", "keep one document in a file")]
    document = documents[0]
    return document.value, [_with_line(fault, document.line_of(fault.path)) for fault in document.faults]


def _with_line(fault: DocumentError, line: int | None) -> DocumentError:
    return fault if line is None else DocumentError(fault.path, f"line {line}: {fault.reason}", fault.hint)


class _Pairs(list[tuple[str, object]]):
    """A JSON object as it stands in the text, duplicates included."""


def _read_json(text: str) -> Document:
    faults: list[DocumentError] = []

    def plain(tree: object, path: tuple[Any, ...]) -> object:
        if isinstance(tree, _Pairs):
            result: dict[str, object] = {}
            for key, value in tree:
                if key in result:
                    faults.append(DocumentError(path_text((*path, key)), "is given twice", "keep one of them"))
                result[key] = plain(value, (*path, key))
            return result
        if isinstance(tree, list):
            return [plain(item, (*path, (index, None))) for index, item in enumerate(tree)]
        return tree

    value = plain(json.loads(text, object_pairs_hook=_Pairs, parse_constant=_refuse_constant), ())
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        faults.append(DocumentError("$", "an escape such as \\ud800 is half a character", "write the character itself"))
    return Document(value, tuple(faults))


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _read_yaml(text: str) -> tuple[Document, ...]:
    documents: list[Document] = []
    reader = _Reader(yaml.parse(text, Loader=_LOADER))
    try:
        for event in reader.events:
            if isinstance(event, yaml.DocumentStartEvent):
                document = reader.document()
                if document.value is not None or document.faults:
                    documents.append(document)
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = error.problem or error.context or "it cannot be parsed"
        if "nesting depth" in problem:  # newer parsers have a limit of their own, which they reach first
            problem = f"it is nested more than {DEPTH_AT_MOST} deep"
        hint = "indent with spaces" if "\\t" in problem else "check the indentation and the quotes there"
        documents.append(Document(None, (DocumentError("$", f"it is not YAML{where}: {problem}", hint),)))
    except yaml.YAMLError as error:
        documents.append(Document(None, (DocumentError("$", f"it is not YAML: {error}"),)))
    except _TooMuchError as error:
        documents.append(Document(None, (DocumentError("$", str(error), "make the document smaller"),)))
    return tuple(documents)


class _TooMuchError(Exception):
    """The document goes beyond a limit."""


class _Reader:
    """Builds the values of one document after the other from the events of the parser."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self._start_document()

    def _start_document(self) -> None:
        self._faults: list[DocumentError] = []
        self._lines: dict[str, int] = {}
        # Name of an anchor -> (value, how many values it is made of); None while it is being read.
        self._anchors: dict[str, tuple[object, int] | None] = {}
        self._nodes = 0
        self._depth = 0

    def document(self) -> Document:
        self._start_document()
        value = self._value(next(self.events), "$")
        return Document(value, tuple(self._faults), self._lines)

    def _fault(self, path: str, event: Any, reason: str, hint: str) -> None:
        self._lines[path] = _line_of(event)
        self._faults.append(DocumentError(path, reason, hint))

    def _count(self, nodes: int) -> None:
        self._nodes += nodes
        if self._nodes > NODES_AT_MOST:
            raise _TooMuchError(f"it has more than {NODES_AT_MOST} values")

    def _value(self, event: Any, path: str) -> object:
        self._lines.setdefault(path, _line_of(event))
        self._count(1)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        before = self._nodes
        if event.anchor:
            self._anchors[event.anchor] = None
        self._depth += 1
        if self._depth > DEPTH_AT_MOST:
            raise _TooMuchError(f"it is nested more than {DEPTH_AT_MOST} deep")
        value: object
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event, path)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(path)
        else:
            value = self._mapping(path)
        self._depth -= 1
        if event.anchor:
            self._anchors[event.anchor] = (value, self._nodes - before + 1)
        return value

    def _alias(self, event: Any, path: str) -> object:
        known = self._anchors.get(event.anchor)
        if known is None:
            reason = "stands inside itself" if event.anchor in self._anchors else "is not defined above"
            self._fault(path, event, f"the anchor *{event.anchor} {reason}", "write the value out")
            return None
        value, nodes = known
        self._count(nodes)
        return value

    def _sequence(self, path: str) -> list[object]:
        items: list[object] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, f"{path}[{len(items)}]"))
        return items

    def _mapping(self, path: str) -> dict[str, object]:
        result: dict[str, object] = {}
        merged: list[object] = []
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if not isinstance(event, yaml.ScalarEvent):
                self._fault(path, event, "a key must be plain text", "write key: value")
                self._value(event, path)
                self._value(next(self.events), path)
                continue
            key = event.value
            below = path + path_text((key,))[1:]
            if key == "<<" and event.implicit[0]:
                merged.append(self._value(next(self.events), below))
                continue
            if key in result:
                first = self._lines.get(below, 0)
                self._fault(below, event, f"is given twice, first in line {first}", "keep one of them")
            else:
                self._lines[below] = _line_of(event)
            result[key] = self._value(next(self.events), below)
        for source in merged:
            for part in source if isinstance(source, list) else [source]:
                if isinstance(part, dict):
                    result = {**part, **result}
                else:
                    self._faults.append(DocumentError(f"{path}.<<", "only maps can be merged", "refer to a map"))
        return result

    def _scalar(self, event: Any, path: str) -> object:
        text: str = event.value
        tag = event.tag
        if tag is None or tag == "!":
            return self._plain(event, path) if event.implicit[0] and tag is None else text
        if tag == _TAG + "str":
            return text
        if tag in {_TAG + name for name in ("null", "bool", "int", "float")}:
            return self._plain(event, path)
        self._fault(path, event, f"the tag {tag} has no meaning here", "write the value without a tag")
        return text

    def _plain(self, event: Any, path: str) -> object:
        """What a scalar without quotes stands for."""
        text: str = event.value
        if text in _NULLS:
            return None
        if text in _TRUE:
            return True
        if text in _FALSE:
            return False
        if _INTEGER.fullmatch(text) and len(text) <= 80:
            digits = text.replace("_", "")
            octal = re.fullmatch(r"([-+]?)0([0-7]+)", digits)
            return int(octal[1] + octal[2], 8) if octal else int(digits, 0)
        if _FLOAT.fullmatch(text):
            number = float(text)
            if number in (float("inf"), float("-inf")):
                self._fault(path, event, f"{text} is too large a number", "put it in quotes if it is text")
            return number
        return text
