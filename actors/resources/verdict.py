"""What is said to a pod that wants to run here."""

from __future__ import annotations

import msgspec

PREFIX = "Pod was rejected: "
"""In front of every message that the status shows."""


class Rejected(msgspec.Struct, frozen=True):
    """Not here, and not later: the pod ends as Failed. `reason` is a word of the API (spec 10.14)."""

    reason: str
    message: str
