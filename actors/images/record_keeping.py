"""`RecordKeeper`: the part of `ImagePullActor` that keeps pull records and files in step.

See spec 6.4.

The files are read once, at the start. While they cannot be read, nobody knows who may use which image: no pull begins,
and requests are refused after each try. Changes are written on a lane of their own, one after the other. The log
reports a change that cannot be written. The book goes on, and the next start asks for credentials where needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, ClassVar

import msgspec

from actors.cluster.fair_turns import NODE
from actors.cluster.pod_jobs import PodJobs
from actors.images import pull_rules as rules
from actors.images.access_rules import Access, Shown
from actors.images.pull_book import Changes, PullBook
from actors.images.pull_flights import Flight, FlightTag
from actors.images.pull_rules import IF_NOT_PRESENT, NEVER, AccessPolicy, ImageEvent
from actors.kernel import Actor, ActorRef, Message, SoleMessage, handles, part
from actors.messages.events import pod_event
from actors.messages.images import ImagePulled, ImagePullFailed, ImageRemoved, ImagesSeen, PullImage
from actors.model.pull_records import PullAccount
from config.values.api_time import api_time
from runtime.metrics import kubelet as names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.pull_record_files import PULLED, PULLING, PullFiles, PullRecordFiles

SECOND_NS = 1_000_000_000
DISK_LIMIT_NS = 10 * SECOND_NS
LOAD_AGAIN_NS = 10 * SECOND_NS
LOADS_AT_MOST = 4
"""Loads that hang at the same time; the next one waits for one of them."""
LANE = "pull-records"
_SAID = ("false", "true")
_GAUGES = (names.PULL_INTENTS, names.PULLED_RECORDS, names.PULL_INTENTS_PERCENT, names.PULLED_RECORDS_PERCENT)


class PullRecords(msgspec.Struct, frozen=True):
    """The files and the book. Both outlive a restart of the actor.

    The limits are those of a kubelet's cache; the metrics show how full it would be.
    """

    files: PullRecordFiles
    book: PullBook
    intents_at_most: int = 1
    records_at_most: int = 1


class RecordsLoaded(Message, frozen=True):
    """To itself: what the files say; None: they cannot be read (`error`)."""

    files: PullFiles | None
    error: str


class RecordsWritten(Message, frozen=True):
    """To itself: the changes are on disk, or not (`error`)."""

    error: str


class IntentWritten(Message, frozen=True):
    """To itself: the pull of that flight may begin, or must not (`error`)."""

    tag: FlightTag
    error: str


class LoadRecords(SoleMessage, frozen=True):
    """To itself: read the files again."""


class RecordKeeper(Actor):
    """See the module. `records` None: nothing is kept, and every image is open to every pod."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS
    jobs = part(PodJobs)

    def __init__(self, records: PullRecords | None, events: ActorRef, meters: Meters = UNMEASURED) -> None:
        super().__init__()
        self.jobs = PodJobs(self)
        self._events = events
        self._meters = meters
        self._records = records
        self._book = PullBook(AccessPolicy()) if records is None else records.book
        self._loads = 0
        self._early: dict[str, dict[Hashable, PullImage]] = {}
        """UID -> the requests that came before the records."""

    def on_start(self) -> None:
        self._book.forget_flights(self.now_ns())
        if not self._book.is_loaded:
            self._load()

    def pull_image(self, message: PullImage) -> None:
        """Answer a question that has waited for the records."""
        raise NotImplementedError

    def _waits_for_records(self, message: PullImage) -> bool:
        if not self._book.is_loaded:
            self._early.setdefault(message.pod.metadata.uid, {})[message.coalesce_key()] = message
        return not self._book.is_loaded

    def _forget_early(self, uid: str) -> None:
        self._early.pop(uid, None)

    def _take_early(self) -> Iterator[PullImage]:
        """The requests that have waited, in slices, as far as their pods still wait."""
        while self._early:
            uid = next(iter(self._early))
            for key in tuple(self._early.get(uid, ())):
                request = self._early.get(uid, {}).pop(key, None)
                if request is not None:
                    yield request
            self._early.pop(uid, None)

    def _answer_early(self) -> Iterator[None]:
        for each in self._take_early():
            self.pull_image(each)
            yield

    def _refuse_early(self, error: str) -> Iterator[None]:
        retry_at_ns = self.now_ns() + LOAD_AGAIN_NS
        text = f"the records of pulled images cannot be read, so no image may be used: {error}"
        for each in self._take_early():
            said = rules.pull_failed(each.image, rules.ERR_IMAGE_PULL, text)
            self._refuse(each, rules.ERR_IMAGE_PULL, text, retry_at_ns, *said)
            yield

    @handles(LoadRecords)
    def load_again(self, _: LoadRecords) -> None:
        self._load()

    def _load(self) -> None:
        assert self._records is not None, "a book without files needs none"
        files, key = self._records.files, f"load {self._loads % LOADS_AT_MOST}"
        self._loads += 1  # a load that hangs keeps its key, and must not hold up the next one
        lane = self.lane(LANE, size=1, per_key=1)
        self.attempt(lambda: lane.submit(key, files.load, deadline_ns=DISK_LIMIT_NS), RecordsLoaded)

    @handles(RecordsLoaded)
    def _loaded(self, message: RecordsLoaded) -> None:
        if message.files is None:
            self.log.warning("the records of pulled images cannot be read: %s", message.error)
            self.after(LOAD_AGAIN_NS, LoadRecords())
            self.jobs.do(NODE, self._refuse_early(message.error))
            return
        for problem in self._book.load(message.files, self.now_ns()):
            self.log.warning("a record of pulled images cannot be used: %s", problem)
        for gauge in _GAUGES:
            self._meters.put(gauge, 0)
        self.jobs.do(NODE, self._answer_early())

    # --- what a flight does to the book -----------------------------------------------------------------------------

    def _intend(self, flight: Flight) -> bool:
        """Whether the pull may begin at once; otherwise `IntentWritten` follows."""
        flight.intended = True
        changes = self._book.intend(flight.image, flight.named, self.now_ns())
        if not changes or self._records is None:
            return True
        files, tag = self._records.files, FlightTag(flight.key, flight.number)
        lane = self.lane(LANE, size=1, per_key=1)
        self.attempt(
            lambda: lane.submit(LANE, files.apply, changes, deadline_ns=DISK_LIMIT_NS),
            lambda _, error: IntentWritten(tag, error),
        )
        self._measure_records(PULLING)
        return False

    def _record_pull(self, flight: Flight, image_ref: str) -> None:
        """The flight has brought the image."""
        flight.intended = False
        grants, now_ns = flight.grants(), self.now_ns()
        self._commit(self._book.pulled(flight.image, image_ref, grants, now_ns, self._time()))

    def _record_end(self, flight: Flight) -> None:
        """The flight is over, or begins anew, without an image."""
        if flight.intended:
            flight.intended = False
            self._commit(self._book.ended(flight.image, self.now_ns(), certain=not flight.is_uncertain))

    def _access(self, message: PullImage, image: str, account: PullAccount | None) -> Access:
        """Whether the pod may use an image that is here."""
        shown = Shown(tuple(each.secret for each in message.secrets), account)
        access, changes = self._book.access(image, message.present, shown, self.now_ns(), self._time())
        self._commit(changes)
        self._meters.count(names.MUST_PULL_CHECKS, access.value)
        self._meters.count(names.ENSURE_IMAGE, message.policy.lower(), _SAID[True], _SAID[not access.is_open])
        return access

    def _is_settled(self, message: PullImage, image: str, account: PullAccount | None = None) -> bool:
        """Whether an image that is here needs no pull: the pod may use it, or must not and is refused.

        `account`: for which a credential program has given something.
        """
        if self._access(message, image, account).is_open:
            verdict = rules.judge_image(message.image, IF_NOT_PRESENT, True)
            if verdict.said is not None:
                self._say(message, verdict.said)
            message.worker.tell(ImagePulled(message.image, message.container, present=True))
            return True
        if message.policy != NEVER:
            return False
        # In the words for an image that is not here: whoever may not use it does not learn that it is.
        verdict = rules.judge_image(message.image, NEVER, False)
        retry_at_ns = self.now_ns() + rules.FIRST_BACK_OFF_NS
        self._refuse(message, verdict.reason, verdict.message, retry_at_ns, *rules.refused(verdict))
        return True

    # --- what the runtime has ---------------------------------------------------------------------------------------

    @handles(ImagesSeen)
    def images_seen(self, message: ImagesSeen) -> None:
        self._commit(self._book.seen(message.images, message.began_ns, self.now_ns(), self._time()))

    @handles(ImageRemoved)
    def image_removed(self, message: ImageRemoved) -> None:
        self._commit(self._book.removed(message.image_ref, message.began_ns))

    # --- the files --------------------------------------------------------------------------------------------------

    def _commit(self, changes: Changes) -> None:
        if not changes or self._records is None:
            return
        files = self._records.files
        lane = self.lane(LANE, size=1, per_key=1)
        self.attempt(lambda: lane.submit(LANE, files.apply, changes), lambda _, error: RecordsWritten(error))
        self._measure_records(*(each.directory for each in changes))

    @handles(RecordsWritten)
    def _written(self, message: RecordsWritten) -> None:
        if message.error:
            self.log.warning("the records of pulled images cannot be written: %s", message.error)

    def _measure_records(self, *directories: str) -> None:
        """Count what is in these directories, which are written to.

        Until the first write the gauges are 0, as those of a kubelet.
        """
        book, records = self._book, self._records
        if records is None:
            return
        if PULLING in directories:
            self._meters.put(names.PULL_INTENTS, book.intents)
            self._meters.put(names.PULL_INTENTS_PERCENT, _percent(book.intents, records.intents_at_most))
        if PULLED in directories:
            self._meters.put(names.PULLED_RECORDS, book.records)
            self._meters.put(names.PULLED_RECORDS_PERCENT, _percent(book.records, records.records_at_most))

    def _time(self) -> str:
        return api_time(self.wall_ns()) or ""

    # --- telling ----------------------------------------------------------------------------------------------------

    def _refuse(
        self,
        request: PullImage,
        reason: str,
        text: str,
        retry_at_ns: int,
        *said: ImageEvent | None,
        asking_ns: int = 0,
    ) -> None:
        """Refuse a request. `asking_ns`: how long the credential programs took.

        Only a container has a field path. For a mounted image, the worker reports what it means for containers.
        """
        for each in said if request.field_path else said[:1]:
            if each is not None:
                self._say(request, each)
        request.worker.tell(ImagePullFailed(request.image, request.container, reason, text, retry_at_ns, asking_ns))

    def _say(self, request: PullImage, said: ImageEvent) -> None:
        self._events.tell(pod_event(request.pod, said.type, said.reason, said.message, request.field_path))


def _percent(count: int, at_most: int) -> Any:
    return min(100, 100 * count // max(1, at_most))
