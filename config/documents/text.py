"""YAML or JSON bytes become plain data: dict, list, str, int, float, bool, None.

Owns how the text is read: as Go's YAML 1.1 reads it, since kubectl and a kubelet do. So `y` is a bool, 30.0 is 30, and
of a repeated key the last one counts. Repeated keys are told, and several documents are told apart. Dates and base-60
numbers stay text. Merge keys and aliases are followed within limits. Every place has its line. The YAML is read event
by event, so that no depth of nesting and no multiplication of aliases can hurt the process. A text costs memory and
work in proportion to its size (`config.documents.limits`). Refuses to know what it means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from config.documents.codec import DocumentError, Faults
from config.documents.limits import (
    BYTES_AT_MOST,
    CHARACTERS_AT_MOST,
    DEPTH_AT_MOST,
    DOCUMENTS_AT_MOST,
    NODES_AT_MOST,
)
from config.documents.lines import LineNode, ListLines, MapLines, line_at, line_of
from config.documents.walk import Step, path_text

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
_FALSE = frozenset({"false", "False", "FALSE", "n", "N", "no", "No", "NO", "off", "Off", "OFF"})
_INTEGER = re.compile(
    r"[-+]?(0|[1-9][0-9_]*|0[0-7_]+|0o_*[0-7][0-7_]*|0x_*[0-9a-fA-F][0-9a-fA-F_]*|0b_*[01][01_]*)", re.ASCII
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
WRITTEN_OUT = 1e21
"""From here on, Go writes a number with an exponent."""
_TAG = "tag:yaml.org,2002:"

# The parser in C where PyYAML has it: it is told event by event here, which never recurses.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


# A text in JSON. One without an end is taken whole, or each quote in it would be searched for its end again.
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.?)*+"?', re.DOTALL)


def _line_of(event: Any) -> int:
    return int(event.start_mark.line) + 1


class Document(msgspec.Struct, frozen=True):
    """One document: its value, its faults, and the lines of its places where the text is YAML.

    `repeated`: keys that are given before with another value, which does not count. `exact`: path -> line of faults at
    places without a value, such as a key.
    """

    value: object
    faults: tuple[DocumentError, ...] = ()
    repeated: tuple[DocumentError, ...] = ()
    lines: LineNode | None = None
    exact: Mapping[str, int] = msgspec.field(default_factory=dict)

    def line_of(self, path: str) -> int | None:
        """The line of the place, or of the nearest place around it (from 1)."""
        return None if self.lines is None else line_at(self.lines, path, self.exact)


def read_documents(data: bytes) -> tuple[Document, ...]:
    """Every document that is not empty. A repeated key is no fault here, as it is none for kubectl.

    Unreadable text gives one document with the value None and the fault.
    """
    if len(data) > BYTES_AT_MOST:
        fault = DocumentError("$", f"it has more than {BYTES_AT_MOST // 2**20} MiB", "split it into several documents")
        return (Document(None, (fault,)),)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        fault = DocumentError("$", f"byte {error.start} is not UTF-8", "save the file as UTF-8 text")
        return (Document(None, (fault,)),)
    if text.lstrip()[:1] in ("{", "["):
        try:
            return (_read_json(text),)
        except _TooMuchError as error:
            return (_refused(error),)
        except (ValueError, RecursionError):
            pass  # YAML has braces too, and says where it breaks.
    return _read_yaml(text)


def only_document(data: bytes) -> Document:
    """The only document. Several documents and repeated keys are faults.

    An empty text gives the value None.
    """
    documents = read_documents(data)
    if len(documents) > 1:
        fault = DocumentError("$", f"it has {len(documents)} documents", "keep one document in a file")
        return Document(None, (fault,))
    if not documents:
        return Document(None)
    document = documents[0]
    return msgspec.structs.replace(document, faults=(*document.faults, *document.repeated), repeated=())


def read_document(data: bytes) -> tuple[object, Faults]:
    """(value of the only document, faults with their lines)."""
    document = only_document(data)
    return document.value, Faults(_with_line(fault, document.line_of(fault.path)) for fault in document.faults)


def _with_line(fault: DocumentError, line: int | None) -> DocumentError:
    return fault if line is None else DocumentError(fault.path, f"line {line}: {fault.reason}", fault.hint)


class _TooMuchError(Exception):
    """The document goes beyond a limit."""


def _refused(error: _TooMuchError) -> Document:
    return Document(None, (DocumentError("$", str(error), "make the document smaller"),))


_TOO_MANY = f"it has more than {NODES_AT_MOST} values"
_TOO_DEEP = f"it is nested more than {DEPTH_AT_MOST} deep"


class _Pairs(list[tuple[str, object]]):
    """A JSON object as it stands in the text, duplicates included."""


def _read_json(text: str) -> Document:
    if _separators(text) >= NODES_AT_MOST and _separators(_JSON_TEXT.sub("", text)) >= NODES_AT_MOST:
        raise _TooMuchError(_TOO_MANY)
    faults, repeated = Faults(), Faults()
    path: list[Step] = []

    def plain(tree: object) -> object:
        if len(path) > DEPTH_AT_MOST:
            raise _TooMuchError(_TOO_DEEP)
        result: Any = tree
        if isinstance(tree, _Pairs):
            result = {}
            for key, value in tree:
                path.append(key)
                if key in result and not repeated.full:
                    repeated.append(DocumentError(path_text(tuple(path)), "is given twice", "keep one of them"))
                result[key] = plain(value)
                path.pop()
        elif isinstance(tree, list):
            for index, item in enumerate(tree):
                if type(item) in _WITH_PARTS:
                    path.append((index, None))
                    tree[index] = plain(item)
                    path.pop()
        return result

    value = plain(json.loads(text, object_pairs_hook=_Pairs, parse_constant=_refuse_constant, parse_float=_number))
    if "\\u" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            reason = "an escape such as \\ud800 is half a character"
            faults.append(DocumentError("$", reason, "write the character itself"))
    return Document(value, tuple(faults), tuple(repeated))


_WITH_PARTS = frozenset({list, _Pairs})


def _separators(text: str) -> int:
    """A JSON text has at most this number of values, plus one."""
    return text.count(",") + text.count("[") + text.count("{")


def _number(text: str) -> int | float:
    """A number with a point or an exponent. Go writes it back without them where it can, and reads that."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < WRITTEN_OUT else number


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _read_yaml(text: str) -> tuple[Document, ...]:
    documents: list[Document] = []
    reader = _Reader(yaml.parse(text, Loader=_LOADER))
    try:
        for event in reader.events:
            if isinstance(event, yaml.DocumentStartEvent):
                document = reader.document()
                if document.value is not None or document.faults:
                    documents.append(document)
                if len(documents) > DOCUMENTS_AT_MOST:
                    raise _TooMuchError(f"it has more than {DOCUMENTS_AT_MOST} documents")
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = error.problem or error.context or "it cannot be parsed"
        if "nesting depth" in problem:  # newer parsers have a limit of their own, which they reach first
            problem = _TOO_DEEP
        hint = "indent with spaces" if "\\t" in problem else "check the indentation and the quotes there"
        documents.append(Document(None, (DocumentError("$", f"it is not YAML{where}: {problem}", hint),)))
    except yaml.YAMLError as error:
        documents.append(Document(None, (DocumentError("$", f"it is not YAML: {error}"),)))
    except _TooMuchError as error:
        return (_refused(error),)
    return tuple(documents)


class _Anchored(msgspec.Struct, frozen=True, gc=False):
    """The value of an alias, and its cost in values and characters."""

    value: object
    nodes: int
    characters: int


class _Reader:
    """Builds the values of one document after the other from the events of the parser."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self._nodes = 0
        self._characters = 0
        self._start_document()

    def _start_document(self) -> None:
        self._faults, self._repeated = Faults(), Faults()
        self._exact: dict[str, int] = {}
        # None while what it stands for is being read.
        self._anchors: dict[str, _Anchored | None] = {}
        self._path: list[Step] = []

    def document(self) -> Document:
        self._start_document()
        event = next(self.events)
        value, lines = self._value(event, _line_of(event))
        return Document(value, tuple(self._faults), tuple(self._repeated), lines, self._exact)

    def _fault(self, event: Any, reason: str, hint: str, among: Faults | None = None) -> None:
        faults = self._faults if among is None else among
        if not faults.full:
            fault = DocumentError(path_text(tuple(self._path)), reason, hint)
            self._exact[fault.path] = _line_of(event)
            faults.append(fault)

    def _count(self, nodes: int, characters: int) -> None:
        self._nodes += nodes
        self._characters += characters
        if self._nodes > NODES_AT_MOST:
            raise _TooMuchError(_TOO_MANY)
        if self._characters > CHARACTERS_AT_MOST:
            raise _TooMuchError(f"it has more than {CHARACTERS_AT_MOST} characters with its aliases written out")

    def _value(self, event: Any, line: int) -> tuple[object, LineNode]:
        """The value that begins with the event, and its lines. `line`: of the value, or of its key."""
        self._count(1, 0)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event), line
        if len(self._path) > DEPTH_AT_MOST:
            raise _TooMuchError(_TOO_DEEP)
        nodes, characters = self._nodes, self._characters
        if event.anchor:
            self._anchors[event.anchor] = None
        value: object
        lines: LineNode
        if isinstance(event, yaml.ScalarEvent):
            self._count(0, len(event.value))
            value, lines = self._scalar(event), line
        elif isinstance(event, yaml.SequenceStartEvent):
            value, lines = self._sequence(line)
        else:
            value, lines = self._mapping(line)
        if event.anchor:
            cost = self._nodes - nodes + 1, self._characters - characters
            self._anchors[event.anchor] = _Anchored(value, *cost)
        return value, lines

    def _below(self, step: Step, event: Any, line: int) -> tuple[object, LineNode]:
        self._path.append(step)
        result = self._value(event, line)
        self._path.pop()
        return result

    def _alias(self, event: Any) -> object:
        known = self._anchors.get(event.anchor)
        if known is None:
            reason = "stands inside itself" if event.anchor in self._anchors else "is not defined above"
            self._fault(event, f"the anchor *{event.anchor} {reason}", "write the value out")
            return None
        self._count(known.nodes, known.characters)
        return known.value

    def _sequence(self, line: int) -> tuple[list[object], ListLines]:
        items: list[object] = []
        lines: list[LineNode] = []
        for event in self.events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            item, place = self._below((len(items), None), event, _line_of(event))
            items.append(item)
            lines.append(place)
        return items, ListLines(line, lines)

    def _mapping(self, line: int) -> tuple[dict[str, object], MapLines]:
        result: dict[str, object] = {}
        lines: dict[str, LineNode] = {}
        merged: list[object] = []
        for event in self.events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            here = _line_of(event)
            if not isinstance(event, yaml.ScalarEvent):
                self._fault(event, "a key must be plain text", "write key: value")
                self._below("?", event, here)
                self._below("?", next(self.events), here)
                continue
            merges = event.value == "<<" and event.implicit[0]
            key = event.value if merges else self._key(event)
            self._count(0, len(key))
            if not merges and key in result:
                self._path.append(key)
                reason = f"is given twice, first in line {line_of(lines[key])}"
                self._fault(event, reason, "keep one of them", among=self._repeated)
                self._path.pop()
            value, lines[key] = self._below(key, next(self.events), here)
            if merges:
                merged.append(value)
            else:
                result[key] = value
        for source in merged:
            for part in source if isinstance(source, list) else [source]:
                if isinstance(part, dict):
                    for key, value in part.items():
                        result.setdefault(key, value)
                elif not self._faults.full:
                    path = path_text(tuple(self._path))
                    self._faults.append(DocumentError(f"{path}.<<", "only maps can be merged", "refer to a map"))
        return result, MapLines(line, lines)

    def _key(self, event: Any) -> str:
        """A key as text. One without quotes is a bool or a number where a value is."""
        value = self._scalar(event)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(event.value) if value is None else str(value)

    def _scalar(self, event: Any) -> object:
        text: str = event.value
        tag = event.tag
        if tag is None or tag == "!":
            return self._plain(event) if event.implicit[0] and tag is None else text
        if tag == _TAG + "str":
            return text
        if tag in {_TAG + name for name in ("null", "bool", "int", "float")}:
            return self._plain(event)
        self._fault(event, f"the tag {tag} has no meaning here", "write the value without a tag")
        return text

    def _plain(self, event: Any) -> object:
        value = plain_value(event.value)
        if value in (float("inf"), float("-inf")):
            self._fault(event, f"{event.value[:40]} is too large a number", "put it in quotes if it is text")
        return value


def plain_value(text: str) -> object:
    """The value of a scalar without quotes."""
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
    return _number(text) if _FLOAT.fullmatch(text) else text
