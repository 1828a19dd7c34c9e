"""Addresses without their secrets, to be shown to people. Pure.

Passwords stand before the host, tokens among the values of a query. Requests use the real address. Logs, problems,
events and pages show the masked one.
"""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

from config.credentials.masked import MASK, masked


def masked_url(url: str) -> str:
    """The address without its password and the values of its query.

    A text that is no address is masked as a whole, if it may hold a password.
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
    """A text about the address, such as a library's error, with the same secrets masked."""
    text = text.replace(url, masked_url(url))
    try:
        parts = urlsplit(url)
    except ValueError:
        return text
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    values = [each.partition("=")[2] or each for each in parts.query.split("&")]
    return masked(text, (password, *values))
