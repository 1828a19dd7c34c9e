"""`Follower`: an actor that follows sets of API objects.

It lists a set once, then watches its changes.

`runtime.api.resume` decides what follows the end of a list or a watch. A new watch begins at the last version seen. If
the server has dropped that version (410), the actor lists the set again. So no change is missed: either a watch reports
it, or the next list shows it.

A subclass gets `listed` with the whole set, then `changed` for each change. Each message carries its attempt, and
messages of earlier attempts are ignored.

Sets that are followed for pods take turns by pod (`FairCalls`), so a pod that needs thousands of them delays the set of
another by one list.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Hashable
from typing import Any, ClassVar

import msgspec

from actors.cluster.fair_calls import FairCall, FairCalls
from actors.cluster.fair_turns import NODE
from actors.kernel import Actor, MailboxOverflowed, Message, Pending, handles, outcome_of
from config.api.resources import Resource
from runtime.api import Api, ApiError, ObjectList, WatchEvent, as_api_error, in_turn_of, list_objects, watch_objects
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
    list_limit_ns,
    next_step,
    watch_seconds,
)
from runtime.io.pending import Subscription

PAGE = 500
"""Objects in one answer of a list that does not come from the server's cache."""
OF_POD_AT_MOST = 32
"""Calls in flight for one pod. More would not be faster: some ten leave at a time."""


class Attempt(msgspec.Struct, frozen=True):
    """One list or one watch.

    Its messages are ignored once a newer attempt of its key has begun. `number`: unique within a life.
    """

    key: Hashable
    began_ns: int
    number: int


class _Watch(msgspec.Struct):
    """The watch of an attempt. Its callbacks run on other threads; once it is `closed` they tell nothing."""

    subscription: Subscription | None = None
    closed: bool = False

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
    """To itself, from the watch.

    Only the newest version of each object waits, so a busy machine builds up no queue.
    """

    attempt: Attempt
    event: WatchEvent[Any]

    def coalesce_key(self) -> Hashable:
        value = self.event.object
        uid = "" if value is None else value.metadata.uid
        return (self.attempt.number, uid) if uid else None


class WatchClosed(Message, frozen=True):
    """To itself, from the watch: it is over."""

    attempt: Attempt
    error: ApiError | None


class FollowAgain(Message, frozen=True):
    """To itself: the pause after a failure is over."""

    attempt: Attempt
    step: WatchStep


class _Followed(msgspec.Struct, eq=False):
    """One set: what is followed, and its progress.

    `pod_uid`: for which pod, critical or not (`urgent`). `items`: the objects of the pages so far. `listing`: the list
    under way. `said`: the logged error, or "". `version`: the last one that the watch has reported.
    """

    attempt: Attempt
    resource: Resource[Any]
    namespace: str
    field_selector: str
    label_selector: str
    pod_uid: str
    urgent: bool
    place: WatchPlace = msgspec.field(default_factory=WatchPlace)
    items: list[Any] = []
    listing: FairCall[ObjectList[Any]] | None = None
    said: str = ""
    version: str = ""
    watch: _Watch = msgspec.field(default_factory=_Watch)

    def end_attempt(self) -> None:
        self.watch.close()
        if self.listing is not None:
            self.listing.drop()


class Follower(Actor):
    """See the module. A subclass calls `follow` and defines `listed` and `changed`."""

    mailbox_capacity: ClassVar[int] = 50_000

    def __init__(self, api: Api) -> None:
        super().__init__()
        self._api = api
        self._calls = FairCalls(self, api, at_most=self.max_effects, of_pod=OF_POD_AT_MOST)
        self._followed: dict[Hashable, _Followed] = {}
        self._troubled: Counter[str] = Counter()
        """Resource -> how many of its sets cannot be followed now."""
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
        pod_uid: str = NODE,
        urgent: bool = False,
    ) -> None:
        """Follow a set under `key`, in place of the set that had this key before.

        `pod_uid`: for this pod, which takes turns with others; `urgent` if it is critical.
        """
        self.unfollow(key)
        attempt = self._attempt(key)
        followed = _Followed(attempt, resource, namespace, field_selector, label_selector, pod_uid, urgent)
        self._followed[key] = followed
        self._do(key, followed, first_step(followed.place))

    def share(self, key: Hashable, pod_uid: str, *, urgent: bool = False) -> None:
        """Another pod needs the set of this key: if its list waits for a turn, that of this pod will do."""
        followed = self._followed.get(key)
        if followed is not None and followed.listing is not None:
            self._calls.join(followed.listing, pod_uid, urgent=urgent)

    def pass_on(self, key: Hashable, pod_uid: str, heir: str, *, urgent: bool = False) -> None:
        """This pod does not need the set of this key any more; the heir does."""
        followed = self._followed.get(key)
        if followed is not None and followed.pod_uid == pod_uid:
            followed.pod_uid, followed.urgent = heir, urgent
            self.share(key, heir, urgent=urgent)

    def unfollow(self, key: Hashable) -> None:
        """Follow the set of this key no longer."""
        followed = self._followed.pop(key, None)
        if followed is not None:
            self._well(followed)
            followed.end_attempt()
            self.cancel_timer(("follow", key))

    def follows(self, key: Hashable) -> bool:
        return key in self._followed

    def trouble(self) -> tuple[str, ...]:
        """The errors of the sets that cannot be followed now."""
        return tuple(sorted({followed.said for followed in self._followed.values() if followed.said}))

    @abc.abstractmethod
    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        """The whole set as it is now."""

    @abc.abstractmethod
    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        """An object was ADDED, MODIFIED or DELETED; `value` is its new form, or its last one."""

    def failing(self, key: Hashable, error: ApiError) -> None:
        """An attempt has failed. Earlier reports may be out of date."""

    def in_touch(self, key: Hashable) -> None:
        """The server has said something on the watch, or ended it in order: what is known is what it has."""

    # --- steps ------------------------------------------------------------------------------------------------------

    def _attempt(self, key: Hashable) -> Attempt:
        self._attempts += 1
        return Attempt(key, self.now_ns(), self._attempts)

    def _do(self, key: Hashable, followed: _Followed, step: WatchStep) -> None:
        followed.end_attempt()
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
        """Work: one call begins."""
        followed = self._current(message.attempt)
        if followed is not None:
            step = message.step
            self._do(message.attempt.key, followed, WatchStep(step.action, step.resource_version))

    def attempt_ended(self, key: Hashable, followed: _Followed, outcome: Outcome, error: ApiError | None) -> None:
        """A list or a watch has ended: begin the next."""
        followed.place, step = next_step(followed.place, outcome, self.chance.random)
        if error is None or (error.expired and not step.after_ns):
            self._well(followed)
        else:
            plural = followed.resource.plural
            if not followed.said:
                # Log an outage once, not for each of a thousand sets.
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
        """Ask for the set, or for its next page.

        A list not older than a version comes from a cache, and whole.
        """
        attempt, limit_ns = followed.attempt, list_limit_ns(followed.place)
        call = list_objects(
            followed.resource,
            followed.namespace,
            field_selector=followed.field_selector,
            label_selector=followed.label_selector,
            resource_version=version,
            limit=PAGE if version == NEWEST_VERSION else 0,
            continue_=continue_,
        )
        followed.listing = self._calls.begin(
            followed.pod_uid,
            call,
            lambda done: _listed(attempt, done),
            timeout_ns=limit_ns,
            urgent=followed.urgent,
        )

    @handles(PageListed)
    def page_listed(self, message: PageListed) -> None:
        """Work: one page; with the last one, what `listed` does with all objects."""
        followed = self._current(message.attempt)
        if followed is None:
            return
        followed.listing = None
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

        call = in_turn_of(call, followed.pod_uid, urgent=followed.urgent)
        watch.subscription = self._api.watch(call, arrived, ended)

    @handles(WatchArrived)
    def watch_arrived(self, message: WatchArrived) -> None:
        """Work: what `changed` does with one object."""
        event, followed = message.event, self._current(message.attempt)
        if followed is None:
            return
        if followed.said:
            self._well(followed)
        followed.version = event.resource_version or followed.version
        if event.object is not None:
            self.changed(message.attempt.key, event.type, event.object)
        self.in_touch(message.attempt.key)

    @handles(WatchClosed)
    def watch_closed(self, message: WatchClosed) -> None:
        """Work: one call begins."""
        attempt, error = message.attempt, message.error
        followed = self._current(attempt)
        if followed is not None:
            followed.watch.subscription = None
            ended = WatchEnded(error, followed.version, self.now_ns() - attempt.began_ns)
            if error is None:
                self.in_touch(attempt.key)
            self.attempt_ended(attempt.key, followed, ended, error)

    @handles(MailboxOverflowed)
    def follow_overflowed(self, _: MailboxOverflowed) -> None:
        """Changes were lost on the way here: look at the whole again.

        Work: a call begins for each set that is followed.
        """
        for key, followed in list(self._followed.items()):
            followed.place = WatchPlace(followed.place.resource_version)
            self._do(key, followed, first_step(followed.place))


def _listed(attempt: Attempt, done: Pending[ObjectList[Any]]) -> PageListed:
    outcome = outcome_of(done)
    return PageListed(attempt, outcome.value, as_api_error(outcome.error, "list"))
