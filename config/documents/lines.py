"""The line of each place in a text.

A tree with the shape of the values holds the lines, so no place stores its whole path.

`LineNode` is a line alone for a scalar. Lines count from 1. Refuses to know how the text is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

import msgspec


class MapLines(msgspec.Struct, gc=False):
    """The line where a map begins, and its entries."""

    line: int
    entries: dict[str, LineNode]


class ListLines(msgspec.Struct, gc=False):
    """The line where a list begins, and its items."""

    line: int
    items: list[LineNode]


LineNode = int | MapLines | ListLines

_STEP = re.compile(r'\.([A-Za-z0-9_-]+)|\[([0-9]{1,9})\]|\[("(?:[^"\\]|\\.)*+")\]')


def line_at(root: LineNode, path: str, exact: Mapping[str, int]) -> int:
    """The line of the place, or of the nearest place around it.

    `exact` has the lines of places beside the tree.
    """
    if path in exact:
        return exact[path]
    node = root
    for step in _steps(path):
        if isinstance(step, str):
            below = node.entries.get(step) if isinstance(node, MapLines) else None
        else:
            below = node.items[step] if isinstance(node, ListLines) and step < len(node.items) else None
        if below is None:
            break
        node = below
    return line_of(node)


def line_of(node: LineNode) -> int:
    """The line where the node itself begins."""
    return node if isinstance(node, int) else node.line


def _steps(path: str) -> Iterator[str | int]:
    """The steps of a path that `config.documents.walk.path_text` has written.

    It stops at the first step that is written otherwise.
    """
    done = 1
    while (found := _STEP.match(path, done)) is not None:
        done = found.end()
        name, index, quoted = found.groups()
        yield name if name is not None else int(index) if index is not None else str(json.loads(quoted))
