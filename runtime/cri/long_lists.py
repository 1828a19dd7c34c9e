"""Lists of the runtime that come in parts (KEP-5825, feature gate CRIListStreaming).

One message holds at most 16 MiB. A node with some 11,000 containers has a longer list than that. The verb that streams
it takes the same filter and sends the items in parts. A list is whole or it fails: nobody sees some of its parts.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Generic, Protocol

from runtime.cri import verbs
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.verbs import Req, Res, Verb
from runtime.io.pending import CancellingAnswer, PendingAnswer, Subscription, settle

LOG = logging.getLogger(__name__)

IN_PARTS: Mapping[str, Verb[Any, Any]] = {
    verbs.LIST_POD_SANDBOX.name: verbs.STREAM_POD_SANDBOXES,
    verbs.LIST_CONTAINERS.name: verbs.STREAM_CONTAINERS,
    verbs.LIST_CONTAINER_STATS.name: verbs.STREAM_CONTAINER_STATS,
    verbs.LIST_POD_SANDBOX_STATS.name: verbs.STREAM_POD_SANDBOX_STATS,
    verbs.LIST_POD_SANDBOX_METRICS.name: verbs.STREAM_POD_SANDBOX_METRICS,
    verbs.LIST_IMAGES.name: verbs.STREAM_IMAGES,
}
"""The verb that sends the list of another in parts, by the name of that other verb."""


class Follow(Protocol):
    """How a stream with a deadline begins."""

    def __call__(
        self,
        verb: Verb[Any, Any],
        request: Any,
        on_item: Callable[[Any], None],
        on_end: Callable[[CriError | None], None],
    ) -> Subscription:
        """Follow the verb, as `Cri.stream` does."""


class LongLists:
    """Asks for lists in parts, of each service until it says that it cannot do it.

    An older runtime answers UNIMPLEMENTED. From then on its lists are asked for as one message, as a kubelet does it.
    """

    def __init__(self) -> None:
        self._as_one: set[str] = set()

    def takes(self, verb: Verb[Any, Any]) -> bool:
        """True when the list of `verb` is to be asked for in parts."""
        return verb.name in IN_PARTS and verb.service not in self._as_one

    def ask(
        self, verb: Verb[Req, Res], request: Req, follow: Follow, as_one: Callable[[], PendingAnswer[Res]]
    ) -> PendingAnswer[Res]:
        """The whole list, as `verb` answers it.

        `as_one` asks for it as one message. It is called when the runtime knows no parts.
        """
        parts = IN_PARTS[verb.name]
        gathered = _Gathered(verb, parts)

        def end(failure: CriError | None) -> None:
            if failure is not None and failure.code == StatusCode.UNIMPLEMENTED:
                self._as_one.add(verb.service)
                gathered.wait_for(as_one())
            else:
                gathered.end(failure)

        gathered.begin(follow(parts, parts.request(**_fields(request)), gathered.add, end))
        return gathered.answer


class _Gathered(Generic[Res]):
    """A list of which some parts are here."""

    def __init__(self, verb: Verb[Any, Res], parts: Verb[Any, Any]) -> None:
        self.answer: CancellingAnswer[Res] = CancellingAnswer()
        self._verb = verb
        self._parts = parts.name
        (self._part_field,) = parts.response.__struct_fields__
        (self._field,) = verb.response.__struct_fields__
        self._items: list[Any] = []

    def begin(self, stream: Subscription) -> None:
        """From now on who gives up the list ends `stream`."""

        def done(answer: Future[Res]) -> None:
            if answer.cancelled():
                stream.close()

        self.answer.add_done_callback(done)

    def add(self, part: Any) -> None:
        """One more part."""
        self._items.extend(getattr(part, self._part_field))

    def end(self, failure: CriError | None) -> None:
        """Nothing more comes."""
        if failure is not None:
            if failure.code != StatusCode.CANCELLED:  # the agent ends, and its channel is closed
                # The words are a kubelet's: people search logs for them.
                LOG.error("%s recv failed: %s (%s)", self._parts, failure.message, failure.code.name)
            settle(self.answer, error=CriError(failure.code, failure.message, self._verb.name))
        else:
            settle(self.answer, result=self._verb.response(**{self._field: tuple(self._items)}))

    def wait_for(self, call: PendingAnswer[Res]) -> None:
        """The list comes from `call`."""
        self.answer.follow(call)
        call.add_done_callback(self._take)

    def _take(self, call: PendingAnswer[Res]) -> None:
        self.answer.let_go()
        failure = call.exception(0)
        if failure is not None:
            settle(self.answer, error=failure)
        else:
            settle(self.answer, result=call.result(0))


def _fields(request: Any) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.__struct_fields__}
