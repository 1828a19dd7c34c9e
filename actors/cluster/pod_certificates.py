"""`PodCertificatesActor`: gets certificates for pods, and renews them (KEP-4317, spec 8.7).

It is there with the feature gate PodCertificateRequest. For each podCertificate projection it makes a key, asks for a
certificate with a PodCertificateRequest, and follows the requests of this node from the first one on. Keys are in
memory only, so the next life of the agent asks anew. `pod_certificate_rules.py` has what becomes of an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import msgspec

from actors.cluster.list_watch import Follower
from actors.cluster.pod_certificate_rules import (
    ABANDONED_NS,
    JITTER_NS,
    MINUTE_NS,
    NOT_ISSUED,
    OVERDUE_NS,
    Asked,
    CertificateVerdict,
    Issued,
    event_of,
    issued_by,
    pause_ns,
    refusal_of,
    request_for,
    state_of,
    verdict_of,
)
from actors.kernel import ActorRef, Message, Pending, SoleMessage, handles, outcome_of
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
from config.objects import ObjectMeta, Pod, PodCertificateProjection, PodCertificateRequest, ServiceAccount
from runtime.api import Api, create, get
from runtime.metrics.kubelet import POD_CERTIFICATES
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.pod_keys import PodKey

CALL_LIMIT_NS = MINUTE_NS // 2
KEY_LIMIT_NS = 5 * MINUTE_NS
REQUESTS = "requests"
OVERDUE, EXPIRED = "CertificateOverdueForRefresh", "CertificateExpired"


class ProjectionKey(msgspec.Struct, frozen=True):
    uid: str
    place: CertificatePlace


class StepEnded(Message, frozen=True):
    """To itself: one step of asking has ended. `value`: its result; None with an `error`."""

    key: ProjectionKey
    flight: int
    value: ServiceAccount | PodKey | PodCertificateRequest | None
    error: str


class AskAgain(Message, frozen=True):
    """To itself: the pause after a failure is over."""

    key: ProjectionKey


class LookAtAll(SoleMessage, frozen=True):
    """To itself, each minute: some certificate may be due."""


class _Held(msgspec.Struct, eq=False):
    """One projection.

    `flight`: the number of the steps under way, 0 for none. `refused`: why it ended for good, by this `verdict`.
    `account`, `key`: results of the steps under way. `said`: events that were sent of `issued`.
    """

    pod: Pod
    projection: PodCertificateProjection
    issued: Issued | None = None
    asked: Asked | None = None
    refused: str = ""
    verdict: CertificateVerdict | None = None
    error: str = ""
    flight: int = 0
    account: str = ""
    key: PodKey | None = None
    failures: int = 0
    retry_ns: int = 0
    said: tuple[str, ...] = ()


class PodCertificatesActor(Follower):
    """See the module.

    `volumes`: told of new certificates. `new_key`: key type and UID of the pod -> key; it may take seconds.
    """

    health_limit_ns: ClassVar[int | None] = MINUTE_NS

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
        self._node = ObjectMeta(name=node_name)
        self._node_status = node_status
        self._volumes = volumes
        self._events = events
        self._new_key = new_key
        self._meters = meters
        self._counted: frozenset[tuple[str, str]] = frozenset()
        """Signers and states that a metric shows."""
        self._held: dict[ProjectionKey, _Held] = {}
        self._seen: dict[tuple[str, str], PodCertificateRequest] = {}
        """The requests of this node, by namespace and name."""
        self._flights = 0

    def on_start(self) -> None:
        self._volumes.tell(PodCertificatesStarted())

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(ReadPodCertificates)
    def read_pod_certificates(self, question: ReadPodCertificates) -> None:
        bundles: dict[CertificatePlace, CredentialBundle] = {}
        failures: dict[CertificatePlace, str] = {}
        for place in question.places:
            held = self._hold(question.pod, place)
            if held.refused:
                failures[place] = held.refused
            elif held.issued is not None:
                bundles[place] = held.issued.bundle
            else:
                failures[place] = f"{NOT_ISSUED}: {held.error}" if held.error else NOT_ISSUED
        question.reader.tell(PodCertificatesRead(question.tag, FrozenMap(bundles), FrozenMap(failures)))

    def _hold(self, pod: Pod, place: CertificatePlace) -> _Held:
        key = ProjectionKey(pod.metadata.uid, place)
        held = self._held.get(key)
        if held is not None:
            return held
        if not self._held:
            self.every(MINUTE_NS, LookAtAll())
        if not self.follows(REQUESTS):
            self._node_status.tell(FollowNode(self.ref))
            self.follow(REQUESTS, POD_CERTIFICATE_REQUESTS, field_selector=f"spec.nodeName={self._node.name}")
        held = self._held[key] = _Held(pod, _projection_of(pod, place))
        self._go_on(key, held)
        self._count()
        return held

    @handles(ReleaseObjects)
    def release_objects(self, message: ReleaseObjects) -> None:
        for key in [key for key in self._held if key.uid == message.uid]:
            del self._held[key]
            self.cancel_timer(key)
        if not self._held:
            self.cancel_timer(LookAtAll)
        self._count()

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        known, self._node = self._node.uid, message.node.metadata
        if not known:
            self._look_at_all()

    # --- what is due ------------------------------------------------------------------------------------------------

    @handles(LookAtAll)
    def look_at_all(self, _: LookAtAll) -> None:
        self._look_at_all()
        self._count()

    def _count(self) -> None:
        wall_ns = self.wall_ns()
        counts = Counter(
            (held.projection.signer_name, state_of(held.issued, held.verdict, wall_ns)) for held in self._held.values()
        )
        for gone in sorted(self._counted - counts.keys()):
            self._meters.drop(POD_CERTIFICATES, *gone)
        for labels, count in counts.items():
            self._meters.put(POD_CERTIFICATES, count, *labels)
        self._counted = frozenset(counts)

    def _look_at_all(self) -> None:
        for key, held in list(self._held.items()):
            self._go_on(key, held)

    @handles(AskAgain)
    def ask_again(self, message: AskAgain) -> None:
        held = self._held.get(message.key)
        if held is not None:
            self._go_on(message.key, held)

    def _go_on(self, key: ProjectionKey, held: _Held) -> None:
        if held.refused or held.flight:
            return
        wall_ns = self.wall_ns()
        self._tell_of_age(held, wall_ns)
        if held.asked is not None:
            found = self._seen.get((held.pod.metadata.namespace, held.asked.name))
            if found is not None:
                self._decide(held, held.asked, found)
                return
            if wall_ns < held.asked.abandon_ns:
                return
            held.asked = None  # somebody has deleted it
        is_due = held.issued is None or wall_ns >= held.issued.refresh_ns
        if is_due and wall_ns >= held.retry_ns and self._node.uid:
            self._ask(key, held)

    def _tell_of_age(self, held: _Held, wall_ns: int) -> None:
        if held.issued is None:
            return
        for reason, at_ns, text in (
            (OVERDUE, held.issued.refresh_ns + OVERDUE_NS, "PodCertificate refresh overdue"),
            (EXPIRED, held.issued.expires_ns, "PodCertificate expired"),
        ):
            if wall_ns > at_ns and reason not in held.said:
                held.said = (*held.said, reason)
                self._events.tell(pod_event(held.pod, "Warning", reason, text))

    def _decide(self, held: _Held, asked: Asked, found: PodCertificateRequest) -> None:
        verdict = verdict_of(found)
        if verdict.verdict is CertificateVerdict.WAITS:
            return
        if verdict.verdict is CertificateVerdict.ISSUED:
            issued = issued_by(found, asked.key, self._jitter_ns())
            if issued is None:
                held.error = f"PodCertificateRequest {asked.name} was issued without a certificate or its times"
                return
            held.issued, held.asked, held.error, held.said = issued, None, "", ()
        else:
            held.refused, held.verdict, held.asked = refusal_of(verdict), verdict.verdict, None
            self._events.tell(pod_event(held.pod, "Warning", *event_of(verdict, found)))
        self._count()
        self._volumes.tell(ObjectsChanged(frozenset({held.pod.metadata.uid})))

    def _jitter_ns(self) -> int:
        return int(self.chance.random() * JITTER_NS)

    # --- asking -----------------------------------------------------------------------------------------------------

    def _ask(self, key: ProjectionKey, held: _Held) -> None:
        """Read the account, make a key, create the request."""
        self._flights += 1
        held.flight = self._flights
        meta = held.pod.metadata
        call = get(SERVICE_ACCOUNTS, meta.namespace, held.pod.spec.service_account_name or "default")
        self._step(key, held, lambda: self._api.call(call, timeout_ns=CALL_LIMIT_NS))

    def _step(self, key: ProjectionKey, held: _Held, make: Callable[[], Pending[Any]]) -> None:
        flight = held.flight

        def ended(done: Pending[Any]) -> StepEnded:
            outcome = outcome_of(done)
            return StepEnded(key, flight, outcome.value, outcome.error_text)

        self.begin(make, ended)

    @handles(StepEnded)
    def step_ended(self, message: StepEnded) -> None:
        held = self._held.get(message.key)
        if held is None or held.flight != message.flight:
            return  # the pod has ended meanwhile
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
                call = create(POD_CERTIFICATE_REQUESTS, held.pod.metadata.namespace, document)
                self._step(message.key, held, lambda: self._api.call(call, timeout_ns=CALL_LIMIT_NS))
            case PodCertificateRequest():
                assert held.key is not None, "the step before made it"
                abandon_ns = self.wall_ns() + ABANDONED_NS + self._jitter_ns()
                held.asked = Asked(value.metadata.name, held.key, abandon_ns)
                held.flight, held.key, held.failures, held.error = 0, None, 0, ""
                self._go_on(message.key, held)
            case None:
                self._failed(message.key, held, message.error)

    def _failed(self, key: ProjectionKey, held: _Held, error: str) -> None:
        held.flight, held.key = 0, None
        held.failures += 1
        if error != held.error:
            self.log.warning("no certificate can be asked for, for pod %s: %s", held.pod.metadata.name, error)
        held.error = error
        pause = pause_ns(held.failures)
        held.retry_ns = self.wall_ns() + pause
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
        for each, held in list(self._held.items()):
            if each.uid == value.spec.pod_uid:
                self._go_on(each, held)


def _projection_of(pod: Pod, place: CertificatePlace) -> PodCertificateProjection:
    volume = next(each for each in pod.spec.volumes if each.name == place.volume)
    assert volume.projected is not None, "the place is of a projected volume"
    projection = volume.projected.sources[place.source].pod_certificate
    assert projection is not None, "the place is of a certificate"
    return projection
