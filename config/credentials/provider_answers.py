"""The request to a credential program, and its answer (spec 6.3).

These are CredentialProviderRequest and CredentialProviderResponse. Pure.

Answers are read as strictly as a kubelet reads them. No error shows a value of an answer, since any may be a password.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from config.credentials.docker_config import Credential, Entries, RegistryEntry
from config.credentials.image_providers import EXEC_V1, ImageProvider
from config.values.durations import DurationError, parse_duration_ns

REQUEST, RESPONSE = "CredentialProviderRequest", "CredentialProviderResponse"
_FIELDS = frozenset({"kind", "apiVersion", "cacheKeyType", "cacheDuration", "auth"})
_AUTH_FIELDS = frozenset({"username", "password"})


class ProviderAnswerError(ValueError):
    """The answer cannot be used; the text has no value of it."""


class CacheScope(enum.Enum):
    """The images that an answer is valid for: this one, all of its registry, or all."""

    IMAGE = "Image"
    REGISTRY = "Registry"
    GLOBAL = "Global"


class ProviderAnswer(msgspec.Struct, frozen=True):
    """`cache_ns`: how long it is good; 0: for this request alone."""

    scope: CacheScope
    cache_ns: int
    entries: Entries


def request_document(
    provider: ImageProvider, image: str, token: str = "", annotations: Mapping[str, str] = {}
) -> bytes:
    """The input of the program. Only v1 has tokens and annotations."""
    request: dict[str, Any] = {"kind": REQUEST, "apiVersion": provider.api_version, "image": image}
    if token and provider.api_version == EXEC_V1:
        request["serviceAccountToken"] = token
    if annotations and provider.api_version == EXEC_V1:
        request["serviceAccountAnnotations"] = dict(annotations)
    return msgspec.json.encode(request) + b"\n"


def read_answer(provider: ImageProvider, printed: bytes, token: str = "") -> ProviderAnswer:
    """The answer of the program, which was given `token`. Raises ProviderAnswerError."""
    answer = _map(_json(printed), "it")
    if answer.get("kind") != RESPONSE:
        raise ProviderAnswerError(f"kind: it is not {RESPONSE}")
    if answer.get("apiVersion") != provider.api_version:
        raise ProviderAnswerError(f"apiVersion: it is not {provider.api_version}, as in the configuration")
    _refuse_unknown(answer, _FIELDS, "it")
    entries = tuple(
        _entry(registry, value, f"entry {number} of auth")
        for number, (registry, value) in enumerate(_map(answer.get("auth") or {}, "auth").items(), 1)
    )
    attributes = provider.token
    by_account = token and attributes is not None and not attributes.by_token
    if by_account and any(entry.credential.password == token for entry in entries):
        # The token is good for one pod; kept, it would be shown for other pods of the account.
        raise ProviderAnswerError("auth: it answers with the token of the pod, which needs cacheType: Token")
    return ProviderAnswer(_scope(answer.get("cacheKeyType")), _cache_ns(provider, answer.get("cacheDuration")), entries)


def _json(printed: bytes) -> Any:
    try:
        return msgspec.json.decode(printed)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ProviderAnswerError("it is not JSON") from None
    except RecursionError:
        raise ProviderAnswerError("it is nested too deeply") from None


def _map(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProviderAnswerError(f"{what} must be a map")
    return value


def _refuse_unknown(fields: dict[str, Any], known: frozenset[str], what: str) -> None:
    if unknown := len(fields.keys() - known):
        raise ProviderAnswerError(f"{what} has {unknown} unknown fields besides {', '.join(sorted(known))}")


def _entry(registry: str, value: Any, what: str) -> RegistryEntry:
    fields = _map({} if value is None else value, what)
    _refuse_unknown(fields, _AUTH_FIELDS, what)
    username, password = (fields.get(name) or "" for name in ("username", "password"))
    if not isinstance(username, str) or not isinstance(password, str):
        raise ProviderAnswerError(f"{what}: username and password must be text")
    return RegistryEntry(registry, Credential(username, password))


def _scope(value: Any) -> CacheScope:
    try:
        return CacheScope(value)
    except ValueError:
        raise ProviderAnswerError("cacheKeyType: it is none of Image, Registry, Global") from None


def _cache_ns(provider: ImageProvider, value: Any) -> int:
    if value is None:
        return provider.default_cache_ns
    if not isinstance(value, str):
        raise ProviderAnswerError("cacheDuration must be text such as 10m")
    try:
        return max(0, parse_duration_ns(value))
    except DurationError:
        raise ProviderAnswerError("cacheDuration is not a duration such as 10m") from None
