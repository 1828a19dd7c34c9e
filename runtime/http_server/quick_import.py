"""Import aiohttp without the trusted certificates of this machine.

aiohttp reads them twice when it is imported, for a client of its own. Nobody here uses that client without a TLS
context of their own. Reading them takes a fifteenth of an agent's start, and 2 MiB of its memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_PLACES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Variables that tell OpenSSL where trusted certificates are."""


@contextmanager
def _trusting_nobody() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in _PLACES}
    os.environ.update(dict.fromkeys(_PLACES, os.devnull))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


with _trusting_nobody():
    import aiohttp  # noqa: F401  # for its modules
