"""Texts of others without the secrets that they were told. Pure.

Whoever sends a secret (to a registry, a storage driver, an API server, a credential plugin, a runtime) takes it out of
what comes back before anybody sees that. Errors of others are shown in logs, events and statuses, and some repeat what
they were asked. Every such edge calls `masked`, and nothing else hides secrets in texts of others.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, unquote

MASK = "***"
SHORTEST = 4
"""Characters: what is shorter stands in any text by chance."""


def masked(text: str, secrets: Iterable[str | None]) -> str:
    """The text without these secrets, in whatever way they are written in it."""
    if not text:
        return text
    forms = {form for secret in secrets if secret for form in _forms(secret) if len(form) >= SHORTEST}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, MASK)
    return text


def _forms(secret: str) -> Iterator[str]:
    """The forms of a secret: plain, quoted or unquoted as in a URL, in base64, and as programs quote it.

    Of a secret with several lines, each line too; of a JSON document, each text in it.
    """
    yield from (secret, unquote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1], repr(secret)[1:-1])
    yield base64.b64encode(secret.encode("utf-8", "surrogateescape")).decode().rstrip("=")
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines)
    elif secret.lstrip().startswith(("{", "[")):
        yield from _texts_in(secret)


def _texts_in(document: str) -> Iterator[str]:
    """The texts in a JSON document, such as tokens by audience. Keys are no secrets."""
    try:
        waiting: list[Any] = [json.loads(document)]
    except (ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
