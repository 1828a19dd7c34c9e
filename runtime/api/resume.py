"""The next call after the end of a list or a watch: its resourceVersion, and the wait before it. Pure.

Owns the rules for following a collection. They are those of client-go's reflector, with its gaps closed:

- First comes a list at "0" (the state of the server's cache), then a watch from the list's version.
- A watch that ended goes on from the last resourceVersion seen, bookmarks included. So nothing is read twice when a
  connection broke, a server restarted or asked to wait (no answer, 429, 5xx).
- 410 means that the server has forgotten the changes since: list again, not older than the known version. The server
  may refuse even that: 410 again, or 504 after it was restored from a backup. Then list at "", the newest state.
- Any other refusal of a watch (403, 404, an unreadable answer) is followed by a list, whose own error is reported.

There is no wait after success. Otherwise it is 0.8 s, doubling, with as much again at random, up to 30 s, and never
less than the server asked for. Only a watch with an event, or one that lasted a second, resets the wait. Otherwise a
list that works and a watch that fails would alternate without a pause.

The first list has a few seconds to be answered, and twice as long after each failure (`list_limit_ns`). So a request
that was lost costs little, and a slow server gets its time.

The caller keeps a `WatchPlace`, reports each end, and does the `WatchStep`. Objects, timers and connections are its
own.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

import msgspec

from runtime.api.errors import ApiError

SECOND_NS = 1_000_000_000
FIRST_WAIT_NS = 800_000_000
LONGEST_WAIT_NS = 30 * SECOND_NS
FIRST_LIST_NS = 2 * SECOND_NS
LONGEST_LIST_NS = 60 * SECOND_NS
PROVEN_NS = SECOND_NS
"""A watch that ends sooner without an event counts as failed."""
WATCH_SECONDS = 300
"""A watch asks for once to twice this time, so that the watches of many nodes do not end at once."""

ANY_VERSION = "0"
NEWEST_VERSION = ""


class WatchPlace(msgspec.Struct, frozen=True):
    """How far a collection has been followed.

    `resource_version`: the version up to which everything is known (`synced`), or the one for the first list.
    `failures`: the number of failures in a row. `fresh`: the current watch follows a list and has had no success yet.
    """

    resource_version: str = ANY_VERSION
    synced: bool = False
    fresh: bool = False
    failures: int = 0


class ListSucceeded(msgspec.Struct, frozen=True):
    """A list succeeded; its version is `resource_version`."""

    resource_version: str


class ListFailed(msgspec.Struct, frozen=True):
    """A list failed."""

    error: ApiError


class WatchEnded(msgspec.Struct, frozen=True):
    """A watch ended: in order (`error` None) or not.

    `resource_version` is that of its last event or bookmark, or "" without one. `lasted_ns` counts from its beginning.
    """

    error: ApiError | None
    resource_version: str = ""
    lasted_ns: int = 0


Outcome = ListSucceeded | ListFailed | WatchEnded


class WatchAction(enum.Enum):
    LIST = "list"
    WATCH = "watch"


class WatchStep(msgspec.Struct, frozen=True):
    """Do `action` from `resource_version` after `after_ns`."""

    action: WatchAction
    resource_version: str
    after_ns: int = 0


def first_step(place: WatchPlace) -> WatchStep:
    """The first step, from the start or from a saved place."""
    return WatchStep(WatchAction.WATCH if place.synced else WatchAction.LIST, place.resource_version)


def next_step(place: WatchPlace, outcome: Outcome, chance: Callable[[], float]) -> tuple[WatchPlace, WatchStep]:
    """(the new place, the next step). `chance` gives numbers in [0, 1), such as `Random.random`."""
    if isinstance(outcome, ListSucceeded):
        listed = WatchPlace(outcome.resource_version, synced=True, fresh=True, failures=place.failures)
        return listed, first_step(listed)
    if isinstance(outcome, ListFailed):
        version = NEWEST_VERSION if _version_refused(outcome.error) else place.resource_version
        failed = WatchPlace(version, failures=place.failures + 1)
        return failed, _later(failed, outcome.error, chance)
    return _after_watch(place, outcome, chance)


def watch_seconds(chance: Callable[[], float], least_seconds: int = WATCH_SECONDS) -> int:
    """The `timeoutSeconds` of a watch: between `least_seconds` and twice that."""
    return least_seconds + int(least_seconds * chance())


def list_limit_ns(place: WatchPlace) -> int:
    """How long to wait for the answer to a list, or to one page of it."""
    return min(FIRST_LIST_NS << min(place.failures, 16), LONGEST_LIST_NS)


def wait_ns(failures: int, chance: Callable[[], float]) -> int:
    """The wait after that many failures in a row: 0.8 to 1.6 s after the first, 15 to 30 s in the end."""
    base_ns = min(FIRST_WAIT_NS << min(max(failures, 1) - 1, 16), LONGEST_WAIT_NS // 2)
    return base_ns + int(base_ns * chance())


def _after_watch(place: WatchPlace, ended: WatchEnded, chance: Callable[[], float]) -> tuple[WatchPlace, WatchStep]:
    error = ended.error
    proven = bool(ended.resource_version) or ended.lasted_ns >= PROVEN_NS
    version = ended.resource_version or place.resource_version
    if error is None and proven:
        after = WatchPlace(version, synced=True)
        return after, first_step(after)
    again = place.failures + 1 if not proven else 1
    if error is not None and error.expired and not (place.fresh and not proven):
        # The usual end of a long absence: the list does not wait, whatever the waits before it were.
        expired = WatchPlace(version, failures=again - 1)
        return expired, first_step(expired)
    synced = error is None or error.code == 429 or error.outcome_unknown
    failed = WatchPlace(version, synced=synced, fresh=place.fresh and not proven, failures=again)
    return failed, _later(failed, error, chance)


def _later(place: WatchPlace, error: ApiError | None, chance: Callable[[], float]) -> WatchStep:
    step = first_step(place)
    asked_ns = error.retry_after_ns if error is not None else None
    return WatchStep(step.action, step.resource_version, max(wait_ns(place.failures, chance), asked_ns or 0))


def _version_refused(error: ApiError) -> bool:
    """The server no longer has that version (410), or does not have it yet (504)."""
    return error.expired or error.code == 504
