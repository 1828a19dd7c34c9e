"""How rules that are no actors observe what a record must note: see `Actor.observe`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

Observe = Callable[[str, Callable[[], Any]], Any]
"""`Actor.observe`."""

SECRET_DIGEST = "digest of secrets"
"""The name under which actors observe a digest that they make of secrets.

A record has other secrets, and so another digest would come of them in a replay. It notes the digest as something that
was seen. Since one could guess at a short secret with its digest, that is replaced like a secret, too.
"""


def look_only(what: str, look: Callable[[], T]) -> T:
    """`observe` where nothing is recorded."""
    return look()
