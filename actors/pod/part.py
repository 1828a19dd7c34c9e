"""What the parts of one pod's worker are: as cheap to make as they can be, for each pod has a dozen of them."""

from __future__ import annotations

import msgspec


class WorkerPart(msgspec.Struct, eq=False, weakref=True):
    """Each is made with what it works on, in the order of its fields that have no default, and is like no other."""

    __repr__ = object.__repr__  # a close look shows the fields, each in short
