"""`NodeCertificateActor`: gets the node's certificate signed, and renews it (spec 17.2, 17.3).

A node may have two of these actors. With `serverTLSBootstrap` one requests the serving certificate, for the addresses
in the Node object. Somebody has to approve that. Until then, and after a denial, the node serves with its present
certificate, or not at all. With `rotateCertificates` another renews the client certificate for the API server. The
users of the files reread them by themselves. Only one request is under way at a time; one without a decision after a
quarter of an hour is made anew.

An expired client certificate (the machine slept, or nobody approved in time) cannot even request its successor. Then
the node asks with its bootstrap credentials, as at its first start, without a restart of the agent. If it has none, it
logs that somebody has to put a certificate in place.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import ClassVar, TypeVar

import msgspec

from actors.kernel import Actor, ActorRef, DeadlineExceededError, LaneExhaustedError, SoleMessage, handles
from actors.messages.pods import FollowNode, NodeObserved
from actors.node.certificate_rules import CertificateVerdict, renewal_at_ns, serving_names, verdict_of, why_due
from config.api.resources import CERTIFICATE_SIGNING_REQUESTS
from config.objects import CertificateSigningRequest, CertificateSigningRequestSpec, ObjectMeta
from runtime.api import Api, ApiError, BootstrapApi, create, get
from runtime.metrics.families import Family
from runtime.metrics.kubelet_api import CLIENT_RENEWAL_ERRORS, SERVER_CERTIFICATE_AGE, SERVER_RENEWAL_ERRORS
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.certificate_keys import CertificateKeys, HeldCertificate

T = TypeVar("T")

SECOND_NS = 1_000_000_000
CALL_LIMIT_NS = 30 * SECOND_NS
DISK_LIMIT_NS = 60 * SECOND_NS
DECIDED_WITHIN_NS = 15 * 60 * SECOND_NS
LOOK_FIRST_NS, LOOK_MAX_NS = SECOND_NS, 15 * SECOND_NS
AGAIN_FIRST_NS, AGAIN_MAX_NS = 2 * SECOND_NS, 32 * SECOND_NS
CHECK_NS = 3600 * SECOND_NS
"""The longest pause between checks.

Certificates last for days, but the wall clock may be set meanwhile.
"""


WITHOUT = "; the one in use has ended: begin the agent with --bootstrap-kubeconfig, or put a valid one in its place"


class CertificatePurpose(msgspec.Struct, frozen=True):
    """What a certificate is for. `named`: it holds the addresses of the node.

    `failures` counts failed tries; `ages` has the age of each certificate that was replaced.
    """

    name: str
    signer: str
    usages: tuple[str, ...]
    named: bool
    failures: Family
    ages: Family | None = None


SERVING = CertificatePurpose(
    "serving",
    "kubernetes.io/kubelet-serving",
    ("digital signature", "server auth"),
    named=True,
    failures=SERVER_RENEWAL_ERRORS,
    ages=SERVER_CERTIFICATE_AGE,
)
CLIENT = CertificatePurpose(
    "client",
    "kubernetes.io/kube-apiserver-client-kubelet",
    ("digital signature", "client auth"),
    named=False,
    failures=CLIENT_RENEWAL_ERRORS,
)


def certificate_request(purpose: CertificatePurpose, pem: bytes, name: str = "") -> CertificateSigningRequest:
    """The signing request object for the request in `pem`. Without a name the API server generates one."""
    request = base64.b64encode(pem).decode()
    return CertificateSigningRequest(
        metadata=ObjectMeta(name=name) if name else ObjectMeta(generate_name="csr-"),
        spec=CertificateSigningRequestSpec(request=request, signer_name=purpose.signer, usages=purpose.usages),
    )


class Consider(SoleMessage, frozen=True):
    """To itself: check whether a certificate is due."""


class LookAtRequest(SoleMessage, frozen=True):
    """To itself: check whether the request is decided."""


class NodeCertificateActor(Actor):
    """See the module.

    `node_status` sends it the Node object. `bootstrap`: for the client certificate only.
    """

    health_limit_ns: ClassVar[int | None] = 300 * SECOND_NS

    def __init__(
        self,
        purpose: CertificatePurpose,
        api: Api,
        keys: CertificateKeys,
        node_name: str,
        node_status: ActorRef,
        bootstrap: BootstrapApi | None = None,
        meters: Meters = UNMEASURED,
    ) -> None:
        super().__init__()
        self._meters = meters
        self._purpose = purpose
        self._api = api
        self._bootstrap = bootstrap
        self._asked_of = api
        self._keys = keys
        self._user = f"system:node:{node_name}"
        self._node_status = node_status
        self._names: tuple[str, ...] = ()
        self._answered: tuple[str, ...] = ()
        """The names that the certificate in use was requested for.

        If it lacks some, the cluster grants no more.
        """
        self._asked: tuple[str, ...] = ()
        self._held: HeldCertificate | None = None
        self._chance = self.chance.random()
        self._request = ""
        self._asked_at_ns = 0
        self._look_ns = LOOK_FIRST_NS
        self._again_ns = AGAIN_FIRST_NS
        self._said = ""

    def on_start(self) -> None:
        self.ref.tell(Consider())

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: constant."""
        names = serving_names(message.node) if self._purpose.named else ()
        if names and names != self._names:
            self._names = names
            self.ref.tell(Consider())

    @handles(Consider)
    async def consider(self, _: Consider) -> None:
        """Work: constant."""
        if not self._request:
            # Subscribe each time: the actor that follows the node may have been restarted.
            self._node_status.tell(FollowNode(self.ref))
        if self._has_ended():
            # It may be unknown yet, or somebody has put another one in place meanwhile.
            self._held = await self._on_lane(self._keys.held, "the certificate directory")
        if self._request:
            return
        if self._purpose.named and not self._names:
            self.after(CHECK_NS, Consider())
            return
        renew_at_ns = 0 if self._held is None else renewal_at_ns(self._held, self._chance)
        names = () if self._names == self._answered else self._names
        why = why_due(self._held, names, renew_at_ns, self.wall_ns())
        if not why:
            self.after(min(CHECK_NS, max(SECOND_NS, renew_at_ns - self.wall_ns())), Consider())
            return
        try:
            await self._ask(why)
        except (ApiError, DeadlineExceededError, LaneExhaustedError, OSError, ValueError) as failure:
            hint = self._has_ended() and self._purpose is CLIENT and self._bootstrap is None
            self._try_again(f"a {self._purpose.name} certificate cannot be asked for: {failure}{WITHOUT * hint}")

    def _has_ended(self) -> bool:
        return self._held is None or self._held.ends_ns <= self.wall_ns()

    async def _way(self) -> Api:
        """The API access for a request: the node's own, or the bootstrap's.

        The bootstrap's is used once the node's certificate has expired.
        """
        if self._bootstrap is None or not self._has_ended():
            return self._api
        return await self._on_lane(self._bootstrap.api, "the bootstrap's credentials")

    async def _ask(self, why: str) -> None:
        names = self._asked = self._names
        user = self._user
        pem: bytes = await self._on_lane(lambda: self._keys.request(user, names), "a new key")
        document = certificate_request(self._purpose, pem)
        call = create(CERTIFICATE_SIGNING_REQUESTS, "", document)
        api = self._asked_of = await self._way()
        made = await self.wait(api.call(call, timeout_ns=CALL_LIMIT_NS), timeout_ns=CALL_LIMIT_NS)
        self._request = made.metadata.name
        self._asked_at_ns = self.now_ns()
        self._look_ns = LOOK_FIRST_NS
        what, name = self._purpose.name, self._request
        self.log.info("a %s certificate is asked for, as %s: request %s waits for approval", what, why, name)
        self.after(self._look_ns, LookAtRequest())

    @handles(LookAtRequest)
    async def look_at_request(self, _: LookAtRequest) -> None:
        """Work: constant."""
        if not self._request:
            return
        call = get(CERTIFICATE_SIGNING_REQUESTS, "", self._request)
        try:
            found = await self.wait(self._asked_of.call(call, timeout_ns=CALL_LIMIT_NS), timeout_ns=CALL_LIMIT_NS)
        except (ApiError, DeadlineExceededError) as failure:
            if isinstance(failure, ApiError) and failure.not_found:
                self._try_again(f"request {self._request} has gone")
            elif self._asked_of is self._api and self._bootstrap is not None and self._has_ended():
                self._try_again(f"the certificate has ended before request {self._request} was decided")
            elif self._is_overdue():
                self._try_again(f"what has become of request {self._request} cannot be seen: {failure}")
            else:
                self._look_later()
            return
        verdict, why = verdict_of(found)
        if verdict is CertificateVerdict.ISSUED:
            await self._accept(found)
        elif verdict is not CertificateVerdict.WAITS:
            self._try_again(f"request {self._request} was {verdict.value}: {why}")
        elif self._is_overdue():
            self._try_again(f"nobody has decided about request {self._request}; `kubectl certificate approve` does")
        else:
            self._look_later()

    async def _accept(self, found: CertificateSigningRequest) -> None:
        assert found.status is not None, "what is issued has a status"
        try:
            certificate = base64.b64decode(found.status.certificate or "", validate=True)
            held: HeldCertificate = await self._on_lane(lambda: self._keys.accept(certificate), "the certificate")
        except (ValueError, OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            self._try_again(f"the certificate of request {self._request} cannot be used: {failure}")
            return
        before, self._held, self._request = self._held, held, ""
        if before is not None and self._purpose.ages is not None:
            self._meters.took(self._purpose.ages, self.wall_ns() - before.begins_ns)
        self._answered = self._asked
        if left_out := sorted(set(self._asked) - set(held.names)):
            self.log.warning("the %s certificate is not for %s", self._purpose.name, ", ".join(left_out))
        self._chance = self.chance.random()
        self._again_ns = AGAIN_FIRST_NS
        self._said = ""
        self.log.info("the %s certificate is new, for %s", self._purpose.name, ", ".join((self._user, *held.names)))
        self.ref.tell(Consider())

    def _is_overdue(self) -> bool:
        return self.now_ns() - self._asked_at_ns > DECIDED_WITHIN_NS

    def _look_later(self) -> None:
        self._look_ns = min(2 * self._look_ns, LOOK_MAX_NS)
        self.after(self._look_ns, LookAtRequest())

    def _try_again(self, why: str) -> None:
        self._meters.count(self._purpose.failures)
        self._request = ""
        if why != self._said:
            self._said = why
            self.log.warning("%s", why)
        self.after(self._again_ns, Consider())
        self._again_ns = min(2 * self._again_ns, AGAIN_MAX_NS)

    async def _on_lane(self, operation: Callable[[], T], what: str) -> T:
        lane = self.lane("certificate-keys", size=1, per_key=1)
        return await self.wait(lane.submit(self.path, operation, deadline_ns=DISK_LIMIT_NS), what=what)
