"""`Rounds`: the spans of work that an actor does again and again, one round at a time."""

from __future__ import annotations

from runtime.traces.spans import Span, TraceContext, Tracer


class Rounds:
    """Each round is one span with that name. `tracer` None: nothing is traced."""

    def __init__(self, name: str, tracer: Tracer | None) -> None:
        self._name = name
        self._tracer = tracer
        self._span: Span | None = None

    @property
    def context(self) -> TraceContext | None:
        """The span of the round under way; None if there is none."""
        return None if self._span is None else self._span.context

    def begin(self) -> None:
        """Begin a round. An earlier one that has not ended counts as failed."""
        if self._tracer is not None:
            self.end("it was given up")
            self._span = self._tracer.begin(self._name, {})

    def end(self, error: str = "") -> None:
        """End the round under way, as failed with an `error`. Without a round nothing happens."""
        span, self._span = self._span, None
        if span is None:
            return
        if error:
            span.fail(error)
        else:
            span.end()
