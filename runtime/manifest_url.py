"""Static pod manifests from a URL: one GET (spec 1.1).

`ManifestServer` is the capability, `HttpManifests` the real one, on the shared `LoopThread`. An answer is its status
and its bytes; what they mean is not known here. No answer, or one that is too large, is a `ManifestFetchError` that
says why in words for people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import aiohttp
import msgspec

from config.masked_urls import without_secrets
from runtime.event_loop import LoopThread
from runtime.pending import Pending

LIMIT_BYTES = 10 * 1024 * 1024
"""No manifest may be larger (spec 1.1)."""
TIMEOUT_SECONDS = 10.0


class ManifestFetchError(Exception):
    """There is no usable answer."""


class ManifestAnswer(msgspec.Struct, frozen=True):
    """What the server said."""

    status: int
    body: bytes


class ManifestServer(Protocol):
    """See the module."""

    def get(self, url: str, headers: Mapping[str, Sequence[str]]) -> Pending[ManifestAnswer]:
        """GET `url`; a header may have several values. Fails with `ManifestFetchError`; never hangs."""
        ...


class HttpManifests:
    """Over the network. A manifest is read every 20 s or so: a connection of its own each time is no burden."""

    def __init__(self, loop: LoopThread) -> None:
        self._loop = loop

    def get(self, url: str, headers: Mapping[str, Sequence[str]]) -> Pending[ManifestAnswer]:
        return self._loop.submit(_get(url, headers))


async def _get(url: str, headers: Mapping[str, Sequence[str]]) -> ManifestAnswer:
    pairs = [(name, value) for name, values in headers.items() for value in values]
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.get(url, headers=pairs) as response,
        ):
            return ManifestAnswer(response.status, await _limited(response))
    except TimeoutError as failure:
        raise ManifestFetchError(f"no answer within {TIMEOUT_SECONDS:.0f} s") from failure
    except (aiohttp.ClientError, ValueError, OSError) as failure:
        # Its words may have the address in them, and the address a password.
        raise ManifestFetchError(without_secrets(str(failure), url) or type(failure).__name__) from None


async def _limited(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_chunked(64 * 1024):
        size += len(part)
        if size > LIMIT_BYTES:
            raise ManifestFetchError(f"the answer is larger than {LIMIT_BYTES // 1024 // 1024} MiB")
        parts.append(part)
    return b"".join(parts)
