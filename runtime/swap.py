"""Whether this machine swaps (spec 10.1): `/proc/swaps` has more than its heading."""

from __future__ import annotations


def swap_is_on(path: str = "/proc/swaps") -> bool:
    """False also where the file is missing: such a kernel has no swap. Raises OSError when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            return len([line for line in lines if line.strip()]) > 1
    except FileNotFoundError:
        return False
