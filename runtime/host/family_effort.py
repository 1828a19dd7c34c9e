"""The CPU time of a program with its descendants, and whether they want more: read from `/proc`.

Processes that come and go meanwhile are left out, and so are those that have left the family; nothing can fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

_TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
_USER, _SYSTEM, _OF_DEAD_CHILDREN = 11, 12, (13, 14)
"""Places of fields of `/proc/PID/stat` behind the name of the program, which may hold spaces."""
_STATE, _AT_WORK = 0, (b"R", b"D")
_PROCESSES_AT_MOST = 200


def family_cpu_ns(leader: int) -> int:
    """Nanoseconds of CPU, in steps of a clock tick. `leader`: the id of the first process."""
    total = 0
    for process, _ in _family(leader):
        with suppress(OSError, ValueError, IndexError):
            fields = _fields(process)
            total += sum(int(fields[place]) for place in (_USER, _SYSTEM, *_OF_DEAD_CHILDREN))
    return total * _TICK_NS


def family_wants_cpu(leader: int) -> bool:
    """Whether a thread runs, or waits for a core or a disk.

    On a busy machine such a thread may get no CPU for long.
    """
    for process, threads in _family(leader):
        for thread in threads:
            with suppress(OSError, IndexError):
                if _fields(f"{process}/task/{thread}")[_STATE] in _AT_WORK:
                    return True
    return False


def _family(leader: int) -> Iterator[tuple[str, list[str]]]:
    """Each process and its threads."""
    left, seen = [str(leader)], 0
    while left and seen < _PROCESSES_AT_MOST:
        process = left.pop()
        seen += 1
        with suppress(OSError, ValueError):
            threads = os.listdir(f"/proc/{process}/task")
            yield process, threads
            for thread in threads:
                with open(f"/proc/{process}/task/{thread}/children", "rb") as file:
                    left += file.read().decode().split()


def _fields(process: str) -> list[bytes]:
    with open(f"/proc/{process}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()
