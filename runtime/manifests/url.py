"""Static pod manifests from a URL: one GET (spec 1.1).

`ManifestServer` is the capability; the real one is `runtime.manifests.http`. An answer is its status and its bytes;
what they mean is not known here. No answer, or one that is too large, is a `ManifestFetchError` that says why in words
for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from runtime.io.pending import PendingAnswer

LIMIT_BYTES = 10 * 1024 * 1024
"""No manifest may be larger (spec 1.1)."""


class ManifestFetchError(Exception):
    """There is no usable answer."""


class ManifestAnswer(msgspec.Struct, frozen=True):
    """The answer of the server."""

    status: int
    body: bytes


class ManifestServer(Protocol):
    def get(self, url: str, headers: Mapping[str, Sequence[str]]) -> PendingAnswer[ManifestAnswer]:
        """GET `url`; a header may have several values. Fails with `ManifestFetchError`; never hangs."""
