"""What all parts of a scenario are written with: durations, sizes, shares, names, stretches."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Duration = Annotated[
    str, Meta(pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$|^0$", description="as in Go: 90s, 1m30s, 250ms, 0")
]
Share = Annotated[float, Meta(ge=0, le=1)]
Name = Annotated[str, Meta(pattern=r"^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$")]
Range = tuple[Duration, Duration]
Size = Annotated[
    str, Meta(pattern=r"^[0-9]+(\.[0-9]+)?(k|[MGT]|[KMGT]i)?$", description="bytes, or so many: 64Mi, 2G, 500")
]
Times = Annotated[int, Meta(ge=1, le=1000)]


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Something of a scenario; whatever is not known of it is refused with its place."""
