"""What every message of the interface is built from: the frozen base class and the two number wrappers.

A wrapper message stands where "absent" must differ from zero: `run_as_user=None` lets the image decide,
`run_as_user=Int64Value(value=0)` asks for root.
"""

from __future__ import annotations

import msgspec


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A message of runtime.v1 with the field names and zero defaults of the interface.

    Equal messages compare equal. Safe to share between actors and worlds: nothing in it is ever changed. Left out
    of the garbage collector's watch, because a tree of frozen values cannot hold a cycle.
    """


class Int64Value(Message, frozen=True, kw_only=True):
    """A signed number that may also be absent."""

    value: int = 0


class UInt64Value(Message, frozen=True, kw_only=True):
    """An unsigned number that may also be absent."""

    value: int = 0
