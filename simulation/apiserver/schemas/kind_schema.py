"""What describes the objects of a kind: its schema, and what a definition says beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class KindSchema(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """One version of a kind that a schema describes.

    The schema comes from a definition, or is the published one of a built-in kind.

    Schema and columns are JSON. `scale`: the paths of the scale part, or None. `warning`: the deprecation warning for
    each request, or "". `published`: the name of a built-in kind's schema in the OpenAPI documents, else "".
    `template`: the path of its pod template, as names of fields.
    """

    schema: Mapping[str, Any]
    columns: tuple[Mapping[str, Any], ...] = ()
    scale: Mapping[str, str] | None = None
    warning: str = ""
    published: str = ""
    template: tuple[str, ...] = ()
