"""A tracer for tests of actors: it keeps its spans in memory."""

from __future__ import annotations

from runtime.traces.spans import Attributes, SpanKind, TraceContext


class KeptSpan:
    """`ended` is None while it lasts, then the text of its failure, or empty."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.context = TraceContext(number, number, True)
        self.ended: str | None = None

    def put(self, name: str, value: str | int) -> None: ...

    def end(self) -> None:
        self.ended = ""

    def fail(self, text: str = "") -> None:
        self.ended = text


class KeptSpans:
    """A `Tracer`."""

    def __init__(self) -> None:
        self.spans: list[KeptSpan] = []

    def begin(
        self,
        name: str,
        attributes: Attributes,
        *,
        parent: TraceContext | None = None,
        kind: SpanKind = SpanKind.OWN,
        link: TraceContext | None = None,
    ) -> KeptSpan:
        self.spans.append(KeptSpan(name, len(self.spans) + 1))
        return self.spans[-1]
