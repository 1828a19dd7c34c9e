"""`EventRecorderActor`: the events of this node (spec 15).

They are kept for a while, logged, and sent to the API server.

Nobody waits for it: events are told, not asked for. When too many come at once, some are dropped and counted. Equal
events are one with a count. The last ones are held in memory (`KeptEvents`), and nothing is on disk. An event is logged
when it is new and then each time its count has doubled, so that an endless repetition is still seen. Good news of pods
is logged only when everything is: each pod has three of them.

With an API server, what `EventCorrelation` lets through waits in an `EventQueue` until one of a few calls is free. Good
news of a pod waits for a moment when nothing is being sent: a pod that starts needs the CPU more. At most one call of a
series is under way, and it carries the newest count. When the API server does not answer, one call in ten seconds tries
it; the events wait meanwhile, within their bound. An event that the API server refuses is given up, and so is one that
it answers with a server error time after time.
"""

from __future__ import annotations

import logging
from collections import Counter
from functools import partial
from typing import Any, ClassVar

from cachetools import TTLCache

from actors.events.kept import KeptEvents
from actors.events.sending import EventCorrelation, EventQueue, Series, creation, event_name, raising
from actors.kernel import Actor, MailboxOverflowed, Message, Pending, handles, outcome_of
from actors.messages.events import PodEventsOver, RecordedEvent, RecordEvent
from actors.messages.pods import ListEvents
from runtime.api import Api, ApiCall, ApiError, as_api_error

SECOND_NS = 1_000_000_000
MAX_CALLS = 8
"""Under way at a time."""
CALL_LIMIT_NS = 30 * SECOND_NS
REST_NS = SECOND_NS // 20
"""How long good news of a pod waits when nothing is being sent."""
PAUSE_NS = 10 * SECOND_NS
MAX_TRIES = 12
TERMINATING_NS = 30 * SECOND_NS
"""A namespace that takes no new objects is not asked again for so long."""
MAX_TERMINATING = 1_000
FORGET_NS = 10 * SECOND_NS
"""How long after their end pods are forgotten, all at once: one pass over all records."""


class EventCallEnded(Message, frozen=True):
    """To itself: the call of this number has ended.

    `created`: it was to create the event. `count`: the count that it sent.
    """

    number: int
    created: bool
    count: int
    error: ApiError | None


class RecorderRestOver(Message, frozen=True):
    """To itself: send what has come."""


class RecorderPauseOver(Message, frozen=True):
    """To itself: the pause is over; try the API server again."""


class ForgetGone(Message, frozen=True):
    """To itself: set the events of removed pods aside, and forget their series."""


class EventRecorderActor(Actor):
    """See the module. `api` None: the node stands alone, and events stay on it."""

    mailbox_capacity: ClassVar[int] = 20_000
    max_effects: ClassVar[int] = MAX_CALLS
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, api: Api | None = None, node_name: str = "") -> None:
        super().__init__()
        self._api = api
        self._node_name = node_name
        self._kept = KeptEvents()
        self._gone: set[str] = set()
        """UIDs of pods that are gone, until the next `ForgetGone`."""
        self._correlation = EventCorrelation()
        self._queue = EventQueue()
        self._calls: dict[int, Series] = {}
        """What is being sent, by the number of its call."""
        self._sent = 0
        self._resting = False
        """A `RecorderRestOver` is on its way."""
        self._pausing = False
        self._probing = False
        """The API server has not answered lately: one call at a time."""
        self._terminating: TTLCache[str, None] = TTLCache(MAX_TERMINATING, TERMINATING_NS, timer=self.now_ns)
        """Namespaces to which nothing new is sent for a while."""
        self._last_stamp_ns = 0
        self._given_up: Counter[str] = Counter()
        self._lost_said = 0

    @handles(RecordEvent)
    def record(self, message: RecordEvent) -> None:
        """Work: constant."""
        wall_ns = self.wall_ns()
        recorded = self._kept.add(message, wall_ns)
        if recorded.count & (recorded.count - 1) == 0:
            level, log = _level(message), self.log
            if log.isEnabledFor(level):
                log.log(level, "%s", sentence(recorded))
        if self._api is not None:
            self._correlate(message, wall_ns)

    @handles(MailboxOverflowed)
    def overflowed(self, message: MailboxOverflowed) -> None:
        """Work: constant."""
        self.log.warning("%d events came too fast and were dropped", message.dropped)

    @handles(ListEvents)
    def list_events(self, _: ListEvents) -> tuple[RecordedEvent, ...]:
        """Work: all events that are kept."""
        return self._kept.all()

    @handles(PodEventsOver)
    def pod_events_over(self, message: PodEventsOver) -> None:
        """Work: constant."""
        if not self._gone:
            self.after(FORGET_NS, ForgetGone())
        self._gone.add(message.uid)

    @handles(ForgetGone)
    def forget_gone(self, _: ForgetGone) -> None:
        """Work: all events and series that are kept."""
        gone, self._gone = self._gone, set()
        self._kept.set_aside(gone)
        self._correlation.forget(gone)

    # --- to the API server ------------------------------------------------------------------------------------------

    def _correlate(self, event: RecordEvent, wall_ns: int) -> None:
        series, to_be_sent = self._correlation.observe(event, self.now_ns(), wall_ns)
        if not to_be_sent:
            return
        if series.sending:
            series.raised = True
            return
        self._queue.offer(series)
        if self._calls or not _is_good_news(event):
            self._pump()
        elif not self._resting:
            self._resting = True
            self.after(REST_NS, RecorderRestOver())

    @handles(RecorderRestOver)
    def rest_over(self, _: RecorderRestOver) -> None:
        """Work: the few calls that may begin."""
        self._resting = False
        self._pump()

    def _may_send(self) -> bool:
        return not self._pausing and len(self._calls) < (1 if self._probing else MAX_CALLS)

    def _pump(self) -> None:
        while self._may_send() and (series := self._queue.take(self.now_ns())) is not None:
            self._send(series)
        self._say_lost()

    def _send(self, series: Series) -> None:
        api = self._api
        assert api is not None, "nothing is queued without an API server"
        if self._terminating and not series.known and series.event.namespace in self._terminating:
            return
        if not series.name:
            stamp_ns = self.wall_ns()
            if stamp_ns <= self._last_stamp_ns:  # no two of this node are the same, whatever the clock does
                stamp_ns = self._last_stamp_ns + 1
            self._last_stamp_ns = stamp_ns
            series.name = event_name(series.event.name, stamp_ns, self.new_uid)
        created = not series.known
        call = creation(series, self._node_name) if created else raising(series)
        series.sending, series.raised = True, False
        self._sent += 1
        self._calls[self._sent] = series
        ended = partial(_ended, self._sent, created, series.count, call)
        self.begin(partial(api.call, call, timeout_ns=CALL_LIMIT_NS), ended)

    @handles(EventCallEnded)
    def call_ended(self, message: EventCallEnded) -> None:
        """Work: the few calls that may begin."""
        series = self._calls.pop(message.number)
        series.sending = False
        error = message.error
        if error is None:
            self._probing = False
            series.tries, series.known = 0, True
            if series.raised:
                self._queue.offer(series)
        elif error.outcome_unknown or error.code == 429:
            self._unanswered(series, error)
        else:
            self._probing = False
            self._refused(series, message, error)
        if self._queue.waiting:
            self._pump()

    def _refused(self, series: Series, message: EventCallEnded, error: ApiError) -> None:
        series.tries = 0
        if message.created and error.already_exists:
            # An earlier try has arrived after all, with what was known then.
            series.known = True
            series.raised = series.raised or message.count > 1
        elif error.not_found and not message.created:
            # An API server forgets events; this one goes on as a new one of the same name.
            series.known = False
            series.raised = True
        else:
            self._give_up(series, error)
        if series.raised:
            self._queue.offer(series)

    def _unanswered(self, series: Series, error: ApiError) -> None:
        """Wait, and then try with one call. The series goes to the end, so that it cannot stop the others."""
        if error.code:
            series.tries += 1
        if series.tries >= MAX_TRIES:
            series.tries = 0
            self._give_up(series, error)
        else:
            self._queue.offer(series)
        if self._pausing:
            return  # another call that failed has begun the pause
        pause_ns = PAUSE_NS
        if not self._probing:
            self.log.warning("events cannot be sent now: %s", error)
            pause_ns = int(PAUSE_NS * self.chance.random())
        self._probing = self._pausing = True
        self.after(max(pause_ns, error.retry_after_ns or 0), RecorderPauseOver())

    @handles(RecorderPauseOver)
    def pause_over(self, _: RecorderPauseOver) -> None:
        """Work: the few calls that may begin."""
        self._pausing = False
        self._pump()

    def _give_up(self, series: Series, error: ApiError) -> None:
        """Log the first of its cause, and again each time their number has doubled."""
        if error.forbidden and "being terminated" in error.message:
            self._terminating[series.event.namespace] = None
            return
        cause = f"{error.code} {error.reason}"
        self._given_up[cause] += 1
        times = self._given_up[cause]
        if times & (times - 1) == 0:
            self.log.warning("an event %s is given up (%s so far: %d): %s", series.name, cause, times, error)

    def _say_lost(self) -> None:
        lost = self._queue.lost
        if lost and lost >= 2 * self._lost_said:
            self._lost_said = lost
            self.log.warning("%d events were not sent, for too many waited or they were too old", lost)


def _is_good_news(event: RecordEvent) -> bool:
    return event.kind == "Pod" and event.type == "Normal"


def _level(event: RecordEvent) -> int:
    if _is_good_news(event):
        return logging.DEBUG
    return logging.WARNING if event.type == "Warning" else logging.INFO


def sentence(recorded: RecordedEvent) -> str:
    """An event as a line for people."""
    event = recorded.event
    about = f"{event.kind} {event.namespace}/{event.name}" if event.namespace else f"{event.kind} {event.name}"
    place = f" {event.field_path}" if event.field_path else ""
    times = f" (x{recorded.count})" if recorded.count > 1 else ""
    return f"{about}{place}: {event.reason}: {event.message}{times}"


def _ended(number: int, created: bool, count: int, call: ApiCall[Any], done: Pending[Any]) -> EventCallEnded:
    return EventCallEnded(number, created, count, as_api_error(outcome_of(done).error, call.verb))
