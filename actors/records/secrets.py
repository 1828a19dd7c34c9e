"""Secrets never reach a record: what stands in their place has the same length and form.

A secret is learned where it enters: in an object of the API, a credential, a key. From then on its bytes are replaced
wherever they appear, plain and as base64. The replacement is drawn by a key that is made for each record and never
written. Letters stay letters and digits digits; quotes, the marks of PEM and what base64 needs stay. So JSON still
parses, and a value that a program takes apart has parts of the same length.

Values under `AT_LEAST_BYTES` and words of actorlet's own formats are not replaced, because that would change other
things, too. `kept` counts them. The log warns of the first one that is so short.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from actors.cluster.token_rules import Token
from actors.messages.references import CredentialBundle
from actors.model.pull_records import PullSecret
from config.credentials.docker_config import Credential
from config.objects import Secret
from config.objects.authentication import TokenRequest
from runtime.cri.messages import AuthConfig
from runtime.image_providers.capability import ProviderRequest
from runtime.state.pod_keys import PodKey

LOG = logging.getLogger("actorlet.record")
AT_LEAST_BYTES = 4
_COMMON = frozenset({b"true", b"false", b"null", b"none", b"None", b"True", b"False", b"default"})
_STAYS = frozenset(b"-_=+/.:@,{}[]\"' \t\r\n\\")
_LOWER, _UPPER, _DIGITS = b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"


class SecretKeeper:
    """See the module. `key`: random bytes, which are never written."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._pairs: dict[bytes, bytes] = {}
        """What stands in the place of each secret, the longest first."""
        self._is_sorted = True
        self._words = b""
        self.kept = 0
        self._has_warned = False

    def seen(self, value: Any) -> None:
        """Learn the secrets of a value that is about to be written."""
        find = _FINDERS.get(type(value))
        if find is not None:
            for secret in find(value):
                self.learn(secret)

    def learn(self, secret: bytes) -> bytes:
        """From now on replace this secret; returns what stands in its place."""
        known = self._pairs.get(secret)
        if known is not None or not secret:
            return secret if known is None else known
        if len(secret) < AT_LEAST_BYTES or secret in _COMMON or self._is_a_word(secret):
            if len(secret) < AT_LEAST_BYTES and not self._has_warned:
                self._has_warned = True
                LOG.warning("a value of a secret is shorter than %d bytes: it is recorded as it is", AT_LEAST_BYTES)
            self.kept += 1
            return secret
        parts = tuple(_registry_parts(secret))
        if parts:
            other = secret
            for part in parts:
                other = other.replace(part, self._learn_part(part))
        else:
            other = self._other(secret)
            self._learn_lines(secret, other)
        if other == secret:
            return secret
        if not parts:
            self._add(secret, other)
        self._add(base64.b64encode(secret), base64.b64encode(other))
        return other

    def scrubbed(self, data: bytes) -> bytes:
        """The data without secrets, as long as before."""
        if not self._is_sorted:
            self._pairs = dict(sorted(self._pairs.items(), key=lambda pair: -len(pair[0])))
            self._is_sorted = True
        for secret, other in self._pairs.items():
            if secret in data:
                data = data.replace(secret, other)
        return data

    def _add(self, secret: bytes, other: bytes) -> None:
        self._pairs[secret] = other
        self._is_sorted = False

    def _learn_lines(self, secret: bytes, other: bytes) -> None:
        at = 0
        for line in secret.splitlines(keepends=True) if b"\n" in secret else ():
            end = at + len(line.rstrip(b"\r\n"))
            if end - at >= 2 * AT_LEAST_BYTES and other[at:end] != secret[at:end]:
                self._add(secret[at:end], other[at:end])
            at += len(line)

    def _learn_part(self, part: bytes) -> bytes:
        """Learn a part of a registry's document: a password, or `auth`, which is base64 of name and password."""
        try:
            name, colon, password = base64.b64decode(part, validate=True).partition(b":")
        except (binascii.Error, ValueError):
            return self.learn(part)
        if not colon:
            return self.learn(part)
        other = base64.b64encode(name + colon + self.learn(password))
        if len(other) == len(part) and other != part:
            self._add(part, other)
            return other
        return self.learn(part)

    def _other(self, secret: bytes) -> bytes:
        """The replacement: drawn by the key, in the form of the secret."""
        draw = _drawn(self._key, secret)
        made = bytearray()
        for line in secret.splitlines(keepends=True):
            if line.startswith(b"-----"):
                made += line
                continue
            escaped = False
            for byte in line:
                if escaped or byte in _STAYS:
                    made.append(byte)
                    escaped = byte == ord("\\") and not escaped
                    continue
                made.append(_alike(byte, next(draw)))
        return bytes(made)

    def _is_a_word(self, secret: bytes) -> bool:
        if not secret.replace(b"_", b"").replace(b".", b"").isalnum():
            return False
        if not self._words:
            self._words = b"\n".join(name.encode() for name in _own_words())
        return secret in self._words


def _drawn(key: bytes, secret: bytes) -> Iterator[int]:
    number = 0
    while True:
        yield from hmac.digest(key, number.to_bytes(4, "big") + secret, hashlib.sha256)
        number += 1


def _alike(byte: int, draw: int) -> int:
    for kind in (_LOWER, _UPPER, _DIGITS):
        if byte in kind:
            return kind[draw % len(kind)]
    return _LOWER[draw % len(_LOWER)]


def _registry_parts(document: bytes) -> Iterator[bytes]:
    """The secret parts of a document of registries; none of another value."""
    if not document.lstrip().startswith(b"{"):
        return
    try:
        value = msgspec.json.decode(document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    entries = value.get("auths", value) if isinstance(value, dict) else {}
    for fields in entries.values() if isinstance(entries, dict) else ():
        if isinstance(fields, dict):
            for name in ("auth", "password", "identitytoken", "registrytoken"):
                part = fields.get(name)
                if isinstance(part, str) and part:
                    yield part.encode()


def _own_words() -> Iterator[str]:
    """The names that stand in every record: those of structs, of their fields, and of their modules."""
    kinds: list[Any] = [msgspec.Struct]
    while kinds:
        kind = kinds.pop()
        kinds.extend(kind.__subclasses__())
        yield kind.__qualname__
        yield kind.__module__
        yield from getattr(kind, "__struct_encode_fields__", ())
        yield from getattr(kind, "__struct_fields__", ())


def _of_secret(value: Secret) -> Iterator[bytes]:
    for text in value.data.values():
        try:
            yield base64.b64decode(text)
        except (binascii.Error, ValueError):
            yield text.encode()
    for text in value.string_data.values():
        yield text.encode()


def _of_credential(value: Credential) -> Iterator[bytes]:
    yield from (each.encode() for each in (value.password, value.identity_token, value.registry_token) if each)
    if value.username and value.password:
        yield base64.b64encode(f"{value.username}:{value.password}".encode())


def _of_token_request(value: TokenRequest) -> Iterator[bytes]:
    if value.status is not None and value.status.token:
        yield value.status.token.encode()


def _of_auth(value: AuthConfig) -> Iterator[bytes]:
    yield from (
        each.encode() for each in (value.password, value.auth, value.identity_token, value.registry_token) if each
    )


_FINDERS: Mapping[type, Callable[[Any], Iterator[bytes]]] = {
    Secret: _of_secret,
    TokenRequest: _of_token_request,
    Credential: _of_credential,
    AuthConfig: _of_auth,
    PullSecret: lambda secret: iter((secret.credential_hash.encode(),)),
    PodKey: lambda key: iter((key.private,)),
    CredentialBundle: lambda bundle: iter((bundle.key,)),
    Token: lambda token: iter((token.text.encode(),)),
    ProviderRequest: lambda request: iter((request.token.encode(),)),
}
