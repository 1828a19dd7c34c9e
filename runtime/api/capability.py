"""The API server as actors see it: make one call, or follow a watch.

Two implementations: `runtime.api.client` over HTTP, and the simulated API server of the fourth floor. Neither blocks
the caller; a failure is always an `ApiError` in the answer, never an exception out of `call` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from runtime.api.calls import ApiCall, K, R, WatchCall, WatchEvent
from runtime.api.errors import ApiError
from runtime.io.pending import PendingAnswer, Subscription


class Api(Protocol):
    """An API server."""

    def call(self, call: ApiCall[R], *, timeout_ns: int | None = None) -> PendingAnswer[R]:
        """Make one call. `timeout_ns` None takes the default of the client.

        Calls wait for the client's rate limit, and pods take turns; the time limit counts from when a call leaves.
        Cancelling the answer cancels the call. Fails with `ApiError` only, also where the answer cannot be understood
        (reason `NotUnderstood`).
        """

    def watch(
        self,
        call: WatchCall[K],
        on_event: Callable[[WatchEvent[K]], None],
        on_end: Callable[[ApiError | None], None],
    ) -> Subscription:
        """Follow one watch.

        `on_event` and `on_end` run on a thread of the implementation, one at a time: hand over and return. `on_end`
        comes exactly once, last. It gets None when the server ended the watch in order or `close` was called, else the
        error. An ERROR event of the stream, 410 among them, is an error.
        """


class BootstrapApi(Protocol):
    """The API of a node that has no valid certificate of its own.

    It is good for requesting one.
    """

    def api(self) -> Api:
        """An `Api` with the current bootstrap credentials. An earlier one is closed.

        Touches the disk and may wait. Raises OSError, and ValueError without usable credentials.
        """


@dataclass(frozen=True, slots=True)
class ApiLines:
    """The clients of one node for one API server.

    Each has a rate limit of its own, so a burst on one delays no other.

    `leases` has no limit: a node must not be taken for dead because it is busy.
    """

    main: Api
    leases: Api
    events: Api
    reviews: Api | None = field(default=None, kw_only=True)
    """The line for reviews that strangers cause: token reviews and access reviews. None: `main`."""
    references: Api | None = field(default=None, kw_only=True)
    """The line for objects that new pods refer to. Their first calls may be refused. None: `main`."""
    server: str = field(default="in-process", kw_only=True)
    """The server's host and port, for people."""
