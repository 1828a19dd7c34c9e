"""`PodCertificatesActor`: gets certificates for pods, and renews them (KEP-4317, spec 8.7).

It is there with the feature gate PodCertificateRequest. For each podCertificate projection it makes a key, asks for a
certificate with a PodCertificateRequest, and follows the requests of this node from the first one on. Keys are in
memory only, so the next life of the agent asks anew. `pod_certificate_rules.py` has what becomes of an answer.

All is kept by pod, and pods take turns to ask (`FairTurns`). What grows with one pod's projections is done in slices
(`PodJobs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, ClassVar

from actors.cluster.certificate_records import AskAgain, HeldProjection, LookAtAll, ProjectionKey, StepEnded
from actors.cluster.fair_turns import NODE, FairTurns
from actors.cluster.list_watch import Follower
from actors.cluster.moments import Moment
from actors.cluster.pod_certificate_rules import (
    ABANDONED_NS,
    JITTER_NS,
    MINUTE_NS,
    NOT_ISSUED,
    OVERDUE_NS,
    Asked,
    CertificateVerdict,
    event_of,
    issued_by,
    pause_ns,
    refusal_of,
    request_for,
    state_of,
    verdict_of,
)
from actors.cluster.pod_jobs import PodJobs
from actors.kernel import ActorRef, Pending, handles, outcome_of, part
from actors.messages.events import pod_event
from actors.messages.pods import FollowNode, NodeObserved
from actors.messages.references import (
    CertificatePlace,
    CredentialBundle,
    ObjectsChanged,
    PodCertificatesRead,
    PodCertificatesStarted,
    ReadPodCertificates,
    ReleaseObjects,
)
from config.api.resources import POD_CERTIFICATE_REQUESTS, SERVICE_ACCOUNTS
from config.frozen_map import FrozenMap
from config.objects import ObjectMeta, Pod, PodCertificateProjection, PodCertificateRequest, ServiceAccount, Volume
from config.pods.identity import is_critical
from runtime.api import Api, ApiCall, create, get, in_turn_of
from runtime.metrics.kubelet import POD_CERTIFICATES
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.pod_keys import PodKey

CALL_LIMIT_NS = MINUTE_NS // 2
KEY_LIMIT_NS = 5 * MINUTE_NS
ASKING_AT_MOST = 16
OF_POD_AT_MOST = 4
"""Projections that are asked for at the same time. A pod has few, and a key keeps a CPU busy."""
REQUESTS = "requests"
OVERDUE, EXPIRED = "CertificateOverdueForRefresh", "CertificateExpired"


class PodCertificatesActor(Follower):
    """See the module.

    `volumes`: told of new certificates. `new_key`: key type and UID of the pod -> key; it may take seconds.
    """

    health_limit_ns: ClassVar[int | None] = MINUTE_NS
    jobs = part(PodJobs)

    def __init__(
        self,
        api: Api,
        node_name: str,
        node_status: ActorRef,
        volumes: ActorRef,
        events: ActorRef,
        new_key: Callable[[str, str], PodKey],
        meters: Meters = UNMEASURED,
    ) -> None:
        super().__init__(api)
        self.jobs = PodJobs(self)
        self._node = ObjectMeta(name=node_name)
        self._node_status = node_status
        self._volumes = volumes
        self._events = events
        self._new_key = new_key
        self._meters = meters
        self._counts: Counter[tuple[str, str]] = Counter()
        """By signer and state."""
        self._pods: dict[str, dict[CertificatePlace, HeldProjection]] = {}
        """By UID."""
        self._asked: dict[tuple[str, str], ProjectionKey] = {}
        """For which projection a request was made, by its namespace and name."""
        self._turns: FairTurns[tuple[ProjectionKey, int]] = FairTurns(
            at_most=ASKING_AT_MOST, of_pod=OF_POD_AT_MOST, is_wanted=self._is_wanted
        )
        self._seen: dict[tuple[str, str], PodCertificateRequest] = {}
        """The requests of this node, by namespace and name."""
        self._flights = 0

    def on_start(self) -> None:
        self._volumes.tell(PodCertificatesStarted())

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(ReadPodCertificates)
    def read_pod_certificates(self, question: ReadPodCertificates) -> None:
        """Work: a slice; one step for each projection."""
        self.jobs.do(question.pod.metadata.uid, self._answer(question))

    def _answer(self, question: ReadPodCertificates) -> Iterator[None]:
        bundles: dict[CertificatePlace, CredentialBundle] = {}
        failures: dict[CertificatePlace, str] = {}
        volumes = {each.name: each for each in question.pod.spec.volumes if each.projected is not None}
        for place in question.places:
            held = self._hold(question.pod, place, volumes[place.volume])
            if held.refused:
                failures[place] = held.refused
            elif held.issued is not None:
                bundles[place] = held.issued.bundle
            else:
                failures[place] = f"{NOT_ISSUED}: {held.error}" if held.error else NOT_ISSUED
            yield
        question.reader.tell(PodCertificatesRead(question.tag, FrozenMap(bundles), FrozenMap(failures)))

    def _hold(self, pod: Pod, place: CertificatePlace, volume: Volume) -> HeldProjection:
        key = ProjectionKey(pod.metadata.uid, place)
        held = self._held(key)
        if held is not None:
            return held
        if not self._pods:
            self.every(MINUTE_NS, LookAtAll())
        if not self.follows(REQUESTS):
            self._node_status.tell(FollowNode(self.ref))
            self.follow(REQUESTS, POD_CERTIFICATE_REQUESTS, field_selector=f"spec.nodeName={self._node.name}")
        held = self._pods.setdefault(key.uid, {})[place] = HeldProjection(pod, _projection_of(volume, place))
        self._go_on(key, held)
        self._count(held)
        return held

    def _held(self, key: ProjectionKey) -> HeldProjection | None:
        return self._pods.get(key.uid, {}).get(key.place)

    @handles(ReleaseObjects)
    def release_objects(self, message: ReleaseObjects) -> None:
        """Work: a slice; one step for each projection of the pod."""
        self.jobs.do(message.uid, self._release(message.uid))

    def _release(self, uid: str) -> Iterator[None]:
        held_of_pod = self._pods.pop(uid, {})
        self._turns.forget(uid)
        if not self._pods:
            self.cancel_timer(LookAtAll)
        for place, held in held_of_pod.items():
            self.cancel_timer(ProjectionKey(uid, place))
            self._forget_request(held)
            self._uncount(held)
            yield

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: a list of the pods, once; their projections are looked at in slices."""
        known, self._node = self._node.uid, message.node.metadata
        if not known:
            self._look_at_all()

    # --- what is due ------------------------------------------------------------------------------------------------

    @handles(LookAtAll)
    def look_at_all(self, _: LookAtAll) -> None:
        """Work: a list of the pods; their projections are looked at in slices."""
        if not self.jobs.is_busy(NODE):
            self._look_at_all()

    def _look_at_all(self) -> None:
        self.jobs.do(NODE, self._look_at(tuple(self._pods)))

    def _look_at(self, uids: Iterable[str]) -> Iterator[None]:
        for uid in uids:
            for place in tuple(self._pods.get(uid, ())):
                key = ProjectionKey(uid, place)
                held = self._held(key)
                if held is not None:
                    self._go_on(key, held)
                    self._count(held)
                yield

    def _count(self, held: HeldProjection) -> None:
        labels = (held.projection.signer_name, state_of(held.issued, held.verdict, self._moment()))
        if labels != held.counted:
            self._uncount(held)
            held.counted = labels
            self._counts[labels] += 1
            self._meters.put(POD_CERTIFICATES, self._counts[labels], *labels)

    def _uncount(self, held: HeldProjection) -> None:
        labels, held.counted = held.counted, None
        if labels is None:
            return
        self._counts[labels] -= 1
        if self._counts[labels]:
            self._meters.put(POD_CERTIFICATES, self._counts[labels], *labels)
        else:
            del self._counts[labels]
            self._meters.drop(POD_CERTIFICATES, *labels)

    @handles(AskAgain)
    def ask_again(self, message: AskAgain) -> None:
        """Work: one projection."""
        held = self._held(message.key)
        if held is not None:
            self._go_on(message.key, held)

    def _go_on(self, key: ProjectionKey, held: HeldProjection) -> None:
        if held.refused or held.flight:
            return
        moment = self._moment()
        self._tell_of_age(held, moment)
        if held.asked is not None:
            found = self._seen.get((held.pod.metadata.namespace, held.asked.name))
            if found is not None:
                self._decide(held, held.asked, found)
                return
            if moment.now_ns < held.asked.abandon_ns:
                return
            self._forget_request(held)  # somebody has deleted it
        is_due = held.issued is None or moment.since_ns(held.issued.asked) >= held.issued.refresh_ns
        if is_due and moment.now_ns >= held.retry_ns and self._node.uid:
            self._ask(key, held)

    def _tell_of_age(self, held: HeldProjection, moment: Moment) -> None:
        if held.issued is None:
            return
        age_ns = moment.since_ns(held.issued.asked)
        for reason, most_ns, text in (
            (OVERDUE, held.issued.refresh_ns + OVERDUE_NS, "PodCertificate refresh overdue"),
            (EXPIRED, held.issued.expires_ns, "PodCertificate expired"),
        ):
            if age_ns > most_ns and reason not in held.said:
                held.said = (*held.said, reason)
                self._events.tell(pod_event(held.pod, "Warning", reason, text))

    def _decide(self, held: HeldProjection, asked: Asked, found: PodCertificateRequest) -> None:
        verdict = verdict_of(found)
        if verdict.verdict is CertificateVerdict.WAITS:
            return
        if verdict.verdict is CertificateVerdict.ISSUED:
            issued = issued_by(found, asked, self._jitter_ns())
            if issued is None:
                held.error = f"PodCertificateRequest {asked.name} was issued without a certificate or its times"
                return
            held.issued, held.error, held.said = issued, "", ()
        else:
            held.refused, held.verdict = refusal_of(verdict), verdict.verdict
            self._events.tell(pod_event(held.pod, "Warning", *event_of(verdict, found)))
        self._forget_request(held)
        self._count(held)
        self._volumes.tell(ObjectsChanged(frozenset({held.pod.metadata.uid})))

    def _forget_request(self, held: HeldProjection) -> None:
        if held.asked is not None:
            self._asked.pop((held.pod.metadata.namespace, held.asked.name), None)
            held.asked = None

    def _moment(self) -> Moment:
        return Moment(self.now_ns(), self.wall_ns())

    def _jitter_ns(self) -> int:
        return int(self.chance.random() * JITTER_NS)

    # --- asking -----------------------------------------------------------------------------------------------------

    def _ask(self, key: ProjectionKey, held: HeldProjection) -> None:
        """Read the account, make a key, create the request, when the turn of the pod has come."""
        self._flights += 1
        held.flight = self._flights
        self._turns.wait(key.uid, (key, held.flight), urgent=is_critical(held.pod))
        self._begin_turns()

    def _is_wanted(self, turn: tuple[ProjectionKey, int]) -> bool:
        held = self._held(turn[0])
        return held is not None and held.flight == turn[1]

    def _begin_turns(self) -> None:
        while (turn := self._turns.begin()) is not None:
            key = turn[1][0]
            held = self._pods[key.uid][key.place]
            meta = held.pod.metadata
            self._call(
                key, held, get(SERVICE_ACCOUNTS, meta.namespace, held.pod.spec.service_account_name or "default")
            )

    def _end_turn(self, key: ProjectionKey) -> None:
        self._turns.over(key.uid)
        self._begin_turns()

    def _call(self, key: ProjectionKey, held: HeldProjection, call: ApiCall[Any]) -> None:
        of_pod = in_turn_of(call, key.uid, urgent=is_critical(held.pod))
        self._step(key, held, lambda: self._api.call(of_pod, timeout_ns=CALL_LIMIT_NS))

    def _step(self, key: ProjectionKey, held: HeldProjection, make: Callable[[], Pending[Any]]) -> None:
        flight = held.flight

        def ended(done: Pending[Any]) -> StepEnded:
            outcome = outcome_of(done)
            return StepEnded(key, flight, outcome.value, outcome.error_text)

        self.begin(make, ended)

    @handles(StepEnded)
    def step_ended(self, message: StepEnded) -> None:
        """Work: one projection."""
        held = self._held(message.key)
        if held is None or held.flight != message.flight:
            self._end_turn(message.key)  # the pod has ended meanwhile
            return
        value, uid = message.value, message.key.uid
        match value:
            case ServiceAccount():
                held.account = value.metadata.uid
                lane, kind = self.lane("pod-keys", size=1, per_key=1), held.projection.key_type
                self._step(
                    message.key, held, lambda: lane.submit(uid, self._new_key, kind, uid, deadline_ns=KEY_LIMIT_NS)
                )
            case PodKey():
                held.key = value
                document = request_for(held.pod, held.projection, value, held.account, self._node)
                self._call(message.key, held, create(POD_CERTIFICATE_REQUESTS, held.pod.metadata.namespace, document))
            case PodCertificateRequest():
                assert held.key is not None, "the step before made it"
                moment = self._moment()
                abandon_ns = moment.now_ns + ABANDONED_NS + self._jitter_ns()
                held.asked = Asked(value.metadata.name, held.key, moment, abandon_ns)
                self._asked[held.pod.metadata.namespace, held.asked.name] = message.key
                held.flight, held.key, held.failures, held.error = 0, None, 0, ""
                self._go_on(message.key, held)
                self._end_turn(message.key)
            case None:
                self._failed(message.key, held, message.error)
                self._end_turn(message.key)

    def _failed(self, key: ProjectionKey, held: HeldProjection, error: str) -> None:
        held.flight, held.key = 0, None
        held.failures += 1
        if error != held.error:
            self.log.warning("no certificate can be asked for, for pod %s: %s", held.pod.metadata.name, error)
        held.error = error
        pause = pause_ns(held.failures)
        held.retry_ns = self.now_ns() + pause
        self.after(pause, AskAgain(key), key=key)

    # --- following --------------------------------------------------------------------------------------------------

    def listed(self, key: Hashable, objects: tuple[Any, ...]) -> None:
        self._seen = {(each.metadata.namespace, each.metadata.name): each for each in objects}
        self._look_at_all()

    def changed(self, key: Hashable, event_type: str, value: Any) -> None:
        meta = value.metadata
        if event_type == "DELETED":
            self._seen.pop((meta.namespace, meta.name), None)
            return
        self._seen[meta.namespace, meta.name] = value
        asked = self._asked.get((meta.namespace, meta.name))
        held = None if asked is None else self._held(asked)
        if asked is not None and held is not None:
            self._go_on(asked, held)


def _projection_of(volume: Volume, place: CertificatePlace) -> PodCertificateProjection:
    assert volume.projected is not None, "the place is of a projected volume"
    projection = volume.projected.sources[place.source].pod_certificate
    assert projection is not None, "the place is of a certificate"
    return projection
