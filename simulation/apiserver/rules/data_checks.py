"""Rules of ConfigMaps and Secrets: keys, sizes, types of Secrets, and what is immutable. Pure.

Source: `ValidateConfigMap` and `ValidateSecret` of Kubernetes 1.36, and their updates.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry, same
from simulation.apiserver.rules.spelling import key_of_data

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)

BYTES_AT_MOST = 2**20
_FIXED = "field is immutable when `immutable` is set"
_ACCOUNT = "kubernetes.io/service-account.name"
_REDACTED = "<secret contents redacted>"
_CONFIG_OF_DOCKER: Mapping[str, str] = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_KEYS_OF_TLS = ("tls.crt", "tls.key")


@check
def config_map(seen: Seen) -> Iterator[Cause]:
    texts, binary = _map_of(seen, "data"), _map_of(seen, "binaryData")
    for key in sorted(texts):
        yield from _of_key("data", key)
        if key in binary:
            yield causes.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in sorted(binary):
        yield from _of_key("binaryData", key)
    if sum(len(text.encode()) for text in texts.values()) + _decoded_bytes(binary) > BYTES_AT_MOST:
        yield causes.too_long("[]", BYTES_AT_MOST)  # how Go writes a path of one empty name


@check
def secret(seen: Seen) -> Iterator[Cause]:
    data = _map_of(seen, "data")
    for key in sorted(data):
        yield from _of_key("data", key)
    if _decoded_bytes(data) > BYTES_AT_MOST:
        yield causes.too_long("data", BYTES_AT_MOST)
    yield from _of_type(field_of(seen.value, "type") or "", seen.value["metadata"].get("annotations") or {}, data)


def _of_type(kind: str, annotations: Mapping[str, str], data: Mapping[str, str]) -> Iterator[Cause]:
    """What a Secret of a type of Kubernetes must have."""
    if kind == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        yield causes.required(f"metadata.annotations[{_ACCOUNT}]")
    elif kind in _CONFIG_OF_DOCKER:
        key = _CONFIG_OF_DOCKER[kind]
        if key not in data:
            yield causes.required(f"data[{key}]")
        elif (why := _no_object(base64.b64decode(data[key] or ""))) is not None:
            yield causes.invalid(f"data[{key}]", _REDACTED, why)
    elif kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        yield causes.required("data[username]")
        yield causes.required("data[password]")
    elif kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        yield causes.required("data[ssh-privatekey]")
    elif kind == "kubernetes.io/tls":
        yield from (causes.required(f"data[{key}]") for key in _KEYS_OF_TLS if key not in data)


@check
def unchanged_data(seen: Seen) -> Iterator[Cause]:
    """Of an object that was immutable."""
    if not field_of(seen.before, "immutable"):
        return
    if not field_of(seen.value, "immutable"):
        yield causes.forbidden("immutable", _FIXED)
    for name in ("data", "binaryData"):
        if not same(field_of(seen.value, name), field_of(seen.before, name)):
            yield causes.forbidden(name, _FIXED)


def _map_of(seen: Seen, name: str) -> dict[str, str]:
    return {key: text or "" for key, text in (field_of(seen.value, name) or {}).items()}


def _of_key(name: str, key: str) -> Iterator[Cause]:
    return (causes.invalid(f"{name}[{key}]", key, why) for why in key_of_data(key))


def _decoded_bytes(data: Mapping[str, str]) -> int:
    """How many bytes the values are that base64 writes."""
    return sum(len(text) * 3 // 4 - text[-2:].count("=") for text in data.values())


def _no_object(text: bytes) -> str | None:
    """Why this is no JSON object, as Go says it; None if it is one."""
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        at = getattr(error, "pos", 0)
        rest = text.decode(errors="replace")[at:]
        if not rest:
            return "unexpected end of JSON input"
        return f"invalid character {_quoted(rest[0])} looking for beginning of value"
    if isinstance(value, dict) or value is None:
        return None
    kind = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def _quoted(sign: str) -> str:
    return "'\\''" if sign == "'" else f"'{sign}'"
