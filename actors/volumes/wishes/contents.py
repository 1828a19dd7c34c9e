"""Gathers what a pod's volumes show from other actors: a part of the `PodVolumesActor`.

A gathering asks all questions at once, except for tokens: with each one that comes it asks for the next. It is
complete with the last answer. A newer gathering replaces the older one, whose answers are then ignored. A restarted
actor may have lost its question; so a gathering that takes too long ends with what it has, and what is missing counts
as refused. Objects and tokens are dropped once the contents are made.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import msgspec

from actors.kernel import Actor, ActorRef, Message
from actors.messages.claims import ClaimsResolved, ResolveClaims, VolumeWait, is_claimed
from actors.messages.references import (
    CertificatePlace,
    CredentialBundle,
    ObjectRef,
    ObjectsRead,
    PodCertificatesRead,
    ReadFailure,
    ReadObjects,
    ReadPodCertificates,
    ReadTrustBundles,
    RequestToken,
    TokenIssued,
    TokenRefused,
    TrustBundlesRead,
    TrustWant,
)
from actors.volumes.contexts import ContextRules
from actors.volumes.orders import AllocatableRead, ReadAllocatable
from actors.volumes.wishes.payloads import Answers
from actors.volumes.wishes.wants import TokenWant, Wants, wants_of
from config.flags.command_line import POD_VOLUME_CONTENT_BYTES
from config.objects import ConfigMap, Pod, PodSpec, Secret
from config.pods.once_per_spec import once_per_spec
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.volumes.capability import VolumeSpec
from runtime.volumes.pod_volumes import specs_of, used_in

SECOND_NS = 1_000_000_000
GATHER_LIMIT_NS = 120 * SECOND_NS
"""Long enough for a thousand pods that ask for tokens at once and wait for their turn."""
TOKENS_AT_ONCE = 16
"""Twice what the `TokenActor` requests of one pod at once: it never waits for the next question.

A pod with thousands of tokens keeps the other questions here, and not in the mailbox that all pods share.
"""
RESYNC_NS = 60 * SECOND_NS
NO_CERTIFICATES = "not supported by a node without API server or without the feature gate PodCertificateRequest"
NO_TRUST = "not supported by a node without API server or without the feature gate ClusterTrustBundleProjection"
WATCHED_RESYNC = 10
"""Watched objects are read again after so many sync periods.

Watches report changes, so this only covers lost ones.
"""


class ContentSources(msgspec.Struct, frozen=True):
    """The actors to ask: ObjectCacheActor, TokenActor, NodeStatusActor, TrustBundlesActor,
    PodCertificatesActor. And the rules of the node for what comes of it.

    `objects`, `tokens` and `claims` (who resolves claims) are None on a node without API server; `trust` and
    `certificates` also where their feature gate is off.
    `resync_ns`: how often objects are read again without a reported change. `contexts`: None without SELinux.
    `health_every_ns`: how often drivers are asked how well volumes are; 0: never. `limit_bytes`: see `content_sizes`.
    """

    objects: ActorRef | None = None
    tokens: ActorRef | None = None
    node: ActorRef | None = None
    claims: ActorRef | None = None
    trust: ActorRef | None = None
    certificates: ActorRef | None = None
    resync_ns: int = RESYNC_NS
    contexts: ContextRules | None = None
    health_every_ns: int = 0
    limit_bytes: int = POD_VOLUME_CONTENT_BYTES


class GatherTag(msgspec.Struct, frozen=True, gc=False):
    """The gathering that a question belongs to, and the token that it asks for."""

    number: int
    token: TokenWant | None = None


class GatheringLate(Message, frozen=True):
    """To the actor itself: this gathering has taken too long."""

    number: int


class GatheredContents(msgspec.Struct, frozen=True):
    """What was gathered for a pod. `refresh_wall_ns`: when to renew a token; 0 for never.

    `refers`: whether anything in it comes from the API server. `specs`, `waits`: as in `ClaimsResolved`.
    """

    pod: Pod
    answers: Answers
    refresh_wall_ns: int
    refers: bool
    specs: Mapping[str, VolumeSpec] = {}
    waits: Mapping[str, VolumeWait] = {}


NOTHING_ANSWERED = Answers()


class _Gathering(msgspec.Struct):
    pod: Pod
    number: int
    wants: Wants
    objects: Mapping[ObjectRef, ConfigMap | Secret]
    failures: Mapping[ObjectRef, ReadFailure]
    tokens: dict[TokenWant, str]
    refusals: dict[TokenWant | TrustWant | CertificatePlace, str]
    waiting: int
    omitted: set[TokenWant] = set()
    tokens_left: list[TokenWant] = []
    allocatable: Mapping[str, str] = {}
    anchors: Mapping[TrustWant, bytes] = {}
    certificates: Mapping[CertificatePlace, CredentialBundle] = {}
    refresh_wall_ns: int = 0
    specs: Mapping[str, VolumeSpec] = {}
    waits: Mapping[str, VolumeWait] = {}

    def refresh_at(self, wall_ns: int) -> None:
        """Renew at this time, or earlier; 0 asks for nothing."""
        if wall_ns:
            self.refresh_wall_ns = min(self.refresh_wall_ns or wall_ns, wall_ns)


class VolumeContents:
    """See the module. `actor` sends the questions and passes the answers in here.

    `node`: who knows the allocatable amounts. A downwardAPI file shows them where a container has no limit.
    """

    def __init__(self, actor: Actor, sources: ContentSources, node: ActorRef) -> None:
        self._actor = actor
        self._sources = sources
        self._node = node
        self._open: _Gathering | None = None
        self._number = actor.now_ns()  # no two lives of the actor have a number in common

    def is_gathering(self, pod: Pod) -> bool:
        """Whether answers for this very version of the pod are still awaited."""
        return self._open is not None and self._open.pod is pod

    def gather(self, pod: Pod) -> GatheredContents | None:
        """Begin a new gathering for this pod.

        None: answers are awaited, and another method returns the outcome.
        """
        self._forget()
        if not specs_of(pod):
            return GatheredContents(pod, NOTHING_ANSWERED, 0, refers=False)
        wants = wants_of(pod)
        self._number += 1
        gathering = self._open = _Gathering(pod, self._number, wants, {}, {}, {}, {}, 0)
        if wants.refs:
            self._ask_objects(gathering)
        gathering.tokens_left = list(reversed(wants.tokens))
        for _ in range(TOKENS_AT_ONCE):
            self._ask_next_token(gathering)
        if wants.anchors:
            self._ask_anchors(gathering)
        if wants.certificates:
            self._ask_certificates(gathering)
        if claimed_volumes(pod):
            self._ask_claims(gathering)
        if wants.amounts:
            gathering.waiting += 1
            self._node.tell(ReadAllocatable(self._actor.ref, GatherTag(gathering.number)))
        if not gathering.waiting:
            return self._end(gathering)
        self._actor.after(GATHER_LIMIT_NS, GatheringLate(gathering.number))
        return None

    def objects_read(self, message: ObjectsRead) -> GatheredContents | None:
        gathering = self._of(message.tag)
        if gathering is None:
            return None
        gathering.objects, gathering.failures = message.objects, message.failures
        return self._answered(gathering)

    def token_issued(self, message: TokenIssued) -> GatheredContents | None:
        gathering, tag = self._of(message.tag), message.tag
        if gathering is None or not isinstance(tag, GatherTag) or tag.token is None:
            return None
        gathering.tokens[tag.token] = message.token
        gathering.refresh_at(message.refresh_wall_ns)
        self._ask_next_token(gathering)
        return self._answered(gathering)

    def claims_resolved(self, message: ClaimsResolved) -> GatheredContents | None:
        gathering = self._of(message.tag)
        if gathering is None:
            return None
        gathering.specs, gathering.waits = message.specs, message.waits
        gathering.refresh_at(message.refresh_wall_ns)
        return self._answered(gathering)

    def token_refused(self, message: TokenRefused) -> GatheredContents | None:
        gathering, tag = self._of(message.tag), message.tag
        if gathering is None or not isinstance(tag, GatherTag) or tag.token is None:
            return None
        if message.omitted:
            gathering.omitted.add(tag.token)
            gathering.refresh_at(message.again_wall_ns)
        else:
            gathering.refusals[tag.token] = message.reason
        self._ask_next_token(gathering)
        return self._answered(gathering)

    def allocatable_read(self, message: AllocatableRead) -> GatheredContents | None:
        gathering = self._of(message.tag)
        if gathering is None:
            return None
        gathering.allocatable = message.amounts
        return self._answered(gathering)

    def trust_bundles_read(self, message: TrustBundlesRead) -> GatheredContents | None:
        gathering = self._of(message.tag)
        if gathering is None:
            return None
        gathering.anchors = message.anchors
        gathering.refusals.update(message.failures.items())
        return self._answered(gathering)

    def pod_certificates_read(self, message: PodCertificatesRead) -> GatheredContents | None:
        gathering = self._of(message.tag)
        if gathering is None:
            return None
        gathering.certificates = message.bundles
        gathering.refusals.update(message.failures.items())
        return self._answered(gathering)

    def late(self, message: GatheringLate) -> GatheredContents | None:
        """End the gathering with what it has; None if it is over already."""
        gathering = self._open
        if gathering is None or gathering.number != message.number:
            return None
        reason = f"no answer within {GATHER_LIMIT_NS // SECOND_NS} s"
        missing = [ref for ref in gathering.wants.refs if ref not in gathering.objects]
        gathering.failures = {**dict.fromkeys(missing, ReadFailure(False, reason)), **gathering.failures}
        gathering.waits = {**dict.fromkeys(claimed_volumes(gathering.pod), VolumeWait(reason)), **gathering.waits}
        return self._end(gathering)

    def _forget(self) -> None:
        if self._open is not None:
            self._open = None
            self._actor.cancel_timer(GatheringLate)

    # --- asking -----------------------------------------------------------------------------------------------------

    def _ask_objects(self, gathering: _Gathering) -> None:
        uid, refs = gathering.pod.metadata.uid, gathering.wants.refs
        if self._sources.objects is None:
            failure = ReadFailure(False, "this node has no API server")
            gathering.failures = dict.fromkeys(refs, failure)
            return
        gathering.waiting += 1
        self._sources.objects.tell(ReadObjects(self._actor.ref, GatherTag(gathering.number), refs, uid))

    def _ask_next_token(self, gathering: _Gathering) -> None:
        if not gathering.tokens_left:
            return
        if self._sources.tokens is None:
            refusal = "failed to fetch token: this node has no API server"
            gathering.refusals.update(dict.fromkeys(gathering.tokens_left, refusal))
            gathering.tokens_left = []
            return
        want = gathering.tokens_left.pop()
        gathering.waiting += 1
        tag = GatherTag(gathering.number, want)
        self._sources.tokens.tell(
            RequestToken(self._actor.ref, tag, gathering.pod, want.audience, want.expiration_seconds)
        )

    def _ask_anchors(self, gathering: _Gathering) -> None:
        wants = gathering.wants.anchors
        if self._sources.trust is None:
            gathering.refusals.update(dict.fromkeys(wants, NO_TRUST))
            return
        gathering.waiting += 1
        tag = GatherTag(gathering.number)
        self._sources.trust.tell(ReadTrustBundles(self._actor.ref, tag, wants))

    def _ask_certificates(self, gathering: _Gathering) -> None:
        places = gathering.wants.certificates
        if self._sources.certificates is None:
            gathering.refusals.update(dict.fromkeys(places, NO_CERTIFICATES))
            return
        gathering.waiting += 1
        tag = GatherTag(gathering.number)
        self._sources.certificates.tell(ReadPodCertificates(self._actor.ref, tag, gathering.pod, places))

    def _ask_claims(self, gathering: _Gathering) -> None:
        pod = gathering.pod
        if self._sources.claims is None:
            # Nobody can keep another node from a disk then; who runs such a node sees to that.
            own = {each.name: each for each in specs_of(pod) if VOLUME_SOURCES[each.source].attached}
            others = [name for name in claimed_volumes(pod) if name not in own]
            gathering.specs = own
            gathering.waits = dict.fromkeys(others, VolumeWait("this node has no API server"))
            return
        gathering.waiting += 1
        tag = GatherTag(gathering.number)
        self._sources.claims.tell(ResolveClaims(self._actor.ref, tag, pod))

    def _of(self, tag: Hashable) -> _Gathering | None:
        """The gathering that an answer is for; None if it is over."""
        if not isinstance(tag, GatherTag):
            return None
        gathering = self._open
        return gathering if gathering is not None and gathering.number == tag.number else None

    def _answered(self, gathering: _Gathering) -> GatheredContents | None:
        gathering.waiting -= 1
        return None if gathering.waiting else self._end(gathering)

    def _end(self, gathering: _Gathering) -> GatheredContents:
        self._forget()
        answers = Answers(
            gathering.objects,
            gathering.failures,
            gathering.tokens,
            gathering.refusals,
            gathering.allocatable,
            gathering.anchors,
            gathering.certificates,
            frozenset(gathering.omitted),
        )
        pod, wants = gathering.pod, gathering.wants
        refers = bool(wants.refs or wants.tokens or wants.anchors or wants.certificates or claimed_volumes(pod))
        return GatheredContents(pod, answers, gathering.refresh_wall_ns, refers, gathering.specs, gathering.waits)


def claimed_volumes(pod: Pod) -> tuple[str, ...]:
    """Names of the volumes that containers use and that the API server has to resolve."""
    return _claimed(pod.spec)


@once_per_spec
def _claimed(spec: PodSpec) -> tuple[str, ...]:
    used = used_in(spec)
    return tuple(volume.name for volume in spec.volumes if volume.name in used and is_claimed(volume))


def resync_ns(sync_frequency_ns: int, strategy: str) -> int:
    """How often to read again without a reported change (`configMapAndSecretChangeDetectionStrategy`)."""
    return sync_frequency_ns * (WATCHED_RESYNC if strategy == "Watch" else 1)
