"""The base of all objects of the API."""

from __future__ import annotations

import msgspec


class ApiStruct(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Frozen; attributes are the JSON names in snake_case; what is absent is None, (), {} or "" and is not written out.
    """
