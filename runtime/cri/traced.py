"""Spans of calls to the runtime.

Names and attributes are those of otelgrpc, by which a kubelet traces them. A request and its answer are no part of a
span: they have environments, credentials, and output of commands.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

from runtime.cri.errors import CriError, StatusCode
from runtime.cri.verbs import EXEC_SYNC, PULL_IMAGE, Verb
from runtime.io.pending import PendingAnswer
from runtime.traces.spans import Span, SpanKind, Tracer, current

_UNTOLD = frozenset({EXEC_SYNC.name, PULL_IMAGE.name})
"""The text of their errors may quote the command, its output, or what a registry was asked with."""


def begin_call(tracer: Tracer, verb: Verb[Any, Any]) -> Span:
    """The span of a call that begins now, below the caller's."""
    name = verb.path.removeprefix("/")
    attributes = {"rpc.system.name": "grpc", "rpc.method": name}
    return tracer.begin(name, attributes, parent=current(), kind=SpanKind.CALL)


def answered(span: Span, verb: Verb[Any, Any], done: PendingAnswer[Any]) -> None:
    """The call has ended."""
    try:
        failure = done.exception(0)
    except CancelledError:
        failure = CriError(StatusCode.CANCELLED, "the caller waits no longer", verb.name)
    ended(span, verb, failure)


def ended(span: Span, verb: Verb[Any, Any], failure: BaseException | None) -> None:
    """The call has ended like that."""
    if failure is None:
        span.put("rpc.response.status_code", "OK")
        span.end()
        return
    code = failure.code if isinstance(failure, CriError) else StatusCode.UNKNOWN
    text = failure.message if isinstance(failure, CriError) and verb.name not in _UNTOLD else ""
    span.put("rpc.response.status_code", code.name)
    span.fail(text)
