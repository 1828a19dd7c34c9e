"""How rules are written down."""

from __future__ import annotations

from typing import TypeAlias

Rules: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""In order: (the rule, its tests)."""
