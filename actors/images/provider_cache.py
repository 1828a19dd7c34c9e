"""Caches the answers of credential programs while they are valid (spec 6.3). Pure, without a clock.

An answer is valid for an image, for its registry or for all images, and for one account. A service account cannot use
an answer for another one. Nothing here is written to disk or shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec
from cachetools import FIFOCache

from config.caches import ENTRY_BYTES, KIB, MIB, size_of
from config.credentials.docker_config import Entries
from config.credentials.provider_answers import CacheScope, ProviderAnswer

KEPT_BYTES = 2 * MIB
"""Limit per program: some hundreds of answers.

Pods name the images, and a program may print a megabyte for each.
"""
LONGEST_BYTES = 64 * KIB
"""An answer that takes more is not kept."""


class Account(msgspec.Struct, frozen=True):
    """The service account, as it is now, that a program answers for.

    `token`: digest of the one token that the answer is valid for; empty: all tokens of the account.
    """

    namespace: str
    name: str
    uid: str
    annotations: tuple[tuple[str, str], ...] = ()
    token: str = ""


NO_ACCOUNT = Account("", "", "")

Key = tuple[CacheScope, str, Account]


def token_digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def annotations_for(
    required: tuple[str, ...], optional: tuple[str, ...], annotations: Mapping[str, str]
) -> tuple[tuple[str, str], ...] | None:
    """The annotations to pass to a program; None: a required one is missing, so do not run it."""
    if any(key not in annotations for key in required):
        return None
    return tuple((key, annotations[key]) for key in sorted((*required, *optional)) if key in annotations)


class ProviderCache:
    """The answers of one program. All times are monotonic ns."""

    def __init__(self) -> None:
        self._kept: FIFOCache[Key, tuple[Entries, int, int]] = FIFOCache(KEPT_BYTES, getsizeof=lambda kept: kept[2])
        """With the time until which each is good, and its bytes."""

    def find(self, image: str, account: Account, now_ns: int) -> Entries | None:
        """The closest answer that is good for the image (with its registry, without its tag)."""
        for scope in (CacheScope.IMAGE, CacheScope.REGISTRY, CacheScope.GLOBAL):
            kept = self._kept.get((scope, _scope_name(scope, image), account))
            if kept is not None and now_ns <= kept[1]:
                return kept[0]
        return None

    def store(self, image: str, account: Account, answer: ProviderAnswer, now_ns: int) -> None:
        if answer.cache_ns <= 0:
            return
        key = (answer.scope, _scope_name(answer.scope, image), account)
        self._kept.pop(key, None)
        size_bytes = size_of((key, answer.entries), LONGEST_BYTES)
        if size_bytes > LONGEST_BYTES:
            return
        size_bytes += ENTRY_BYTES
        if self._kept.currsize + size_bytes > KEPT_BYTES:
            self.purge(now_ns)
        self._kept[key] = (answer.entries, now_ns + answer.cache_ns, size_bytes)

    def purge(self, now_ns: int) -> None:
        """Forget what is not good any more."""
        for key in [key for key, kept in self._kept.items() if now_ns > kept[1]]:
            del self._kept[key]

    def __len__(self) -> int:
        return len(self._kept)


def _scope_name(scope: CacheScope, image: str) -> str:
    if scope is CacheScope.IMAGE:
        return image
    return image.partition("/")[0] if scope is CacheScope.REGISTRY else ""
