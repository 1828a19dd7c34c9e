"""Addresses as they may be shown to people: without what lets somebody in. Pure.

Passwords stand before the host, tokens among the values of a query. What is asked keeps them; logs, problems, events
and pages have what is made here.
"""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from config.credentials.masked import MASK, masked


def masked_url(url: str) -> str:
    """The same address without its password and the values of its query. What is no address is masked as a whole where
    it has a password's shape.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return MASK if "@" in url or "?" in url else url
    who, at, host = parts.netloc.rpartition("@")
    name, colon, _ = who.partition(":")
    query = "&".join(f"{each.partition('=')[0]}={MASK}" if "=" in each else MASK for each in parts.query.split("&"))
    return urlunsplit(
        parts._replace(netloc=f"{name}{colon and f':{MASK}'}{at}{host}", query=query if parts.query else "")
    )


def without_secrets(text: str, url: str) -> str:
    """A text about the address, such as a library's error, without what the address has masked."""
    text = text.replace(url, masked_url(url))
    try:
        parts = urlsplit(url)
    except ValueError:
        return text
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    values = [each.partition("=")[2] or each for each in parts.query.split("&")]
    return masked(text, (password, *values))
