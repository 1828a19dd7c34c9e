"""The text of a file that may be missing: the kernel's own files, and others that come and go.

For callers that treat an unreadable file as empty. Callers that must report the reason open the file themselves.
"""

from __future__ import annotations


def text_or_empty(path: str) -> str:
    """The content of a file; empty when it cannot be read. Bytes that are no UTF-8 are replaced."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
