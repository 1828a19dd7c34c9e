"""Whether and where this machine swaps (spec 9.8, 10.1): the lines of `/proc/swaps` below its heading."""

from __future__ import annotations

import re

NO_SWAP_SINCE = (6, 4)
"""The first kernel release that can keep memory-backed volumes out of swap."""
_RELEASE = re.compile(r"([0-9]+)\.([0-9]+)")
_OCTAL = re.compile(r"\\([0-7]{3})")


def swaps(path: str = "/proc/swaps") -> tuple[str, ...]:
    """The files and devices with swap. Empty where the file is missing: such a kernel has no swap.

    Raises OSError when it cannot be read.
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file]
    except FileNotFoundError:
        return ()
    return tuple(_OCTAL.sub(lambda match: chr(int(match[1], 8)), fields[0]) for fields in lines[1:] if fields)


def keeps_volumes_from_swap(kernel_version: str) -> bool:
    """Whether a tmpfs of this kernel can be kept out of swap. False for an unreadable version."""
    found = _RELEASE.match(kernel_version)
    return found is not None and (int(found[1]), int(found[2])) >= NO_SWAP_SINCE
