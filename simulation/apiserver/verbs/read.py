"""GET of one object, or of a part of it that is the object itself (`status`, `resize`, ...)."""

from __future__ import annotations

from simulation.apiserver.requests import Call, ObjectAnswer
from simulation.apiserver.status import bad_request, too_large_version
from simulation.apiserver.verbs.context import Context


def read(context: Context, call: Call) -> ObjectAnswer:
    """Raises StatusError."""
    asked = version_number(call.query.get("resourceVersion", ""))
    if asked is not None and asked > context.core.store.revision:
        raise too_large_version(asked, context.core.store.revision)
    return context.answer(call, context.find(call))


def version_number(text: str) -> int | None:
    """A resourceVersion of a query; None for any. Raises StatusError (400)."""
    if text in ("", "0"):
        return None
    if not text.isdecimal():
        raise bad_request(f'Invalid value: "{text}": resourceVersion is no number')
    return int(text)
