"""What all caches of this process hold (`config.caches`)."""

from __future__ import annotations

import gc
from typing import Any

from config.caches import KeptBytes


def caches() -> tuple[KeptBytes[Any, Any], ...]:
    """Every cache of the modules that are imported."""
    return tuple(each for each in gc.get_objects() if isinstance(each, KeptBytes))


def kept_bytes() -> int:
    return sum(each.size_bytes for each in caches())
