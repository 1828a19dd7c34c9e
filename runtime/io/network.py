"""Network addresses and connection errors as text, in the words of other node agents."""

from __future__ import annotations

import os


def address(host: str, port: int) -> str:
    """`10.0.0.1:80`, `[fd00::1]:80`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reason_of(failure: OSError) -> str:
    """`connect: connection refused`. When several addresses of a name failed, the reason of one is enough."""
    if failure.errno:
        text = os.strerror(failure.errno)
        return f"connect: {text[:1].lower()}{text[1:]}"
    return str(failure) or type(failure).__name__
