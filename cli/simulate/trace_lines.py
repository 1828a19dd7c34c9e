"""Lines of a trace for people.

They have the time in seconds, the actor, the message, and the outcome unless it is ok.
"""

from __future__ import annotations

SECOND_NS = 10**9


def readable(line: str) -> str:
    """`1500000000 node-0/node/pleg Relist ok` becomes `1.500000000 s  node-0/node/pleg  Relist`."""
    at, _, rest = line.partition(" ")
    who, _, what = rest.partition(" ")
    return f"{seconds(int(at))}  {who}  {what.removesuffix(' ok')}"


def seconds(ns: int) -> str:
    """Seconds with all digits, because steps differ in the last ones."""
    return f"{ns // SECOND_NS}.{ns % SECOND_NS:09} s"
