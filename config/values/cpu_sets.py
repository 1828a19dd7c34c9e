"""Lists of numbers as the kernel writes them for CPUs and NUMA nodes: `0-3,7`. Pure."""

from __future__ import annotations

from collections.abc import Iterable

CPUS_AT_MOST = 65536


def parse_cpu_set(text: str) -> frozenset[int]:
    """The numbers of a list such as `0-3,7`. Raises ValueError with the piece that cannot be read."""
    cpus: set[int] = set()
    for piece in text.split(","):
        first, dash, last = piece.strip().partition("-")
        if not (first.isascii() and first.isdigit() and (not dash or (last.isascii() and last.isdigit()))):
            raise ValueError(f"{piece!r} is not a CPU or a range of CPUs")
        low, high = int(first), int(last) if dash else int(first)
        if high < low or high >= CPUS_AT_MOST:
            raise ValueError(f"{piece!r} is not a range of CPUs")
        cpus.update(range(low, high + 1))
    return frozenset(cpus)


def format_cpu_set(cpus: Iterable[int]) -> str:
    """The shortest list, with numbers and ranges in ascending order; empty for no numbers."""
    ranges: list[list[int]] = []
    for cpu in sorted(cpus):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
