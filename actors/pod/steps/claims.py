"""Part of the sandbox: the claims of devices of a pod are ready before it has one (spec 10.12).

The worker finds out which claims the pod needs, and `ResourceClaimsActor` has them prepared. A container that starts
again in the same sandbox uses what is known. When nothing of the pod runs any more, its claims are given back.
"""

from __future__ import annotations

from actors.kernel import handles
from actors.messages.resource_claims import (
    ClaimHealthTold,
    ClaimsAnswered,
    ClaimsReleased,
    ClaimsTold,
    PrepareClaims,
    ReleaseClaims,
    TellClaims,
)
from actors.model.resource_claims import NO_CLAIMS, ClaimedDevices, PodClaims
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, PodPass, Refuse
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from actors.pod.view import PodView, Question
from actors.start.claims import cdi_names
from config.objects import Container, Pod
from config.pods.resource_claims import NeededClaim, has_claims, needed_claims, with_claims
from runtime.cri.messages import CDIDevice
from runtime.metrics.claims import DURATION

REASON = "FailedPrepareDynamicResources"
RETRY_NS = 10_000_000_000
_THEN = "its sandbox is made then"
_NO_OWNER = "this node serves no drivers for claims of devices; run the pod on another node, or remove resourceClaims"


class PodResourceClaims:
    """See the module."""

    def __init__(self, worker: PodActor, services: PodServices, view: PodView) -> None:
        self._worker = worker
        self._owner = services.resource_claims
        self._meters = services.meters
        self._asked_at_ns = self._released_at_ns = 0
        self._view = view
        self._question = Question(worker, "claims")
        self._release = Question(worker, "release claims")
        self._needed: tuple[NeededClaim, ...] = ()
        self._attempt: int | None = None
        """The sandbox for which `_claims` are ready, or were asked for."""
        self._claims: PodClaims | None = None
        self._answer: ClaimsAnswered | None = None
        self._ask_at_ns = 0
        self._released = False
        self._look: Question | None = None
        """What its pod has, after a start of the agent."""

    def look(self) -> None:
        """Ask once what the running pod has, so that its status tells the health of its devices."""
        if self._owner is None or self._view.claimed is not None:
            return
        self._look = self._look or Question(self._worker, "look at claims")
        if self._look.may_ask():
            self._owner.tell(TellClaims(self._worker.ref, self._view.uid))

    @handles(ClaimsTold)
    def told(self, message: ClaimsTold) -> Pass | None:
        if self._look is not None:
            self._look.answered()
        if self._view.claimed is not None or message.health is None:
            return None
        self._view.claimed = ClaimedDevices(message.claims, message.health)
        return self._worker.go_on()

    def ready(self, this: PodPass) -> Outcome:
        """Go on when all claims of the pod are ready, before its sandbox is made or a container is started."""
        pod, actions = this.pod, this.actions
        if self._owner is None:
            return _refused(_NO_OWNER)
        needed, wait = needed_claims(pod)
        if wait:
            return PassWait(wait, _THEN, reason=REASON, long=True)
        if not needed:
            self._claims = NO_CLAIMS
            return CONTINUE
        if needed != self._needed or (actions.create_sandbox and actions.sandbox_attempt != self._attempt):
            self._needed, self._attempt = needed, actions.sandbox_attempt
            self._claims = self._answer = None
            self._question.answered()
        if self._claims is not None:
            return CONTINUE
        answer = self._answer
        if answer is not None and answer.refused and self._worker.now_ns() >= self._ask_at_ns:
            self._question.answered()
        if self._question.may_ask():
            self._asked_at_ns = self._worker.now_ns()
            self._ask_at_ns = self._asked_at_ns + RETRY_NS
            self._owner.tell(PrepareClaims(self._worker.ref, with_claims(pod, needed), anew=actions.create_sandbox))
        if answer is None:
            return PassWait("its claims of devices are being prepared", _THEN)
        return _refused(answer.text) if answer.refused else PassWait(answer.text, _THEN, reason=REASON, long=True)

    @handles(ClaimsAnswered)
    def answered(self, message: ClaimsAnswered) -> Pass | None:
        self._answer = message
        if message.refused or message.claims is not None:
            took_ns, is_error = self._worker.now_ns() - self._asked_at_ns, str(message.refused).lower()
            self._meters.took(DURATION, took_ns, "PrepareResources", is_error)
        if message.claims is not None:
            self._claims = message.claims
            self._question.answered()
            if message.health is not None:
                self._view.claimed = ClaimedDevices(message.claims, message.health)
        return self._worker.go_on()

    @handles(ClaimHealthTold)
    def health_told(self, message: ClaimHealthTold) -> Pass | None:
        if self._view.claimed is None:
            return None
        self._view.claimed = ClaimedDevices(self._view.claimed.claims, message.health)
        return self._worker.go_on()

    def devices_of(self, pod: Pod, container: Container) -> tuple[CDIDevice, ...]:
        """The CDI devices that the container gets of its claims."""
        if not self._claims:
            return ()
        return tuple(CDIDevice(name=name) for name in cdi_names(pod, container, self._claims))

    def give_back(self) -> PassWait | None:
        """Give the claims back: nothing of the pod runs. None: that is done."""
        pod = self._view.pod
        if self._owner is None or self._released or (pod is not None and not has_claims(pod)):
            return None
        if self._release.may_ask():
            self._released_at_ns = self._worker.now_ns()
            self._owner.tell(ReleaseClaims(self._worker.ref, self._view.uid))
        return PassWait("its claims of devices are being given back", "it ends then")

    @handles(ClaimsReleased)
    def released(self, message: ClaimsReleased) -> Pass | None:
        self._release.answered()
        self._released = True
        took_ns, is_error = self._worker.now_ns() - self._released_at_ns, str(bool(message.waits)).lower()
        self._meters.took(DURATION, took_ns, "UnprepareResources", is_error)
        if message.waits:
            self._view.say("Warning", "FailedUnprepareDynamicResources", message.waits)
        return self._worker.go_on()


def _refused(text: str) -> Refuse:
    """Upstream's words come first: tools match the beginning."""
    event = f"Failed to prepare dynamic resources: prepare dynamic resources: {text}"
    return Refuse(REASON, text, "it is tried again", RETRY_NS, event)
