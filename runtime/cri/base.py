"""Base classes of the generated modules of the interface: `CriMessage`, `OpenEnum` and `Verb`.

`tools.struct_source` writes `runtime/cri/v1/messages.py` and `runtime/cri/v1/verbs.py` from `api.proto`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Generic, TypeVar

import msgspec


class OpenEnum(IntEnum):
    """An IntEnum that takes every number, as proto3 demands.

    A newer runtime may send a number that has no name here. It becomes a member `UNKNOWN_<number>`, so that one new
    value does not make a whole list unreadable. Compare members with `==`: two such members are equal, not identical.
    """

    @classmethod
    def _missing_(cls, value: object) -> OpenEnum | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member


class CriMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A message of runtime.v1 with the field names and zero defaults of the interface.

    Actors and worlds share messages: nothing in one ever changes. The garbage collector skips them, because a tree of
    frozen values holds no cycle.
    """


class SecretMessage(CriMessage, frozen=True, kw_only=True):
    """A message with fields that the interface marks `debug_redact`.

    They stay out of logs: `repr` omits them.
    """

    secret_fields: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        shown = [
            f"{name}={getattr(self, name)!r}, " for name in self.__struct_fields__ if name not in self.secret_fields
        ]
        return f"{type(self).__name__}({''.join(shown)}...)"


Req = TypeVar("Req", bound=CriMessage)
Res = TypeVar("Res", bound=CriMessage)


@dataclass(frozen=True, slots=True)
class Verb(Generic[Req, Res]):
    """One method of one service.

    `streaming`: the answer is a series of `response`, taken with `Cri.stream`.
    """

    service: str
    name: str
    request: type[Req]
    response: type[Res]
    streaming: bool = False

    @property
    def path(self) -> str:
        """The method's name on the wire, `/runtime.v1.RuntimeService/Version`."""
        return f"/{self.service}/{self.name}"

    @property
    def verb(self) -> str:
        """The call as in records."""
        return self.name

    def __str__(self) -> str:
        return self.name
