"""A container runtime of a few lines for the tests of client and server: says what it is told to say."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from runtime.cri import CriError, StatusCode, Verb
from runtime.cri.messages import CriMessage, RuntimeCondition, RuntimeStatus, StatusResponse, VersionResponse
from runtime.cri.verbs import STATUS, VERSION
from runtime.io.pending import PendingAnswer

READY = (
    RuntimeCondition(type="RuntimeReady", status=True),
    RuntimeCondition(type="NetworkReady", status=True),
)


class TinyCri:
    """Answers `answers[verb.name]`: a message, a `CriError`, or a function of the request.

    NEVER never answers.

    `asked` holds what came in with its time limit, `left` the answers that nobody gave yet.
    """

    NEVER = object()

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = {
            VERSION.name: VersionResponse(
                version="0.1.0", runtime_name="tiny", runtime_version="1", runtime_api_version="v1"
            ),
            STATUS.name: StatusResponse(status=RuntimeStatus(conditions=READY)),
            **answers,
        }
        self.asked: list[tuple[str, CriMessage, int | None]] = []
        self.left: list[Future[Any]] = []
        self.streams: list[TinyStream] = []

    def call(self, verb: Verb[Any, Any], request: Any, *, timeout_ns: int | None = None) -> PendingAnswer[Any]:
        self.asked.append((verb.name, request, timeout_ns))
        answer: Future[Any] = Future()
        given = self.answers.get(verb.name, CriError(StatusCode.UNIMPLEMENTED, "tiny has no such verb", verb.name))
        if callable(given):
            given = given(request)
        if given is self.NEVER:
            self.left.append(answer)
        elif isinstance(given, BaseException):
            answer.set_exception(given)
        else:
            answer.set_result(given)
        return answer

    def stream(
        self,
        verb: Verb[Any, Any],
        request: Any,
        on_item: Callable[[Any], None],
        on_end: Callable[[CriError | None], None],
    ) -> TinyStream:
        following = TinyStream(on_item, on_end)
        self.streams.append(following)
        for item in self.answers.get(verb.name, ()):
            if isinstance(item, CriError):
                on_end(item)
            elif item is not self.NEVER:
                on_item(item)
            else:
                break
        else:
            on_end(None)
        return following


class TinyStream:
    """What was asked to be followed; `closed` is done once the other side has left."""

    def __init__(self, on_item: Callable[[Any], None], on_end: Callable[[CriError | None], None]) -> None:
        self.on_item, self.on_end = on_item, on_end
        self.closed: Future[None] = Future()

    def close(self) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
