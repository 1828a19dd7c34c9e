"""The container runtime as actors see it: call a verb, or follow a stream.

Two implementations: `runtime.cri.client` over gRPC, and the simulated runtime of the fourth floor. Neither blocks the
caller; a failure is always a `CriError` in the answer, never an exception out of `call` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.cri.errors import CriError
from runtime.cri.verbs import Req, Res, Verb
from runtime.io.pending import PendingAnswer, Subscription


class Cri(Protocol):
    """A container runtime."""

    def call(self, verb: Verb[Req, Res], request: Req, *, timeout_ns: int | None = None) -> PendingAnswer[Res]:
        """Ask for one verb that is not streaming.

        `timeout_ns` None takes the default of the verb. Fails with `CriError`; after `DEADLINE_EXCEEDED` or
        `UNAVAILABLE` the operation may still have been done. Cancelling the answer cancels the call.
        """

    def stream(
        self,
        verb: Verb[Req, Res],
        request: Req,
        on_item: Callable[[Res], None],
        on_end: Callable[[CriError | None], None],
    ) -> Subscription:
        """Follow one verb that is streaming.

        `on_item` and `on_end` run on a thread of the implementation, one at a time: hand over and return. `on_end`
        comes exactly once, last: None when the runtime ended the stream in order or `close` was called, the
        error otherwise.
        """
