"""`Follower`: an actor that follows sets of objects of the API: lists them once, then watches what changes.

The rules are those every client of Kubernetes lives by. A list gives the set as of a resourceVersion, a watch goes on
from there, and bookmarks bring the version forward where nothing happens. A watch that ends goes on from the last
version seen; where the server has forgotten that one (410) the set is listed again, so no change is ever missed: it is
either told, or seen in the next list. What fails is tried again after a growing, jittered while, for ever.

What is told is level-triggered for whoever follows: `listed` with the whole set, then `changed` one by one. Nothing
that belongs to an earlier attempt is told: every message carries the attempt it came from.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from actors.kernel import Actor, MailboxOverflowed, Message, Pending, handles, outcome_of
from config.api_resources import Resource
from runtime.api import Api, ApiError, ObjectList, WatchEvent, list_objects, watch_objects
from runtime.pending import Subscription

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
FIRST_DELAY_NS = 800 * MILLISECOND_NS
MAX_DELAY_NS = 30 * SECOND_NS
JITTER = 0.5
"""A failed attempt is repeated after this, doubling each time, plus up to half of it."""
PAGE = 500
"""Objects in one answer of a list that does not come from the server's cache."""
WATCH_SECONDS = (300, 600)
"""A watch is begun anew after a random time between these, so that connections spread over the servers."""
LIST_LIMIT_NS = 60 * SECOND_NS
SHORT_WATCH_NS = SECOND_NS
"""A watch that ends earlier than this without having said anything counts as a failure."""


def retry_delay_ns(failures: int, draw: float) -> int:
    """Pause after that many failures in a row (1, 2, ...); `draw` in [0, 1) spreads those who failed together."""
    base_ns = min(MAX_DELAY_NS, FIRST_DELAY_NS << min(failures - 1, 10))
    return int(base_ns * (1 + JITTER * draw))


class Attempt:
    """One list and the watch after it. Its messages count while it is the newest of its key."""

    __slots__ = ("began_ns", "heard", "key", "subscription")

    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.subscription: Subscription | None = None
        self.began_ns = 0
        self.heard = False

    def close(self) -> None:
        """End its watch."""
        if self.subscription is not None:
            self.subscription.close()
            self.subscription = None


class ObjectsListed(Message, frozen=True):
    """To itself: a page of a list has come, or the list has failed."""

    attempt: Attempt
    page: ObjectList[Any] | None
    error: ApiError | None


class WatchArrived(Message, frozen=True):
    """To itself, from the watch."""

    attempt: Attempt
    event: WatchEvent[Any]


class WatchEnded(Message, frozen=True):
    """To itself, from the watch: it is over."""

    attempt: Attempt
    error: ApiError | None


class FollowAgain(Message, frozen=True):
    """To itself: the pause after a failure is over."""

    attempt: Attempt


class _Followed:
    """One set: what is followed, and how far it has come."""

    __slots__ = (
        "attempt",
        "failures",
        "field_selector",
        "items",
        "label_selector",
        "namespace",
        "resource",
        "said",
        "version",
    )

    def __init__(self, resource: Resource[Any], namespace: str, field_selector: str, label_selector: str) -> None:
        self.resource = resource
        self.namespace = namespace
        self.field_selector = field_selector
        self.label_selector = label_selector
        self.version = ""
        """Where the next watch begins; empty: list first."""
        self.items: list[Any] = []
        self.attempt: Attempt | None = None
        self.failures = 0
        self.said = ""


class Follower(Actor):
    """See the module. A subclass calls `follow` and defines `listed` and `changed`."""

    mailbox_capacity: ClassVar[int] = 50_000

    def __init__(self, api: Api) -> None:
        super().__init__()
        self._api = api
        self._followed: dict[Hashable, _Followed] = {}

    # --- for the subclass -------------------------------------------------------------------------------------------

    def follow(
        self,
        key: Hashable,
        resource: Resource[Any],
        *,
        namespace: str = "",
        field_selector: str = "",
        label_selector: str = "",
    ) -> None:
        """Follow a set under `key`. What was followed under that key before is followed no more."""
        self.unfollow(key)
        followed = self._followed[key] = _Followed(resource, namespace, field_selector, label_selector)
        self._list(key, followed, "0")

    def unfollow(self, key: Hashable) -> None:
        """Nothing of that key is told any more."""
        followed = self._followed.pop(key, None)
        if followed is not None and followed.attempt is not None:
            followed.attempt.close()
            self.cancel_timer(("follow", key))

    def follows(self, key: Hashable) -> bool:
        """Whether `key` is followed."""
        return key in self._followed

    def trouble(self) -> tuple[str, ...]:
        """Why what is followed cannot be followed now; empty when all is well."""
        return tuple(sorted({followed.said for followed in self._followed.values() if followed.said}))

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        """The whole set as it is now."""
        raise AssertionError(f"{type(self).__name__} does not define listed")

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        """One object is there (ADDED), is another one now (MODIFIED), or is there no more (DELETED: its last form)."""
        raise AssertionError(f"{type(self).__name__} does not define changed")

    def failing(self, key: Hashable, error: ApiError) -> None:
        """Each time an attempt has failed. What was told so far may be old."""

    # --- lists ------------------------------------------------------------------------------------------------------

    def _list(self, key: Hashable, followed: _Followed, version: str, continue_: str = "") -> None:
        """Ask for the set; `version` "0" is content with the server's cache, "" with nothing but the newest."""
        if not continue_:
            followed.items = []
            followed.version = ""
            self._begin_attempt(key, followed)
        attempt = followed.attempt
        assert attempt is not None, "every list belongs to an attempt"
        call = list_objects(
            followed.resource,
            followed.namespace,
            field_selector=followed.field_selector,
            label_selector=followed.label_selector,
            resource_version="" if continue_ else version,
            limit=0 if version == "0" else PAGE,
            continue_=continue_,
        )
        self.begin(lambda: self._api.call(call, timeout_ns=LIST_LIMIT_NS), lambda done: _listed(attempt, done))

    def _begin_attempt(self, key: Hashable, followed: _Followed) -> Attempt:
        if followed.attempt is not None:
            followed.attempt.close()
        followed.attempt = Attempt(key)
        return followed.attempt

    @handles(ObjectsListed)
    def objects_listed(self, message: ObjectsListed) -> None:
        followed = self._current(message.attempt)
        if followed is None:
            return
        key, page = message.attempt.key, message.page
        if page is None:
            self._failed(key, followed, message.error)
            return
        followed.items.extend(page.items)
        if page.continue_:
            self._list(key, followed, "", page.continue_)
            return
        items, followed.items = tuple(followed.items), []
        followed.version = page.resource_version
        self._well(key, followed)
        self.listed(key, items)
        if self._followed.get(key) is followed:
            self._watch(key, followed)

    # --- watches ----------------------------------------------------------------------------------------------------

    def _watch(self, key: Hashable, followed: _Followed) -> None:
        attempt = self._begin_attempt(key, followed)
        attempt.began_ns = self.now_ns()
        shortest, longest = WATCH_SECONDS
        call = watch_objects(
            followed.resource,
            followed.namespace,
            resource_version=followed.version,
            field_selector=followed.field_selector,
            label_selector=followed.label_selector,
            timeout_seconds=shortest + int((longest - shortest) * self.chance.random()),
        )
        ref = self.ref
        attempt.subscription = self._api.watch(
            call,
            lambda event: ref.tell(WatchArrived(attempt, event)),
            lambda error: ref.tell(WatchEnded(attempt, error)),
        )

    @handles(WatchArrived)
    def watch_arrived(self, message: WatchArrived) -> None:
        attempt, event = message.attempt, message.event
        followed = self._current(attempt)
        if followed is None:
            attempt.close()  # of an incarnation of this actor that is no more
            return
        if not attempt.heard:
            attempt.heard = True
            self._well(attempt.key, followed)
        if event.resource_version:
            followed.version = event.resource_version
        if event.object is not None:
            self.changed(attempt.key, event.type, event.object)

    @handles(WatchEnded)
    def watch_ended(self, message: WatchEnded) -> None:
        attempt, error = message.attempt, message.error
        followed = self._current(attempt)
        if followed is None:
            return
        attempt.subscription = None
        if error is not None and error.expired:
            self.log.info("%s: the history is gone, listing again", error)
            self._list(attempt.key, followed, "")
        elif error is None and (attempt.heard or self.now_ns() - attempt.began_ns >= SHORT_WATCH_NS):
            self._watch(attempt.key, followed)
        else:
            self._failed(attempt.key, followed, error or ApiError(0, "Ended", "the watch ended at once", "watch"))

    # --- failures ---------------------------------------------------------------------------------------------------

    def _current(self, attempt: Attempt) -> _Followed | None:
        followed = self._followed.get(attempt.key)
        return followed if followed is not None and followed.attempt is attempt else None

    def _well(self, key: Hashable, followed: _Followed) -> None:
        if followed.said:
            self.log.info("%s are followed again", followed.resource.plural)
        followed.failures = 0
        followed.said = ""

    def _failed(self, key: Hashable, followed: _Followed, error: ApiError | None) -> None:
        """Try again after a while: the watch from where it was, or the list where there is no such place."""
        error = error or ApiError(0, "Unknown", "no reason given", "list")
        followed.failures += 1
        if not followed.said:
            self.log.warning("%s cannot be followed now: %s", followed.resource.plural, error)
        followed.said = str(error)
        if error.expired or error.code in (400, 404):
            followed.version = ""
        attempt = self._begin_attempt(key, followed)
        delay_ns = max(error.retry_after_ns or 0, retry_delay_ns(followed.failures, self.chance.random()))
        self.after(delay_ns, FollowAgain(attempt), key=("follow", key))
        self.failing(key, error)

    @handles(FollowAgain)
    def follow_again(self, message: FollowAgain) -> None:
        followed = self._current(message.attempt)
        if followed is None:
            return
        if followed.version:
            self._watch(message.attempt.key, followed)
        else:
            self._list(message.attempt.key, followed, "")

    @handles(MailboxOverflowed)
    def follow_overflowed(self, _: MailboxOverflowed) -> None:
        """Changes were lost on the way here: look at the whole again."""
        for key, followed in list(self._followed.items()):
            self._list(key, followed, "0")


def _listed(attempt: Attempt, done: Pending[ObjectList[Any]]) -> ObjectsListed:
    outcome = outcome_of(done)
    error = outcome.error
    if error is None or isinstance(error, ApiError):
        return ObjectsListed(attempt, outcome.value, error)
    return ObjectsListed(attempt, None, ApiError(0, "Unknown", f"{type(error).__name__}: {error}", "list"))
