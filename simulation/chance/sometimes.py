"""Named events that happen in some runs only.

They are counted, so that a set of runs shows what it has reached.

A scenario that means to try something rare lists it under `reaches`; runs that never came there prove nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

KNOWN: Mapping[str, str] = msgspec.yaml.decode(Path(__file__).with_suffix(".yaml").read_bytes())
"""Name -> what it means."""


class Sometimes:
    """Counts of events; every known name is there from the start."""

    def __init__(self) -> None:
        self.counts = dict.fromkeys(KNOWN, 0)

    def happened(self, name: str, times: int = 1) -> None:
        self.counts[name] += times
