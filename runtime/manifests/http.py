"""`HttpManifests`: static pod manifests over the network, on the shared `LoopThread`. See `runtime.manifests.url`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import aiohttp

from config.credentials.masked_urls import without_secrets
from runtime.io.event_loop import LoopThread
from runtime.io.pending import Pending
from runtime.manifests.url import LIMIT_BYTES, ManifestAnswer, ManifestFetchError

TIMEOUT_SECONDS = 10.0


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
