"""The error of a call to a container runtime: a status code, the runtime's message, and the verb.

The codes are gRPC's, with the same numbers. Two groups matter to callers. `NOT_FOUND` says that the object is gone,
which is success for a removal. `UNAVAILABLE`, `DEADLINE_EXCEEDED` and `CANCELLED` do not say whether the operation was
done: look again before doing it twice.
"""

from __future__ import annotations

from enum import IntEnum


class StatusCode(IntEnum):
    """Status codes of gRPC."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


_GO_NAMES = {StatusCode.OK: "OK", StatusCode.CANCELLED: "Canceled"}
"""Names that are written otherwise than in camel case."""

_OUTCOME_UNKNOWN = frozenset(
    {StatusCode.CANCELLED, StatusCode.UNKNOWN, StatusCode.DEADLINE_EXCEEDED, StatusCode.UNAVAILABLE}
)


class CriError(Exception):
    """A verb failed. `code` and `message` come from the runtime, or from the client when no answer came."""

    def __init__(self, code: StatusCode, message: str, verb: str) -> None:
        super().__init__(code, message, verb)
        self.code = code
        self.message = message
        self.verb = verb

    def __str__(self) -> str:
        return f"{self.verb}: {self.message or 'no reason given'} ({self.code.name})"

    @property
    def in_go(self) -> str:
        """The error text as programs in Go write it, kubelets among them."""
        name = _GO_NAMES.get(self.code) or self.code.name.title().replace("_", "")
        return f"rpc error: code = {name} desc = {self.message}"

    @property
    def not_found(self) -> bool:
        """The named object does not exist."""
        return self.code == StatusCode.NOT_FOUND

    @property
    def outcome_unknown(self) -> bool:
        """The operation may have been done all the same."""
        return self.code in _OUTCOME_UNKNOWN
