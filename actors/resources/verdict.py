"""The rejection of a pod."""

from __future__ import annotations

import msgspec

PREFIX = "Pod was rejected: "
"""The start of every rejection message in a status."""


class Rejected(msgspec.Struct, frozen=True):
    """The node will never take the pod: it ends as Failed. `reason` is a word of the API (spec 10.14)."""

    reason: str
    message: str
