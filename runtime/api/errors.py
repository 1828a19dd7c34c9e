"""How a call to the API server fails: the request, the HTTP code, the reason and the message.

Reason and message come from the Status in the answer.

`code` 0 means that no answer came (`reason` is then `Unreachable` or `Timeout`). Three groups matter to callers. Not
found, conflict and already-exists are answers. 410 (`expired`) says that a resourceVersion is too old: list again. A
call without a clear answer (`outcome_unknown`) may have been done: look before doing it twice.
"""

from __future__ import annotations

UNREACHABLE = "Unreachable"
TIMEOUT = "Timeout"


class ApiError(Exception):
    """A call failed. `retry_after_ns`: how long the server asks to wait, None when it does not say."""

    def __init__(self, code: int, reason: str, message: str, verb: str, retry_after_ns: int | None = None) -> None:
        super().__init__(code, reason, message, verb, retry_after_ns)
        self.code = code
        self.reason = reason
        self.message = message
        self.verb = verb
        self.retry_after_ns = retry_after_ns

    def __str__(self) -> str:
        code = f"{self.code} {self.reason}" if self.code else self.reason
        return f"{self.verb}: {self.message or 'no reason given'} ({code})"

    @property
    def not_found(self) -> bool:
        """The object that was named does not exist."""
        return self.code == 404

    @property
    def already_exists(self) -> bool:
        """An object of this name exists already."""
        return self.code == 409 and self.reason == "AlreadyExists"

    @property
    def conflict(self) -> bool:
        """A precondition (resourceVersion, UID) does not hold."""
        return self.code == 409 and self.reason != "AlreadyExists"

    @property
    def forbidden(self) -> bool:
        """Whether the server forbids the call to this node."""
        return self.code == 403

    @property
    def expired(self) -> bool:
        """The resourceVersion asked for is too old (or the continue token is): list again."""
        return self.code == 410

    @property
    def outcome_unknown(self) -> bool:
        """The operation may have been done all the same."""
        return self.code == 0 or self.code >= 500


def as_api_error(failure: BaseException | None, verb: str) -> ApiError | None:
    """The failure of a call as an `ApiError`.

    After a failure of another type it is unknown whether the server has acted.
    """
    if failure is None or isinstance(failure, ApiError):
        return failure
    return ApiError(0, "Unknown", f"{type(failure).__name__}: {failure}", verb)
