"""Which descriptors of this process are open somewhere."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def opened_in(directory: Path) -> list[str]:
    """Paths at and below the directory that this process holds open."""
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return [path for path in found if path == str(directory) or path.startswith(f"{directory}/")]
