"""Files of cases with the judge's answers.

They are compressed lines of JSON, in which a machine is its line of text.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from simulation.host.topologies import topology_of
from tools.share_cases.cases import Case, nodes_of_case


def keep(path: Path, answered: Iterable[tuple[Case, dict[str, Any]]]) -> None:
    """Write the file."""
    lines = []
    for case, answer in answered:
        short = {key: value for key, value in case.items() if key != "nodes"}
        lines.append(json.dumps([short, answer], separators=(",", ":")))
    path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9))


def kept(path: Path) -> Iterator[tuple[Case, dict[str, Any]]]:
    """The cases of a file, with the judge's answers."""
    for line in lzma.decompress(path.read_bytes()).decode().splitlines():
        case, answer = json.loads(line)
        yield {**case, "nodes": nodes_of_case(topology_of(case["text"]))}, answer
