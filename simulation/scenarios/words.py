"""The value types of scenarios: durations, sizes, shares, names, stretches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta

from simulation.cri.behaviour_values import duration_ns, size_bytes

Duration = Annotated[
    str, Meta(pattern=r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$|^0$", description="as in Go: 90s, 1m30s, 250ms, 0")
]
Share = Annotated[float, Meta(ge=0, le=1)]
Name = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$",
        description="as small letters, digits and dashes between them, at most 40 characters",
    ),
]
Range = tuple[Duration, Duration]
Size = Annotated[
    str, Meta(pattern=r"^[0-9]+(\.[0-9]+)?(k|[MGT]|[KMGT]i)?$", description="as bytes, or so many: 64Mi, 2G, 500")
]
Times = Annotated[int, Meta(ge=1, le=1000)]


class ScenarioPart(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """The base of all parts of a scenario. An unknown field is refused with its place."""


def faults_in_words(part: ScenarioPart, path: str) -> Iterator[str]:
    """Faults of durations and sizes that match the pattern and are still invalid.

    For example more than 292 years, or on two lines.
    """
    for name, encoded, readers in _readers_of(type(part)):
        value = getattr(part, name)
        for words, where in _each(value, f"{path}.{encoded}"):
            if isinstance(words, ScenarioPart):
                yield from faults_in_words(words, where)
            elif isinstance(words, str):
                for read in readers:
                    try:
                        read(words)
                    except ValueError as error:
                        yield f"{where}: {error}"


def _each(value: object, path: str) -> Iterator[tuple[object, str]]:
    if isinstance(value, tuple):
        for number, one in enumerate(value):
            yield one, f"{path}[{number}]"
    else:
        yield value, path


_READERS: Mapping[Any, Callable[[str], int]] = {Duration: duration_ns, Size: size_bytes}


@lru_cache(maxsize=64)
def _readers_of(part: type[ScenarioPart]) -> tuple[tuple[str, str, tuple[Callable[[str], int], ...]], ...]:
    """For each field: its name, its name in a file, and the reader of its value."""
    return tuple(
        (each.name, each.encode_name, tuple(read for kind, read in _READERS.items() if _is_made_of(each.type, kind)))
        for each in msgspec.structs.fields(part)
    )


def _is_made_of(whole: Any, kind: Any) -> bool:
    """Whether the type is that, or a union or a tuple with it."""
    return bool(whole == kind) or any(_is_made_of(each, kind) for each in get_args(whole) if each is not Ellipsis)
