"""The text of a file that may be missing: the kernel's own files, and others that come and go.

For those to whom a file that cannot be read is one that says nothing. Who must tell the reason opens it himself.
"""

from __future__ import annotations


def text_or_empty(path: str) -> str:
    """The content of a file; empty when it cannot be read. What is no UTF-8 is replaced."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
