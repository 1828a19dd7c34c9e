"""The kernel's exceptions.

`Interrupted` is a `BaseException` on purpose: a handler's `except Exception` must not swallow the order to stop.
"""

from __future__ import annotations

from typing import Any


class KernelError(Exception):
    """Base of the kernel's own errors."""


class BlockingInHandlerError(KernelError):
    """A handler tried to block its thread on a future. It must `await self.wait(...)` instead."""


class DeadlineExceededError(KernelError, TimeoutError):
    """An awaited effect did not end in time. The text names the effect and its limit in ns."""

    def __init__(self, what: str, after_ns: int) -> None:
        super().__init__(f"{what} did not end within {after_ns / 1e9:.3f} s")
        self.what = what
        self.after_ns = after_ns


class LaneExhaustedError(KernelError):
    """The lane has written off too many calls that hang, and takes no more."""


class MailboxFullError(KernelError):
    """An `ask` met a full mailbox. A `tell` never gets this error: its message becomes a dead letter."""


class NoAnswerError(KernelError):
    """The actor was interrupted, stopped, or failed with a `BaseException` before it answered.

    This is an ordinary exception on purpose: the end of one actor must not end the asker. `__cause__` has the original.
    """


class NameTakenError(KernelError):
    """A parent already has a living child of that name."""


class UnhandledMessageError(KernelError):
    """An `ask` sent a message that the actor has no handler for."""


class Interrupted(BaseException):
    """Thrown into a waiting handler when an interrupting message or a stop arrives.

    `cause` is the interrupting message, or None for a stop. A handler may clean up in `finally`; it should not go on.
    """

    def __init__(self, cause: Any = None) -> None:
        super().__init__("stop" if cause is None else type(cause).__name__)
        self.cause = cause


def text_of(failure: BaseException) -> str:
    """Type and text of a failure in one line. The `__str__` of a foreign exception may itself raise."""
    try:
        return f"{type(failure).__name__}: {failure}"
    except Exception:
        return type(failure).__name__
