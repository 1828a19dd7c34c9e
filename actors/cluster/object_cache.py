"""`ObjectCacheActor`: the ConfigMaps and Secrets that the pods of this node refer to (spec 8.9).

The node's strategy says how old an answer may be. *Watch*: a watch follows each object that a pod holds. An answer is
what the watch has shown; the first answer waits for it. *Cache*: an answer is at most a minute old, or as old as the
node's annotation allows. *Get*: each answer comes from a GET of its own.

A watch follows an object while a pod holds it. It stops if the object is immutable, or if no volume shows the object
and nobody has read it for a while. Readers get `ObjectsChanged` when the object differs from their last answer, or
exists at last. So a container that waits for its ConfigMap starts when somebody creates it, not at the next try.

While the API server is away, objects that were read before are still served. Others fail after a second if the server
has refused or does not answer. If the request only waits for its turn, because a thousand pods came at once, it gets
ten seconds: waiting holds nobody up, and people would see the failure. Without an API server every read fails at once.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable
from typing import Any, ClassVar

from actors.cluster.list_watch import Follower
from actors.cluster.object_entries import UNTOLD, Entry, Reading, Untold, Value, absent, is_same
from actors.kernel import ActorRef, Message, Pending, SoleMessage, handles, outcome_of
from actors.messages.pods import FollowNode, NodeObserved
from actors.messages.references import (
    HoldObjects,
    ObjectCacheStarted,
    ObjectRef,
    ObjectsChanged,
    ObjectsRead,
    ReadFailure,
    ReadObjects,
    ReleaseObjects,
)
from actors.start.environment import CONFIG_MAP, SECRET, ObjectPurpose, references
from config.api.resources import CONFIG_MAPS, SECRETS, Resource
from config.frozen_map import FrozenMap
from runtime.api import Api, ApiError, as_api_error, get
from runtime.api.no_server import NoApiServer
from runtime.cri.identity import whole_number

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
FIRST_ANSWER_NS = SECOND_NS
LAST_ANSWER_NS = 10 * SECOND_NS
GET_LIMIT_NS = 10 * SECOND_NS
DEFAULT_TTL_NS = MINUTE_NS
SHORTEST_IDLE_NS = MINUTE_NS
IDLE_SYNCS = 5
TTL_ANNOTATION = "node.alpha.kubernetes.io/ttl"
LOOK_AGAIN_NS = 10 * SECOND_NS
"""How old the last read of an immutable object may be when a new pod needs it.

If it is older, the object is read again, since somebody may have replaced it.
"""

_RESOURCES: dict[str, Resource[Any]] = {CONFIG_MAP: CONFIG_MAPS, SECRET: SECRETS}


class Strategy(enum.Enum):
    """The values of `configMapAndSecretChangeDetectionStrategy`."""

    WATCH = "Watch"
    CACHE = "Cache"
    GET = "Get"


class ObjectGot(Message, frozen=True):
    """To itself: the answer to one GET.

    `reading`: the number of the reading it is for; None: for all that wait.
    """

    ref: ObjectRef
    value: Value | None
    error: ApiError | None
    reading: int | None


class AnswerDue(Message, frozen=True):
    """To itself: this reading has waited long enough for watches that fail or have an old value.

    `last`: it has waited long enough for every watch.
    """

    reading: int
    last: bool


class DropIdle(SoleMessage, frozen=True):
    """To itself: stop following objects that nobody reads."""


class ObjectCacheActor(Follower):
    """See the module. `api` None: the node stands alone. `sync_frequency_ns`: of the configuration."""

    max_effects: ClassVar[int] = 256
    health_limit_ns: ClassVar[int | None] = MINUTE_NS

    def __init__(
        self,
        api: Api | None,
        strategy: Strategy,
        sync_frequency_ns: int,
        sync_loop: ActorRef,
        volumes: ActorRef,
        node: ActorRef,
    ) -> None:
        super().__init__(api or NoApiServer())
        self._strategy = strategy if api is not None else Strategy.GET
        self._idle_ns = max(SHORTEST_IDLE_NS, IDLE_SYNCS * sync_frequency_ns)
        self._ttl_ns = DEFAULT_TTL_NS
        self._sync_loop = sync_loop
        self._volumes = volumes
        self._node = node
        self._entries: dict[ObjectRef, Entry] = {}
        self._held: dict[str, tuple[ObjectRef, ...]] = {}
        self._readings: dict[int, Reading] = {}
        """By number: the readings without an answer yet."""
        self._asked = 0

    def on_start(self) -> None:
        if self._strategy is Strategy.WATCH:
            self.every(MINUTE_NS, DropIdle())
        elif self._strategy is Strategy.CACHE:
            self._node.tell(FollowNode(self.ref))
        self._sync_loop.tell(ObjectCacheStarted())

    # --- holding ----------------------------------------------------------------------------------------------------

    @handles(HoldObjects)
    def hold_objects(self, message: HoldObjects) -> None:
        uid = message.pod.metadata.uid
        wanted: dict[ObjectRef, bool] = {}
        for each in references(message.pod):
            wanted[each.ref] = wanted.get(each.ref, False) or each.purpose is ObjectPurpose.VOLUME
        for ref in self._held.get(uid, ()):
            if ref not in wanted:
                self._let_go(uid, ref)
        self._held[uid] = tuple(wanted)
        for ref, in_volume in wanted.items():
            entry = self._entries.get(ref)
            if entry is None:
                entry = self._entries[ref] = Entry(ref)
            is_new = uid not in entry.holders
            entry.holders[uid] = in_volume
            if is_new:
                self._look_for_a_new_pod(entry)

    def _look_for_a_new_pod(self, entry: Entry) -> None:
        """Read the object again where that is cheap, so that a pod gets no object older than itself."""
        if self._strategy is Strategy.CACHE:
            entry.current = False
        elif self._strategy is Strategy.WATCH and not self.follows(entry.ref):
            if entry.immutable and self.now_ns() - entry.at_ns < LOOK_AGAIN_NS:
                return
            self._follow(entry)

    @handles(ReleaseObjects)
    def release_objects(self, message: ReleaseObjects) -> None:
        for ref in self._held.pop(message.uid, ()):
            self._let_go(message.uid, ref)

    def _let_go(self, uid: str, ref: ObjectRef) -> None:
        entry = self._entries[ref]
        entry.holders.pop(uid, None)
        entry.let_down.pop(uid, None)
        if not entry.holders:
            self.unfollow(ref)
            del self._entries[ref]
            self._settle_waiting(entry, ReadFailure(False, f"no pod refers to {ref} any more"))

    # --- reading ----------------------------------------------------------------------------------------------------

    @handles(ReadObjects)
    def read_objects(self, message: ReadObjects) -> None:
        self._asked += 1
        reading = self._readings[self._asked] = Reading(self._asked, message, self.now_ns())
        waits = False
        for ref in dict.fromkeys(message.refs):
            entry = self._entries.get(ref)
            if ref.kind not in _RESOURCES:
                reading.failures[ref] = ReadFailure(False, f"there is no cache of {ref.kind} objects")
            elif entry is None or self._strategy is Strategy.GET:
                self._get_for(reading, ref)
            elif self._strategy is Strategy.CACHE:
                self._read_cached(entry, reading)
            else:
                waits |= self._read_followed(entry, reading)
        if waits:
            self.after(FIRST_ANSWER_NS, AnswerDue(reading.number, last=False), key=reading.number)
        self._answer_if_complete(reading)

    def _read_followed(self, entry: Entry, reading: Reading) -> bool:
        """Whether the reading has to wait for the first answer of the watch."""
        entry.read_ns = self.now_ns()
        if entry.current:
            self._settle(entry, reading)
            return False
        if not self.follows(entry.ref):
            self._follow(entry)
        reading.open.add(entry.ref)
        entry.waiting.append(reading)
        return True

    def _follow(self, entry: Entry) -> None:
        ref = entry.ref
        entry.current = False
        entry.read_ns = self.now_ns()
        self.follow(ref, _RESOURCES[ref.kind], namespace=ref.namespace, field_selector=f"metadata.name={ref.name}")

    @handles(AnswerDue)
    def answer_due(self, message: AnswerDue) -> None:
        """Answer with an old value, if there is one; otherwise with a failure that may pass."""
        reading = self._readings.get(message.reading)
        if reading is None:
            return
        for ref in sorted(reading.open, key=str):
            entry = self._entries.get(ref)
            if entry is None or reading not in entry.waiting:
                continue  # a GET reads it, and has a limit of its own
            if message.last or entry.seen or entry.trouble:
                entry.waiting.remove(reading)
                self._settle(entry, reading)
        self._answer_if_complete(reading)
        if reading.open and not message.last:
            self.after(LAST_ANSWER_NS - FIRST_ANSWER_NS, AnswerDue(reading.number, last=True), key=reading.number)

    def _read_cached(self, entry: Entry, reading: Reading) -> None:
        if entry.current and self.now_ns() - entry.at_ns < self._ttl_ns:
            self._settle(entry, reading)
            return
        reading.open.add(entry.ref)
        entry.waiting.append(reading)
        if not entry.asking:
            entry.asking = True
            self._get(entry.ref, None)

    def _get_for(self, reading: Reading, ref: ObjectRef) -> None:
        reading.open.add(ref)
        self._get(ref, reading.number)

    def _get(self, ref: ObjectRef, reading: int | None) -> None:
        call = get(_RESOURCES[ref.kind], ref.namespace, ref.name)
        api = self._api
        self.begin(lambda: api.call(call, timeout_ns=GET_LIMIT_NS), lambda done: _got(ref, reading, done))

    @handles(ObjectGot)
    def object_got(self, message: ObjectGot) -> None:
        ref, error = message.ref, message.error
        gone = error is not None and error.not_found
        if message.reading is None:
            entry = self._entries.get(ref)
            if entry is None:
                return
            entry.asking = False
            if error is None or gone:
                self._seen(entry, message.value)
            else:
                entry.trouble = str(error)
                self._settle_waiting(entry, None)
            return
        reading = self._readings[message.reading]
        reading.open.discard(ref)
        if message.value is not None:
            reading.objects[ref] = message.value
        else:
            reading.failures[ref] = absent(ref) if gone else ReadFailure(False, f"couldn't read {ref}: {error}")
        self._answer_if_complete(reading)

    def _settle(self, entry: Entry, reading: Reading) -> None:
        """Enter what is known of one object into the reading, which no longer waits for it."""
        ref = entry.ref
        reading.open.discard(ref)
        if entry.seen and entry.value is not None:
            reading.objects[ref] = entry.value
        elif entry.seen:
            reading.failures[ref] = absent(ref)
        else:
            reason = entry.trouble or "no answer from the API server yet"
            reading.failures[ref] = ReadFailure(False, f"couldn't read {ref}: {reason}")
        entry.told = entry.value
        if ref in reading.failures and reading.message.pod_uid in entry.holders:
            entry.let_down[reading.message.pod_uid] = reading.message.reader

    def _settle_waiting(self, entry: Entry, failure: ReadFailure | None) -> None:
        waiting, entry.waiting = entry.waiting, []
        for reading in waiting:
            if failure is None:
                self._settle(entry, reading)
            else:
                reading.open.discard(entry.ref)
                reading.failures[entry.ref] = failure
            self._answer_if_complete(reading)

    def _answer_if_complete(self, reading: Reading) -> None:
        if reading.open:
            return
        del self._readings[reading.number]
        self.cancel_timer(reading.number)
        message = reading.message
        objects, failures = FrozenMap(reading.objects), FrozenMap(reading.failures)
        message.reader.tell(ObjectsRead(message.tag, objects, failures))

    # --- what is seen -----------------------------------------------------------------------------------------------

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        entry = self._entry_of(key)
        if entry is not None:
            self._seen(entry, objects[0] if objects else None)

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        entry = self._entry_of(key)
        if entry is not None:
            self._seen(entry, None if event_type == "DELETED" else value)

    def failing(self, key: Hashable, error: ApiError) -> None:
        entry = self._entry_of(key)
        if entry is None:
            return
        entry.trouble = str(error)
        for reading in [each for each in entry.waiting if self.now_ns() - each.since_ns >= FIRST_ANSWER_NS]:
            entry.waiting.remove(reading)
            self._settle(entry, reading)
            self._answer_if_complete(reading)

    def _entry_of(self, key: Hashable) -> Entry | None:
        return self._entries.get(key) if isinstance(key, ObjectRef) else None

    def _seen(self, entry: Entry, value: Value | None) -> None:
        """Keep the object as it is now, None if it does not exist.

        Answer the readers that wait, and tell the others if their last answer was another.
        """
        told, entry.told = entry.told, UNTOLD
        entry.value = value
        entry.seen = entry.current = True
        entry.trouble = ""
        entry.at_ns = self.now_ns()
        entry.immutable = value is not None and bool(value.immutable)
        if entry.immutable and self.follows(entry.ref):
            self.unfollow(entry.ref)
        let_down, entry.let_down = entry.let_down, {}
        self._settle_waiting(entry, None)
        if isinstance(told, Untold):
            return
        if is_same(told, value):
            entry.told = told
            if value is None:
                entry.let_down = {**let_down, **entry.let_down}
            return
        changed = ObjectsChanged(frozenset(entry.holders))
        for listener in {self._volumes.path: self._volumes, **{each.path: each for each in let_down.values()}}.values():
            listener.tell(changed)

    @handles(DropIdle)
    def drop_idle(self, _: DropIdle) -> None:
        before_ns = self.now_ns() - self._idle_ns
        for entry in self._entries.values():
            if not any(entry.holders.values()) and not entry.waiting and entry.read_ns < before_ns:
                self.unfollow(entry.ref)
                if not entry.immutable:
                    entry.current = False

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Read how old an answer may be. Controllers write it on the node, by the size of the cluster."""
        seconds = whole_number(message.node.metadata.annotations.get(TTL_ANNOTATION))
        self._ttl_ns = DEFAULT_TTL_NS if seconds is None else seconds * SECOND_NS


def strategy_of(name: str) -> Strategy:
    """The strategy for a valid value of the configuration."""
    return Strategy(name)


def _got(ref: ObjectRef, reading: int | None, done: Pending[Value]) -> ObjectGot:
    outcome = outcome_of(done)
    return ObjectGot(ref, outcome.value, as_api_error(outcome.error, f"get {ref}"), reading)
