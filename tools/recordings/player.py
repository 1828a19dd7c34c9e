"""Scripts of requests, and how they are played. Pure but for `send`.

A script is a list of requests to one server, in order. A body may hold words that stand for earlier answers, which
are counted from 0. `{"$answer": 3, "$set": {...}, "$drop": [...]}` is answer 3 with changes. `"$3.metadata.uid"` is one
of its fields, in a query too. What differs from run to run is set aside in answers: uids, times, and versions, of which
only the order in a script stays.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

Json: TypeAlias = Any

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_DRAWN = re.compile(r"(kube-api-access-|-drawn-)[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_AGE = re.compile(r"(\d+[smhd])+")
_VERSION = re.compile(r"VERSION-\d+")
_FIELD = re.compile(r"\$(\d+)\.(.+)")
_ALL_DRAWN = (
    (re.compile(r"\b10\.0\.0\.\d+\b"), "10.0.0.DRAWN"),
    (re.compile(r"(?<=:)3[0-2]\d\d\d(?=/)"), "PORT"),
    (re.compile(r"(in (?:the precondition|record) \()(?:VERSION-)?\d+\)"), r"\1VERSION)"),
)
_PORTS, _PORT_FIELDS = range(30000, 32768), ("nodePort", "healthCheckNodePort")
_ADMINS = ("admin", "kubernetes-admin")
_OF_OPENSHIFT = {
    "configMap": {"name": "openshift-service-ca.crt", "items": [{"key": "service-ca.crt", "path": "service-ca.crt"}]}
}
RECORDED_TIMES = ("2026-01-02T03:04:05Z", "2026-02-03T04:05:06Z", "2026-01-02T03:04:05.000000Z")
"""Times that requests say, and that stay."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request. `type` and `accept`: of the content; JSON unless said."""

    method: str
    path: str
    query: dict[str, str] = {}
    body: Json = None
    type: str = "application/json"
    accept: str = "application/json"


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to it: status code, body as JSON (or text), and the texts of its warnings."""

    code: int
    body: Json = None
    warnings: tuple[str, ...] = ()


class Script(msgspec.Struct, frozen=True):
    """The first `prelude` requests make the stage. `answers`: what the recorded server said to the others."""

    name: str
    prelude: int
    requests: tuple[Request, ...]
    answers: tuple[Answer, ...] = ()


Send: TypeAlias = Callable[[Request], Answer]


def play(script: Script, send: Send) -> tuple[Answer, ...]:
    """The answers to a script after its prelude, with what differs from run to run set aside."""
    raw: list[Json] = []
    said: list[Answer] = []
    settle = _Settler()
    for request in script.requests:
        asked = msgspec.structs.replace(request, body=_filled(request.body, raw), query=_filled(request.query, raw))
        answer = send(asked)
        raw.append(answer.body)
        warnings = tuple(settle.text(each) for each in answer.warnings)
        said.append(Answer(answer.code, settle.value(answer.body), warnings))
    return tuple(said[script.prelude :])


def settled(value: Json) -> Json:
    """One value with what differs from run to run set aside."""
    return _Settler().value(value)


def renumbered(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """The answers with their versions counted from the first one in them.

    The requests of a prelude need not write as often on every server: one may have made the account already.
    """
    found: dict[str, str] = {}

    def counted(match: re.Match[str]) -> str:
        return found.setdefault(match[0], f"VERSION-{len(found) + 1}")

    text = _VERSION.sub(counted, msgspec.json.encode(answers).decode())
    return msgspec.json.decode(text, type=tuple[Answer, ...])


def comparable(answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """The answers without what says nothing about another server.

    Addresses and ports of services are drawn, and versions are counted for all objects. Owners of fields stand in the
    order of their times, and times are seconds. The recorded server was built from OpenShift's sources, whose one
    change to a pod is a second authority in the volume of its token. The admin has another name and a certificate.
    """
    found = renumbered(answers)
    return tuple(msgspec.structs.replace(one, body=_without_marks(one.body)) for one in found)


def _without_marks(value: Json, name: str = "") -> Json:
    if isinstance(value, dict):
        return {key: _without_marks(each, key) for key, each in value.items() if not _is_credential(key, each)}
    if isinstance(value, list) and name == "managedFields":
        value = sorted(value, key=_of_manager)  # Their order is that of their times.
    if isinstance(value, list):
        return [_without_marks(each) for each in value if each != _OF_OPENSHIFT]
    if isinstance(value, str):
        for drawn, word in _ALL_DRAWN:
            value = drawn.sub(word, value)
    if name == "username" and value in _ADMINS:
        return _ADMINS[0]
    return _PORTS[0] if name in _PORT_FIELDS and value in _PORTS else value


def _of_manager(entry: Json) -> tuple[str, ...]:
    return tuple(entry.get(name, "") for name in ("operation", "manager", "subresource", "apiVersion"))


def _is_credential(key: str, value: Json) -> bool:
    return key == "extra" and isinstance(value, dict) and list(value) == ["authentication.kubernetes.io/credential-id"]


def _filled(body: Json, answers: Sequence[Json]) -> Json:
    if isinstance(body, str):
        found = _FIELD.fullmatch(body)
        return body if found is None else _field(answers[int(found[1])], found[2].split("."))
    if isinstance(body, list):
        return [_filled(each, answers) for each in body]
    if not isinstance(body, dict):
        return body
    if "$answer" not in body:
        return {name: _filled(value, answers) for name, value in body.items()}
    value = copy.deepcopy(answers[body["$answer"]])
    for path in body.get("$drop", ()):
        *way, last = path.split(".")
        holder = _field(value, way)
        if isinstance(holder, dict):
            holder.pop(last, None)
    for path, new in body.get("$set", {}).items():
        *way, last = path.split(".")
        holder = value
        for step in way:
            holder = holder.setdefault(step, {})
        holder[last] = _filled(new, answers)
    return value


def _field(value: Json, way: Sequence[str]) -> Json:
    for step in way:
        value = value.get(step, "") if isinstance(value, dict) else ""
    return value


class _Settler:
    """Sets aside what differs from run to run; versions keep their order of appearance within a script."""

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}

    def value(self, value: Json, name: str = "") -> Json:
        if isinstance(value, dict):
            if "metadata" in value and "items" in value and isinstance(value["metadata"], dict):
                # The version of a list is that of the whole store.
                value = value | {"metadata": value["metadata"] | {"resourceVersion": "LIST"}}
            return {key: self.value(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self.value(each, name if name == "cells" else "") for each in value]
        if not isinstance(value, str):
            return value
        if name == "continue":
            return "CONTINUE"
        if name == "cells" and _AGE.fullmatch(value):
            return "AGE"
        if name == "resourceVersion" and value.isdigit():
            return self._versions.setdefault(value, f"VERSION-{len(self._versions) + 1}")
        return self.text(value)

    def text(self, text: str) -> str:
        """A text without uids, times and drawn names."""
        if text in RECORDED_TIMES:
            return text
        for version, word in self._versions.items():
            if len(version) > 3 and version in text:
                text = text.replace(version, word)
        return _DRAWN.sub(r"\1DRAWN", _TIME.sub("TIME", _UID.sub("UID", text)))
