"""`Follower`: an actor that follows sets of objects of the API: lists them once, then watches what changes.

`runtime.api.resume` has the pure rule of what follows the end of a list or a watch; this actor does it. A new watch
begins at the last version seen. Where the server has forgotten that version (410), the set is listed again. So no
change is missed: it is told, or the next list shows it.

A subclass gets `listed` with the whole set, then `changed` for each change. Every message carries its attempt, so
messages of an earlier attempt are ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any, ClassVar

import msgspec

from actors.kernel import Actor, MailboxOverflowed, Message, Pending, handles, outcome_of
from config.api.resources import Resource
from runtime.api import Api, ApiError, ObjectList, WatchEvent, list_objects, watch_objects
from runtime.api.resume import (
    NEWEST_VERSION,
    ListFailed,
    ListSucceeded,
    Outcome,
    WatchAction,
    WatchEnded,
    WatchPlace,
    WatchStep,
    first_step,
    next_step,
    watch_seconds,
)
from runtime.io.pending import Subscription

SECOND_NS = 1_000_000_000
PAGE = 500
"""Objects in one answer of a list that does not come from the server's cache."""
LIST_LIMIT_NS = 60 * SECOND_NS


class Attempt(msgspec.Struct, frozen=True):
    """One list, or one watch. Its messages count while it is the newest of its key. `number`: within one life."""

    key: Hashable
    began_ns: int
    number: int


class _Watch:
    """The watch of an attempt. Once it is `closed` its callbacks, which run on other threads, tell nothing more."""

    __slots__ = ("closed", "subscription")

    def __init__(self) -> None:
        self.subscription: Subscription | None = None
        self.closed = False

    def close(self) -> None:
        self.closed = True
        if self.subscription is not None:
            self.subscription.close()
            self.subscription = None


class PageListed(Message, frozen=True):
    """To itself: a page of a list has come, or the list has failed."""

    attempt: Attempt
    page: ObjectList[Any] | None
    error: ApiError | None


class WatchArrived(Message, frozen=True):
    """To itself, from the watch."""

    attempt: Attempt
    event: WatchEvent[Any]


class WatchClosed(Message, frozen=True):
    """To itself, from the watch: it is over."""

    attempt: Attempt
    error: ApiError | None


class FollowAgain(Message, frozen=True):
    """To itself: the pause after a failure is over."""

    attempt: Attempt
    step: WatchStep


class _Followed:
    """One set: what is followed, and how far it has come. `version`: the last one that the watch has told."""

    __slots__ = (
        "attempt",
        "field_selector",
        "items",
        "label_selector",
        "namespace",
        "place",
        "resource",
        "said",
        "version",
        "watch",
    )

    def __init__(
        self, attempt: Attempt, resource: Resource[Any], namespace: str, field_selector: str, label_selector: str
    ) -> None:
        self.attempt = attempt
        self.resource = resource
        self.namespace = namespace
        self.field_selector = field_selector
        self.label_selector = label_selector
        self.place = WatchPlace()
        self.items: list[Any] = []
        self.said = ""
        self.version = ""
        self.watch = _Watch()


class Follower(Actor):
    """See the module. A subclass calls `follow` and defines `listed` and `changed`."""

    mailbox_capacity: ClassVar[int] = 50_000

    def __init__(self, api: Api) -> None:
        super().__init__()
        self._api = api
        self._followed: dict[Hashable, _Followed] = {}
        self._troubled: Counter[str] = Counter()
        """How many sets of each resource cannot be followed now."""
        self._attempts = 0

    def on_stop(self) -> None:
        for followed in self._followed.values():
            followed.watch.close()

    def on_failure(self, *_: Any) -> None:
        self.on_stop()  # the next life follows anew

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
        followed = _Followed(self._attempt(key), resource, namespace, field_selector, label_selector)
        self._followed[key] = followed
        self._do(key, followed, first_step(followed.place))

    def unfollow(self, key: Hashable) -> None:
        """Nothing of that key is told any more."""
        followed = self._followed.pop(key, None)
        if followed is not None:
            self._well(followed)
            followed.watch.close()
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

    # --- steps ------------------------------------------------------------------------------------------------------

    def _attempt(self, key: Hashable) -> Attempt:
        self._attempts += 1
        return Attempt(key, self.now_ns(), self._attempts)

    def _do(self, key: Hashable, followed: _Followed, step: WatchStep) -> None:
        followed.watch.close()
        attempt = followed.attempt = self._attempt(key)
        if step.after_ns:
            self.after(step.after_ns, FollowAgain(attempt, step), key=("follow", key))
        elif step.action is WatchAction.LIST:
            followed.items = []
            self._list(followed, step.resource_version)
        else:
            self._watch(followed, step.resource_version)

    @handles(FollowAgain)
    def follow_again(self, message: FollowAgain) -> None:
        followed = self._current(message.attempt)
        if followed is not None:
            step = message.step
            self._do(message.attempt.key, followed, WatchStep(step.action, step.resource_version))

    def attempt_ended(self, key: Hashable, followed: _Followed, outcome: Outcome, error: ApiError | None) -> None:
        """A list or a watch has ended: what is next?"""
        followed.place, step = next_step(followed.place, outcome, self.chance.random)
        if error is None or (error.expired and not step.after_ns):
            self._well(followed)
        else:
            plural = followed.resource.plural
            if not followed.said:
                # One outage is said once, not for each of a thousand sets.
                self._troubled[plural] += 1
                if self._troubled[plural] == 1:
                    self.log.warning("%s cannot be followed now: %s", plural, error)
            followed.said = str(error)
        self._do(key, followed, step)
        if error is not None:
            self.failing(key, error)

    def _well(self, followed: _Followed) -> None:
        if followed.said:
            followed.said = ""
            plural = followed.resource.plural
            self._troubled[plural] -= 1
            if not self._troubled[plural]:
                self.log.info("%s are followed again", plural)

    def _current(self, attempt: Attempt) -> _Followed | None:
        followed = self._followed.get(attempt.key)
        return followed if followed is not None and followed.attempt == attempt else None

    # --- lists ------------------------------------------------------------------------------------------------------

    def _list(self, followed: _Followed, version: str, continue_: str = "") -> None:
        """Ask for the set, or for its next page. A list not older than a version comes from a cache, and whole."""
        attempt = followed.attempt
        call = list_objects(
            followed.resource,
            followed.namespace,
            field_selector=followed.field_selector,
            label_selector=followed.label_selector,
            resource_version=version,
            limit=PAGE if version == NEWEST_VERSION else 0,
            continue_=continue_,
        )
        self.begin(lambda: self._api.call(call, timeout_ns=LIST_LIMIT_NS), lambda done: _listed(attempt, done))

    @handles(PageListed)
    def page_listed(self, message: PageListed) -> None:
        followed = self._current(message.attempt)
        if followed is None:
            return
        key, page = message.attempt.key, message.page
        if page is None:
            error = message.error or ApiError(0, "Unknown", "no reason given", "list")
            self.attempt_ended(key, followed, ListFailed(error), error)
            return
        followed.items.extend(page.items)
        if page.continue_:
            self._list(followed, NEWEST_VERSION, page.continue_)
            return
        items, followed.items = tuple(followed.items), []
        self.listed(key, items)
        if self._followed.get(key) is followed:
            self.attempt_ended(key, followed, ListSucceeded(page.resource_version), None)

    # --- watches ----------------------------------------------------------------------------------------------------

    def _watch(self, followed: _Followed, version: str) -> None:
        attempt, ref = followed.attempt, self.ref
        watch = followed.watch = _Watch()
        followed.version = ""
        call = watch_objects(
            followed.resource,
            followed.namespace,
            resource_version=version,
            field_selector=followed.field_selector,
            label_selector=followed.label_selector,
            timeout_seconds=watch_seconds(self.chance.random),
        )

        def arrived(event: WatchEvent[Any]) -> None:
            if not watch.closed:
                ref.tell(WatchArrived(attempt, event))

        def ended(error: ApiError | None) -> None:
            if not watch.closed:
                ref.tell(WatchClosed(attempt, error))

        watch.subscription = self._api.watch(call, arrived, ended)

    @handles(WatchArrived)
    def watch_arrived(self, message: WatchArrived) -> None:
        event, followed = message.event, self._current(message.attempt)
        if followed is None:
            return
        if followed.said:
            self._well(followed)
        followed.version = event.resource_version or followed.version
        if event.object is not None:
            self.changed(message.attempt.key, event.type, event.object)

    @handles(WatchClosed)
    def watch_closed(self, message: WatchClosed) -> None:
        attempt, error = message.attempt, message.error
        followed = self._current(attempt)
        if followed is not None:
            followed.watch.subscription = None
            ended = WatchEnded(error, followed.version, self.now_ns() - attempt.began_ns)
            self.attempt_ended(attempt.key, followed, ended, error)

    @handles(MailboxOverflowed)
    def follow_overflowed(self, _: MailboxOverflowed) -> None:
        """Changes were lost on the way here: look at the whole again."""
        for key, followed in list(self._followed.items()):
            followed.place = WatchPlace(followed.place.resource_version)
            self._do(key, followed, first_step(followed.place))


def _listed(attempt: Attempt, done: Pending[ObjectList[Any]]) -> PageListed:
    outcome = outcome_of(done)
    error = outcome.error
    if error is None or isinstance(error, ApiError):
        return PageListed(attempt, outcome.value, error)
    return PageListed(attempt, None, ApiError(0, "Unknown", f"{type(error).__name__}: {error}", "list"))
