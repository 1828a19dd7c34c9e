"""The metrics of actorlet itself: its actors, their mailboxes, its lanes.

By class of actor, never by actor.
"""

from __future__ import annotations

from runtime.metrics.families import counter, gauge, in_module

ACTORS = gauge("actorlet_actors", "Actors by class and state.", "actor_class", "state")
MAILBOX_DEPTH = gauge("actorlet_mailbox_messages", "Messages that wait, in all mailboxes of a class.", "actor_class")
MAILBOX_DEEPEST = gauge(
    "actorlet_mailbox_deepest_messages", "Messages in the fullest mailbox of a class.", "actor_class"
)
MAILBOX_AGE = gauge(
    "actorlet_mailbox_oldest_message_seconds", "Age of the message that waits longest, by class.", "actor_class"
)
MAILBOX_DROPPED = counter(
    "actorlet_mailbox_dropped_total", "Messages that found a mailbox full, of actors that live.", "actor_class"
)
HANDLED = counter("actorlet_messages_handled_total", "Messages handled, by class of actor.", "actor_class")
HANDLING = counter(
    "actorlet_handler_seconds_total", "Time that handlers have held a thread, by class of actor.", "actor_class"
)
SLOWEST = gauge(
    "actorlet_handler_slowest_seconds", "The longest that a handler has held a thread, by class.", "actor_class"
)
RESTARTS = counter("actorlet_actor_restarts_total", "Restarts after failures, by class of actor.", "actor_class")
WAITING = gauge("actorlet_handlers_waiting", "Handlers that wait for something, by class of actor.", "actor_class")
EFFECTS = gauge("actorlet_effects", "Effects that run or wait their turn, by class of actor.", "actor_class")
LATE = gauge("actorlet_actors_late", "Actors that health names.")
STUCK = gauge("actorlet_handlers_stuck", "Handlers that hold a thread and do not come back.")
DEAD_LETTERS = counter(
    "actorlet_dead_letters_total", "Messages that reached nobody, by reason and type.", "reason", "message"
)
LANE_RUNNING = gauge("actorlet_lane_running_calls", "Calls that run on a lane.", "lane")
LANE_WAITING = gauge("actorlet_lane_waiting_calls", "Calls that wait for a lane.", "lane")
LANE_THREADS = gauge("actorlet_lane_threads", "Threads of a lane, lost ones included.", "lane")
LANE_HANGING = gauge(
    "actorlet_lane_hanging_calls",
    "Calls that are written off, or run for over 30 s while others wait.",
    "lane",
)
LANE_KEYS_WAITING = gauge("actorlet_lane_waiting_keys", "Pods or things with calls that wait for a lane.", "lane")
LANE_WRITTEN_OFF = gauge("actorlet_lane_written_off_calls", "Calls that hang past their deadline on a lane.", "lane")
REFUSED = counter(
    "actorlet_metrics_refused_total", "Measurements not kept, as their family has too many series.", "family"
)
STATS_PROBLEMS = gauge("actorlet_stats_problems", "What could not be had for the last sample of usage.")
OOM_KILLS = counter(
    "actorlet_oom_kills_total",
    "Processes that the kernel killed because memory ran out, by whose limit was reached.",
    "scope",
)
STATUSES_REFUSED = counter(
    "actorlet_pod_statuses_refused_total", "Statuses of pods that the API server has refused, by its code.", "code"
)
ISLAND_PODS = gauge(
    "actorlet_island_pods", "Pods that are desired from memory, as the API server has not answered since the start."
)
SPANS_SENT = counter("actorlet_trace_spans_sent_total", "Spans that the collector of `tracing` has taken.")
SPANS_DROPPED = counter("actorlet_trace_spans_dropped_total", "Spans that the collector of `tracing` has not taken.")
BUILD_INFO = gauge("actorlet_build_info", "Always 1; the version is in the label.", "version")

FAMILIES = in_module(globals())
