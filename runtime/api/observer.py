"""`ApiObserver`: hears what the lines to an API server do, for metrics.

It must not wait or fail, on any thread.
"""

from __future__ import annotations

from typing import Protocol


class ApiObserver(Protocol):
    def exchanged(self, method: str, sent_bytes: int, received_bytes: int) -> None:
        """A request was answered; the sizes are those of the bodies."""

    def repeated(self, method: str, code: int) -> None:
        """A call that was answered with `code` is sent again; 0: it had no answer."""

    def waited(self, method: str, ns: int) -> None:
        """A call passed the limit of the rate after this time."""

    def plugin_ran(self, status: str, code: int) -> None:
        """A credential plugin ended; `status` in upstream's words, `code` 0 for a credential."""


class Unobserved:
    """An `ApiObserver` that ignores everything."""

    def exchanged(self, method: str, sent_bytes: int, received_bytes: int) -> None:
        return

    def repeated(self, method: str, code: int) -> None:
        return

    def waited(self, method: str, ns: int) -> None:
        return

    def plugin_ran(self, status: str, code: int) -> None:
        return


UNOBSERVED = Unobserved()
NO_ERROR = "no_error"
EXECUTION_ERROR = "plugin_execution_error"
NOT_FOUND_ERROR = "plugin_not_found_error"
"""How a run of a credential plugin ended, in upstream's words."""
