"""Where a page of a list begins, and at which moment: the continue token. Pure.

The token is that of a kube-apiserver (`storage/continue.go`): base64 of JSON, with the version `rv` and the place
`start`. A version of -1 stands for now.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re

import msgspec

from simulation.apiserver.requests.options import EXACT
from simulation.apiserver.status import bad_request

_FORM = "meta.k8s.io/v1"
_NOW = -1
_ALIEN = re.compile(r"[^A-Za-z0-9_-]")
_AFTER = "\0"
"""The least that can follow a name."""


class Page(msgspec.Struct, frozen=True):
    """`start`: the place of its first object, "" for the first page. `at`: its revision; None: now."""

    start: str = ""
    at: int | None = None

    def token_for_now(self) -> str:
        """The token of the same page as the objects are now."""
        return _written(_NOW, self.start)


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


def first_page(version: int | None, match: str, *, has_limit: bool) -> Page:
    """The first page. Without a match, a list with a limit shows the version that the client says."""
    is_exact = match == EXACT or (not match and has_limit)
    return Page(at=version if is_exact else None)


def token(revision: int, last: str) -> str:
    """The token of the page after the object at the place `last`."""
    return _written(revision, last + _AFTER)


def read_token(text: str) -> Page:
    """The page of a token. Raises StatusError (400)."""
    if alien := _ALIEN.search(text):
        raise _invalid(f"illegal base64 data at input byte {alien.start()}")
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise _invalid(f"illegal base64 data at input byte {len(text)}") from None
    try:
        said = msgspec.json.decode(raw, type=_Token)
    except (msgspec.DecodeError, UnicodeDecodeError):
        first = raw[:1].decode("latin-1")
        raise _invalid(f"invalid character '{first}' looking for beginning of value") from None
    if said.v != _FORM:
        raise _invalid(f"server does not recognize this encoded version {said.v}")
    if said.rv == 0:
        raise _invalid(f"incorrect encoded start resourceVersion (version {_FORM})")
    if not said.start:
        raise _invalid(f"encoded start key empty (version {_FORM})")
    start = said.start if said.start.startswith("/") else f"/{said.start}"
    if posixpath.normpath(start) != start:
        raise _invalid(said.start)
    return Page(start[1:], said.rv if said.rv > 0 else None)


def _written(revision: int, start: str) -> str:
    raw = msgspec.json.encode(_Token(_FORM, revision, f"/{start}"))
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _invalid(why: str) -> Exception:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
