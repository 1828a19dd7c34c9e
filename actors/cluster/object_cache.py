"""`ObjectCacheActor`: the ConfigMaps and Secrets that the pods of this node refer to (spec 8.9).

The node's strategy says how old an answer may be. *Watch*: a watch follows each object that a pod holds. An answer is
what the watch has shown; the first answer waits for it. *Cache*: an answer is at most a minute old, or as old as the
node's annotation allows. *Get*: each answer comes from a GET of its own.

A watch follows an object while a pod holds it. It stops if the object is immutable, or if no volume shows the object
and nobody has read it for a while. Readers get `ObjectsChanged` when the object differs from their last answer, or
exists at last. So a container that waits for its ConfigMap starts when somebody creates it, not at the next try.

While the API server is away, objects that were read before are still served; on an island node (`island_objects`) also
those that were read before a restart. Others fail after a second if the server has refused or does not answer. If the
request only waits for its turn, because a thousand pods came at once, it gets ten seconds: waiting holds nobody up, and
people would see the failure. Without an API server every read fails at once.

A pod may refer to thousands of objects. The work for one pod is done in slices (`PodJobs`), in the order of its
messages, and pods take turns with their calls.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, ClassVar

from actors.cluster.fair_calls import FairCall
from actors.cluster.fair_turns import NODE
from actors.cluster.island_objects import IslandObjects
from actors.cluster.list_watch import Follower
from actors.cluster.object_entries import (
    UNTOLD,
    AnswerDue,
    DropIdle,
    Entry,
    ObjectGot,
    Reading,
    Untold,
    Value,
    absent,
    get_ended,
    is_same,
)
from actors.cluster.pod_jobs import PodJobs
from actors.kernel import ActorRef, handles, part
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
from actors.start.environment import CONFIG_MAP, SECRET, ObjectPurpose, each_reference
from config.api.resources import CONFIG_MAPS, SECRETS, Resource
from config.frozen_map import FrozenMap
from config.objects import Pod
from config.pods.identity import is_critical
from runtime.api import Api, ApiError, get
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


class ObjectCacheActor(Follower):
    """See the module. `api` None: the node stands alone. `sync_frequency_ns`: of the configuration.

    `island`: who remembers the objects; None: nobody.
    """

    max_effects: ClassVar[int] = 256
    health_limit_ns: ClassVar[int | None] = MINUTE_NS
    jobs = part(PodJobs)
    island = part(IslandObjects)

    def __init__(
        self,
        api: Api | None,
        strategy: Strategy,
        sync_frequency_ns: int,
        sync_loop: ActorRef,
        volumes: ActorRef,
        node: ActorRef,
        island: ActorRef | None = None,
    ) -> None:
        super().__init__(api or NoApiServer())
        self.jobs = PodJobs(self)
        self.island = IslandObjects(self, island, self._seen_before, self._all_seen)
        self._strategy = strategy if api is not None else Strategy.GET
        self._idle_ns = max(SHORTEST_IDLE_NS, IDLE_SYNCS * sync_frequency_ns)
        self._ttl_ns = DEFAULT_TTL_NS
        self._sync_loop = sync_loop
        self._volumes = volumes
        self._node = node
        self._entries: dict[ObjectRef, Entry] = {}
        self._held: dict[str, dict[ObjectRef, bool]] = {}
        """UID -> object -> whether a volume shows it."""
        self._critical: set[str] = set()
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
        """Work: a slice; one step for each reference of the pod."""
        self.jobs.do(message.pod.metadata.uid, self._hold_all(message.pod))

    def _hold_all(self, pod: Pod) -> Iterator[None]:
        uid, wanted = pod.metadata.uid, dict[ObjectRef, bool]()
        if is_critical(pod):
            self._critical.add(uid)
        for each in each_reference(pod):
            wanted[each.ref] = wanted.get(each.ref, False) or each.purpose is ObjectPurpose.VOLUME
            yield
        held, self._held[uid] = self._held.get(uid, {}), wanted
        for ref in held:
            if ref not in wanted:
                self._let_go(uid, ref)
            yield
        for ref, in_volume in wanted.items():
            self._hold(uid, ref, in_volume)
            yield

    def _hold(self, uid: str, ref: ObjectRef, in_volume: bool) -> None:
        entry = self._entries.get(ref)
        if entry is None:
            entry = self._entries[ref] = Entry(ref)
        is_new = uid not in entry.holders
        entry.holders[uid] = in_volume
        if is_new:
            self._look_for_a_new_pod(entry, uid)

    def _look_for_a_new_pod(self, entry: Entry, uid: str) -> None:
        """Read the object again where that is cheap, so that a pod gets no object older than itself."""
        if self._strategy is Strategy.CACHE:
            entry.current = False
        elif self._strategy is Strategy.WATCH:
            if self.follows(entry.ref):
                self.share(entry.ref, uid, urgent=uid in self._critical)
            elif not entry.immutable or self.now_ns() - entry.at_ns >= LOOK_AGAIN_NS:
                self._follow(entry, uid)

    @handles(ReleaseObjects)
    def release_objects(self, message: ReleaseObjects) -> None:
        """Work: a slice; one step for each object that the pod holds."""
        self.jobs.do(message.uid, self._let_go_all(message.uid))

    def _let_go_all(self, uid: str) -> Iterator[None]:
        self._critical.discard(uid)
        for ref in self._held.pop(uid, {}):
            self._let_go(uid, ref)
            yield

    def _let_go(self, uid: str, ref: ObjectRef) -> None:
        entry = self._entries[ref]
        entry.holders.pop(uid, None)
        entry.let_down.pop(uid, None)
        if entry.holders:
            heir = next(iter(entry.holders))
            self.pass_on(ref, uid, heir, urgent=heir in self._critical)
            return
        self.unfollow(ref)
        if entry.asking is not None:
            entry.asking.drop()
        del self._entries[ref]
        self.island.keep(ref, None)
        self._settle_waiting(entry, ReadFailure(False, f"no pod refers to {ref} any more"))

    # --- reading ----------------------------------------------------------------------------------------------------

    @handles(ReadObjects)
    def read_objects(self, message: ReadObjects) -> None:
        """Work: a slice; one step for each object asked for."""
        self._asked += 1
        reading = self._readings[self._asked] = Reading(self._asked, message, self.now_ns())
        self.jobs.do(message.pod_uid, self._read_all(reading))

    def _read_all(self, reading: Reading) -> Iterator[None]:
        waits = False
        for ref in dict.fromkeys(reading.message.refs):
            waits |= self._read(reading, ref)
            yield
        reading.whole = True
        if waits and reading.open:
            self.after(FIRST_ANSWER_NS, AnswerDue(reading.number, last=False), key=reading.number)
        self._answer_if_complete(reading)

    def _read(self, reading: Reading, ref: ObjectRef) -> bool:
        """Whether the reading has to wait for the first answer of a watch."""
        entry = self._entries.get(ref)
        if ref.kind not in _RESOURCES:
            reading.failures[ref] = ReadFailure(False, f"there is no cache of {ref.kind} objects")
        elif entry is None or self._strategy is Strategy.GET:
            self._get_for(reading, ref)
        elif self._strategy is Strategy.CACHE:
            self._read_cached(entry, reading)
        else:
            return self._read_followed(entry, reading)
        return False

    def _read_followed(self, entry: Entry, reading: Reading) -> bool:
        """Whether the reading has to wait for the first answer of the watch."""
        entry.read_ns = self.now_ns()
        if entry.current:
            self._settle(entry, reading)
            return False
        if not self.follows(entry.ref):
            self._follow(entry, reading.message.pod_uid)
        reading.open[entry.ref] = None
        entry.waiting[reading.number] = reading
        return True

    def _follow(self, entry: Entry, uid: str) -> None:
        ref = entry.ref
        entry.current = False
        entry.read_ns = self.now_ns()
        self.follow(
            ref,
            _RESOURCES[ref.kind],
            namespace=ref.namespace,
            field_selector=f"metadata.name={ref.name}",
            pod_uid=uid,
            urgent=uid in self._critical,
        )

    @handles(AnswerDue)
    def answer_due(self, message: AnswerDue) -> None:
        """Answer with an old value, if there is one; otherwise with a failure that may pass.

        Work: a slice; one step for each object that the reading waits for.
        """
        reading = self._readings.get(message.reading)
        if reading is not None:
            self.jobs.do(reading.message.pod_uid, self._wait_no_longer(reading, tuple(reading.open), message.last))

    def _wait_no_longer(self, reading: Reading, refs: Iterable[ObjectRef], last: bool) -> Iterator[None]:
        for ref in refs:
            entry = self._entries.get(ref)
            # A GET has a limit of its own.
            if entry is not None and reading.number in entry.waiting and (last or entry.seen or entry.trouble):
                del entry.waiting[reading.number]
                self._settle(entry, reading)
            yield
        self._answer_if_complete(reading)
        if reading.open and not last:
            self.after(LAST_ANSWER_NS - FIRST_ANSWER_NS, AnswerDue(reading.number, last=True), key=reading.number)

    def _read_cached(self, entry: Entry, reading: Reading) -> None:
        if entry.current and self.now_ns() - entry.at_ns < self._ttl_ns:
            self._settle(entry, reading)
            return
        reading.open[entry.ref] = None
        entry.waiting[reading.number] = reading
        uid = reading.message.pod_uid
        if entry.asking is None:
            entry.asking = self._get(entry.ref, None, uid)
        else:
            self._calls.join(entry.asking, uid, urgent=uid in self._critical)

    def _get_for(self, reading: Reading, ref: ObjectRef) -> None:
        reading.open[ref] = None
        self._get(ref, reading.number, reading.message.pod_uid)

    def _get(self, ref: ObjectRef, reading: int | None, uid: str) -> FairCall[Any]:
        call = get(_RESOURCES[ref.kind], ref.namespace, ref.name)
        return self._calls.begin(
            uid,
            call,
            lambda done: get_ended(ref, reading, done),
            timeout_ns=GET_LIMIT_NS,
            urgent=uid in self._critical,
        )

    @handles(ObjectGot)
    def object_got(self, message: ObjectGot) -> None:
        """Work: one object, and the readings that wait for it; one that is complete is copied into its answer."""
        ref, error = message.ref, message.error
        gone = error is not None and error.not_found
        if message.reading is None:
            entry = self._entries.get(ref)
            if entry is None:
                return
            entry.asking = None
            if error is None or gone:
                self._seen(entry, message.value)
            else:
                entry.trouble = str(error)
                self.island.ask_after(error)
                self._settle_waiting(entry, None)
            return
        reading = self._readings[message.reading]
        reading.open.pop(ref, None)
        if message.value is not None:
            reading.objects[ref] = message.value
            self.island.keep(ref, message.value)
        elif error is not None and error.outcome_unknown and (known := self.island.remembered(ref)) is not None:
            reading.objects[ref] = known
        else:
            reading.failures[ref] = absent(ref) if gone else ReadFailure(False, f"couldn't read {ref}: {error}")
            self.island.ask_after(error)
        self._answer_if_complete(reading)

    def _settle(self, entry: Entry, reading: Reading) -> None:
        """Enter what is known of one object into the reading, which no longer waits for it."""
        ref = entry.ref
        reading.open.pop(ref, None)
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
        waiting, entry.waiting = entry.waiting, {}
        for reading in waiting.values():
            if failure is None:
                self._settle(entry, reading)
            else:
                reading.open.pop(entry.ref, None)
                reading.failures[entry.ref] = failure
            self._answer_if_complete(reading)

    def _answer_if_complete(self, reading: Reading) -> None:
        if not reading.is_complete or reading.number not in self._readings:
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
        if not entry.seen:
            self.island.ask_after(error)
        before_ns = self.now_ns() - FIRST_ANSWER_NS
        for reading in [each for each in entry.waiting.values() if each.since_ns <= before_ns]:
            del entry.waiting[reading.number]
            self._settle(entry, reading)
            self._answer_if_complete(reading)

    def _entry_of(self, key: Hashable) -> Entry | None:
        return self._entries.get(key) if isinstance(key, ObjectRef) else None

    def _seen_before(self, ref: ObjectRef, value: Value) -> None:
        """An island node remembers the object."""
        entry = self._entries.get(ref)
        if entry is not None and not entry.seen:
            self._seen(entry, value, remembered=True)

    def _all_seen(self) -> Iterator[tuple[ObjectRef, Value | None]]:
        return ((ref, entry.value) for ref, entry in self._entries.items() if entry.seen)

    def _seen(self, entry: Entry, value: Value | None, *, remembered: bool = False) -> None:
        """Keep the object as it is now, None if it does not exist.

        Answer the readers that wait, and tell the others if their last answer was another. `remembered`: it is as it
        was before the API server went away, and is followed on.
        """
        told, entry.told = entry.told, UNTOLD
        entry.value = value
        entry.seen = entry.current = True
        entry.trouble = ""
        entry.at_ns = self.now_ns()
        entry.immutable = value is not None and bool(value.immutable)
        if not remembered:
            self.island.keep(entry.ref, value)
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
        """Work: a list of the objects; they are looked at in slices."""
        if not self.jobs.is_busy(NODE):
            self.jobs.do(NODE, self._drop_all_idle(tuple(self._entries.values())))

    def _drop_all_idle(self, entries: Iterable[Entry]) -> Iterator[None]:
        before_ns = self.now_ns() - self._idle_ns
        for entry in entries:
            is_idle = not any(entry.holders.values()) and not entry.waiting and entry.read_ns < before_ns
            if is_idle and self._entries.get(entry.ref) is entry:
                self.unfollow(entry.ref)
                if not entry.immutable:
                    entry.current = False
            yield

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Read how old an answer may be. Controllers write it on the node, by the size of the cluster.

        Work: constant.
        """
        seconds = whole_number(message.node.metadata.annotations.get(TTL_ANNOTATION))
        self._ttl_ns = DEFAULT_TTL_NS if seconds is None else seconds * SECOND_NS


def strategy_of(name: str) -> Strategy:
    """The strategy for a valid value of the configuration."""
    return Strategy(name)
