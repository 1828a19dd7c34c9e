"""Texts about many problems at once, bounded in length. Pure."""

from __future__ import annotations

from collections.abc import Sequence

SHOWN_AT_MOST = 16
"""Problems that a text names; a pod may have thousands."""


def joined(texts: Sequence[str], separator: str = "; ") -> str:
    """The texts as one. The first of many are shown, the others counted."""
    if len(texts) <= SHOWN_AT_MOST:
        return separator.join(texts)
    return separator.join((*texts[:SHOWN_AT_MOST], f"and {len(texts) - SHOWN_AT_MOST} more"))
