"""`ImagePullActor`: the only one to pull images (spec 6.1, 6.2).

Each image has one flight per set of credentials, shared by all pods with the same ones, because one pod may not pull
what another may. Requests may be repeated: a container that waits already keeps its place, so a worker that is not sure
asks again. Each request gets one answer.

The pod's credentials are tried in order, then the node's, which are read when the flight begins, then those of the
node's credential programs (spec 6.3). These are asked for each flight, through `ImageCredentialsActor`, and waited for
when no other credential has worked. Until they answer the flight is not in the air, so a program that hangs holds up no
other image. Without any credential the pull is anonymous.

An image that is here may be open to the pod's service account. Then the programs are asked before the flight begins:
when one gives something for this account, no pull is needed.

Pods take turns within the limits of the node (`pull_turns.py`). A pull has no deadline, because an image may be large.
It is cancelled when no pod waits for it any more, so that a pull that hangs ends with its pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import ClassVar

from actors.images import pull_rules as rules
from actors.images.pull_credentials import CredentialFinder
from actors.images.pull_flights import (
    UNLIMITED,
    CredentialPrograms,
    Flight,
    ImageMeasured,
    PullEnded,
    PullLimits,
    PullWaiter,
    on_behalf_of,
    pull_ended,
    secrets_of,
    shown,
    size_in,
    together,
)
from actors.images.pull_rules import ALWAYS, BackOffs, ImageAction
from actors.images.pull_turns import PullTurns
from actors.images.record_keeping import IntentWritten, PullRecords
from actors.kernel import ActorRef, ActorStopped, Pending, SoleMessage, handles
from actors.messages.images import (
    ImagePulled,
    PodWaitedForImage,
    PullImage,
    PullWaits,
)
from actors.messages.node import ImagesChanged
from actors.messages.pods import ListPulls, PullInProgress
from config.credentials.docker_config import credentials_for
from runtime.cri import Cri
from runtime.cri.messages import ImageSpec, ImageStatusRequest, PullImageRequest, PullImageResponse
from runtime.cri.verbs import IMAGE_STATUS, PULL_IMAGE
from runtime.metrics import kubelet as names
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.docker_config_files import DockerConfigFiles, NodeCredentials
from runtime.traces.spans import under

SECOND_NS = 1_000_000_000
BEGINS_AT_MOST = 100
"""Flights that begin in one turn of the actor; the next begin in a later one."""


class StartPulls(SoleMessage, frozen=True):
    """To itself: more pulls may begin now."""


class ImagePullActor(CredentialFinder):
    """See the module.

    `node_status` hears of every pulled image, `status_manager` how long each pod waited.

    `docker_config` None: the node has no credentials of its own; `programs` None: no program has some for it.
    """

    mailbox_capacity: ClassVar[int] = 50_000
    max_effects: ClassVar[int] = 2 * UNLIMITED
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(
        self,
        cri: Cri,
        events: ActorRef,
        limits: PullLimits,
        node_status: ActorRef | None = None,
        docker_config: DockerConfigFiles | None = None,
        meters: Meters = UNMEASURED,
        status_manager: ActorRef | None = None,
        programs: CredentialPrograms | None = None,
        records: PullRecords | None = None,
    ) -> None:
        super().__init__(records, events, meters, docker_config, programs)
        self._numbers = 0
        self._status_manager = status_manager
        self._cri = cri
        self._node_status = node_status
        self._turns = PullTurns(limits, self.now_ns())
        self._begins = False
        self._waits: dict[str, dict[tuple[str, str], tuple[Flight, PullWaiter]]] = {}
        """UID -> container and image -> the flight that it waits for, and its place there."""
        self._back_offs = BackOffs()

    # --- asking -----------------------------------------------------------------------------------------------------

    @handles(PullImage)
    def pull_image(self, message: PullImage) -> None:
        verdict = rules.judge_image(message.image, ALWAYS, False)
        if verdict.action is ImageAction.REFUSE:
            retry_at_ns = self.now_ns() + rules.LONGEST_BACK_OFF_NS
            self._refuse(message, verdict.reason, verdict.message, retry_at_ns, *rules.refused(verdict))
            return
        uid = message.pod.metadata.uid
        self.watch(message.worker)
        if self._waits_for_records(message):
            return
        owner = uid if self._programs is not None and self._programs.want_token(verdict.image) else ""
        flight_key = (verdict.image, message.credentials, owner)
        flight = self._flights.get(flight_key)
        checks = False
        if message.present:
            checks = (flight is None or not flight.heard) and self._may_open_by_account(message, verdict.image)
            account = None if flight is None else flight.account
            if not checks and self._is_settled(message, verdict.image, account):
                return
        back_off = self._back_offs.holding(uid, verdict.image, self.now_ns())
        if back_off is not None:
            text = rules.back_off_message(message.image, back_off.reason, back_off.error)
            said = rules.backing_off(message.image)
            self._refuse(message, rules.IMAGE_PULL_BACK_OFF, text, back_off.until_ns, *said)
            return
        if flight is None:
            self._numbers += 1
            flight = self._flights[flight_key] = Flight(flight_key, self.now_ns(), self._numbers)
        flight.secrets.update(message.secrets)
        key = (uid, message.container)
        known = flight.waiters.get(key)
        if known is not None:
            # Its worker was restarted, or is not sure. A new waiter: the end of an earlier worker must not end it.
            waiter = flight.waiters[key] = PullWaiter(message, known.since_ns, known.checks)
            self._note_waiter(flight, waiter)
            self._tell_to_wait(flight, waiter)
            return
        other = self._waits.get(uid, {}).get((message.container, flight.image))
        if other is not None:
            self._leave(other[0], key)  # its secrets have changed while it waited
        waiter = PullWaiter(message, self.now_ns(), checks)
        flight.join(key, waiter)
        self._note_waiter(flight, waiter)
        self._ask_programs(flight)
        if not checks:
            self._say(message, rules.pulling(message.image))
        self._turns.join(flight, message.pod)
        self._start_pulls()
        self._tell_to_wait(flight, waiter)

    @handles(ActorStopped)
    def worker_stopped(self, message: ActorStopped) -> None:
        """The pod does not wait any more; cancel flights that nobody waits for.

        Work: a slice; one step for each pull that the pod waits for.
        """
        uid = message.ref.name
        self._forget_early(uid)
        self._back_offs.forget(uid)
        self.jobs.do(uid, self._leave_all(uid, self._waits.pop(uid, {}).values()))

    def _leave_all(self, uid: str, waits: Iterable[tuple[Flight, PullWaiter]]) -> Iterator[None]:
        for flight, waiter in waits:
            key = (uid, waiter.request.container)
            if flight.waiters.get(key) is waiter and self._flights.get(flight.key) is flight:
                self._leave(flight, key)
            yield
        self._start_pulls()

    def _leave(self, flight: Flight, key: tuple[str, str]) -> None:
        was_held = flight.is_held
        flight.leave(key)
        self._waits_no_more(key[0], key[1], flight)
        if flight.waiters:
            if was_held and not flight.is_held:
                self._turns.wait(flight)
        elif flight.call is not None:
            flight.called_off = True
            flight.call.cancel()  # `PullEnded` follows
        elif not flight.is_in_the_air:
            self._over(flight)

    def _note_waiter(self, flight: Flight, waiter: PullWaiter) -> None:
        request = waiter.request
        self._waits.setdefault(request.pod.metadata.uid, {})[request.container, flight.image] = flight, waiter

    def _waits_no_more(self, uid: str, container: str, flight: Flight) -> None:
        waits = self._waits.get(uid)
        found = None if waits is None else waits.get((container, flight.image))
        if waits is not None and found is not None and found[0] is flight:
            del waits[container, flight.image]
            if not waits:
                del self._waits[uid]

    def _forget(self, flight: Flight) -> None:
        super()._forget(flight)
        for uid, container in flight.waiters:
            self._waits_no_more(uid, container, flight)

    def _over(self, flight: Flight) -> None:
        """The flight ends without an image."""
        self._forget(flight)
        self._record_end(flight)

    # --- pulling ----------------------------------------------------------------------------------------------------

    @handles(StartPulls)
    def start_pulls(self, _: StartPulls) -> None:
        self._start_pulls()

    def _start_pulls(self) -> None:
        """Begin the pulls whose turn it is. One that ends at once may call this again, within the loop."""
        if self._begins:
            return
        self._begins = True
        for _ in range(BEGINS_AT_MOST):
            flight = self._turns.begin(self.now_ns())
            if flight is None:
                break
            if flight.started_ns is None:
                self._start(flight)
            else:
                self._try_next(flight)
        else:
            self.after(0, StartPulls())
        self._begins = False
        if self._turns.wait_ns:
            self.after(self._turns.wait_ns, StartPulls())

    def _tell_to_wait(self, flight: Flight, waiter: PullWaiter) -> None:
        if flight.started_ns is None:
            waiter.told_to_wait = True
            waiter.request.worker.tell(PullWaits(waiter.request.container, self._turns.why_not_yet(flight)))

    def _start(self, flight: Flight) -> None:
        flight.started_ns = self.now_ns()
        for waiter in flight.waiters.values():
            if waiter.told_to_wait:
                waiter.told_to_wait = False
                waiter.request.worker.tell(PullWaits(waiter.request.container, ""))
        flight.begin_again()
        if self._intend(flight):
            self._read_credentials(flight)

    @handles(IntentWritten)
    def intent_written(self, message: IntentWritten) -> None:
        flight = self._flights[message.tag.key]
        if not message.error and flight.waiters:
            self._read_credentials(flight)
            return
        self._turns.over(flight)
        self._over(flight)
        if message.error:
            self._failed(flight, f"failed to record image pull intent: {message.error}")
        self._start_pulls()

    def credentials_read(self, flight: Flight, node: NodeCredentials) -> None:
        if flight.waiters:
            self._try(flight, node)
        else:
            self._turns.over(flight)
            self._over(flight)
            self._start_pulls()

    def _try(self, flight: Flight, node: NodeCredentials) -> None:
        own = flight.key[1]
        others = (each for each in credentials_for(flight.image, node.entries) if each not in own)
        flight.untried = [*own, *others]
        if not self._goes_on(flight):
            flight.untried = [None]
            self._try_next(flight)

    def _goes_on(self, flight: Flight) -> bool:
        """Whether there is more to try, now or when the credential programs have answered."""
        if not flight.untried and flight.heard:
            flight.take_provided()
        if flight.untried:
            self._try_next(flight)
            return True
        if not flight.asked or flight.heard:
            return False
        flight.asks = True
        self._turns.over(flight)
        self._start_pulls()
        return True

    def programs_heard(self, flight: Flight) -> None:
        for key, waiter in list(flight.waiters.items()):
            if waiter.checks:
                flight.has_heard_for(waiter)
                if self._is_settled(waiter.request, flight.image, flight.account):
                    self._leave(flight, key)
                else:
                    self._say(waiter.request, rules.pulling(waiter.request.image))
        if not flight.waiters:
            return
        if flight.asks:
            flight.asks = False
            flight.take_provided()
            if flight.tried and not flight.untried:
                self._over(flight)
                self._failed(flight, together(flight.errors))
                return
            flight.untried = flight.untried or [None]
            flight.resumes = True
        self._turns.wait(flight)
        self._start_pulls()

    def _try_next(self, flight: Flight) -> None:
        image, key = flight.image, flight.key
        first = next(iter(flight.waiters.values()), None)
        pod = None if first is None else on_behalf_of(first.request.pod)
        annotations = {} if first is None else first.request.pod.metadata.annotations
        spec = ImageSpec(image=image, user_specified_image=image, annotations=annotations)
        request = PullImageRequest(image=spec, auth=shown(flight.next_credential()), sandbox_config=pod)

        trace = None if first is None else first.request.trace

        def make() -> Pending[PullImageResponse]:
            flight.call = self._cri.call(PULL_IMAGE, request)
            return flight.call

        secrets = secrets_of(request.auth)
        begin = make if trace is None else partial(under, trace, make)
        self.begin(begin, lambda done: pull_ended(key, done, secrets))

    @handles(PullEnded)
    def try_ended(self, message: PullEnded) -> None:
        flight = self._flights[message.key]
        called_off, flight.call, flight.called_off = flight.called_off, None, False
        flight.is_uncertain |= not message.certain
        if message.error and not called_off:
            flight.errors.append(message.error)
            if self._goes_on(flight):
                return
        self._turns.over(flight)
        if message.error and called_off and flight.waiters:
            flight.started_ns = None  # a container joined after the cancellation: pull again from the start
            self._record_end(flight)
            self._turns.wait(flight)
        elif message.error:
            self._over(flight)
            self._failed(flight, together(flight.errors) or message.error)
        else:
            self._forget(flight)
            self._record_pull(flight, message.image_ref)
            self._landed(flight)
        self._start_pulls()

    def _failed(self, flight: Flight, error: str) -> None:
        error = "; ".join((error, *flight.problems))
        reason, message = rules.reason_of(error), rules.pull_message(flight.image, error)
        uids = (uid for uid, _ in flight.waiters)
        until_ns = self._back_offs.failed(uids, flight.image, self.now_ns(), reason, message)
        for (uid, _), waiter in flight.waiters.items():
            request = waiter.request
            said = rules.pull_failed(request.image, reason, error)
            self._refuse(request, reason, message, until_ns[uid], *said, asking_ns=flight.asking_ns)

    def _landed(self, flight: Flight) -> None:
        if self._node_status is not None:
            self._node_status.tell(ImagesChanged())
        now_ns = self.now_ns()
        waited: list[tuple[PullImage, int, int]] = []
        for (uid, container), waiter in flight.waiters.items():
            self._back_offs.succeeded(uid, flight.image)
            request = waiter.request
            if self._status_manager is not None:  # before the worker, whose next status counts this time
                self._status_manager.tell(PodWaitedForImage(uid, waiter.since_ns, now_ns))
            request.worker.tell(ImagePulled(request.image, container))
            # A container that joined later has waited for only a part of the pull.
            since_ns = max(flight.started_ns or 0, waiter.since_ns)
            waited.append((request, now_ns - since_ns, now_ns - waiter.since_ns))
        self._measure(flight.image, tuple(waited))

    def _measure(self, image: str, waited: tuple[tuple[PullImage, int, int], ...]) -> None:
        """Ask for the size, which the event shows next to the time; nothing waits for it."""
        request = ImageStatusRequest(image=ImageSpec(image=image))
        self.begin(lambda: self._cri.call(IMAGE_STATUS, request), lambda done: ImageMeasured(size_in(done), waited))

    @handles(ImageMeasured)
    def image_measured(self, message: ImageMeasured) -> None:
        longest_ns = max((pull_ns for _, pull_ns, _ in message.waited), default=0)
        self._meters.took(names.PULL_DURATION, longest_ns, rules.size_range(message.size_bytes))
        for request, pull_ns, waited_ns in message.waited:
            self._say(request, rules.pulled(request.image, pull_ns, waited_ns, message.size_bytes))

    # --- telling ----------------------------------------------------------------------------------------------------

    @handles(ListPulls)
    def list_pulls(self, _: ListPulls) -> tuple[PullInProgress, ...]:
        return tuple(flight.progress(self.now_ns()) for flight in self._flights.values())
