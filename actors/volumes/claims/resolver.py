"""`ClaimResolverActor`: resolves the claims of one pod through the API, on each request.

See spec 8.3.

It walks through each volume (`walk.py`) and adds the tokens that drivers want. The result is a specification that
needs the API no more, or the reason for a wait. A node may not watch these objects, only read those that its pods refer
to. So while a volume waits, it is read again with growing pauses, and when the node changes. The requester hears when
the waits change.

The plugin grows a file system; this actor writes the outcome to the claim's status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import msgspec

from actors.kernel import Actor, ActorRef, DeadlineExceededError, Message, SoleMessage, handles
from actors.messages.claims import ClaimsChanged, ClaimsResolved, ResolveClaims, VolumeWait, is_claimed
from actors.messages.plugins import AskDriverAgain
from actors.messages.references import RequestToken, TokenIssued, TokenRefused
from actors.model.observing import SECRET_DIGEST
from actors.volumes.claims import csi_rules
from actors.volumes.claims.csi_rules import DriverRules, IssuedToken
from actors.volumes.claims.growth import growth_patch
from actors.volumes.claims.walk import CALL_NS, ClaimWait, ClaimWalk, ClusterFacts, Draft, digest_of
from config.api.resources import PERSISTENT_VOLUME_CLAIMS
from config.frozen_map import FrozenMap
from config.objects import CSIServiceAccountTokenRequest, PersistentVolumeClaim, Pod
from config.pods.identity import is_critical
from runtime.api import Api, ApiError, in_turn_of, patch
from runtime.api.calls import PatchType
from runtime.volumes.capability import VolumeSpec
from runtime.volumes.csi_material import CsiMaterial, Expansion
from runtime.volumes.pod_volumes import field_path_of, used_volumes

SECOND_NS = 1_000_000_000
FIRST_PAUSE_NS = SECOND_NS // 2
MAX_PAUSE_NS = 10 * SECOND_NS
GROW_AGAIN_NS = 60 * SECOND_NS
REPUBLISH_SYNCS = 1
REREAD_SYNCS = 3
"""After how many periods of `syncFrequency` claims are read again.

A driver with requiresRepublish is called again, too. Nobody tells a node that a claim has been enlarged.
"""
TOKENS_NS = 60 * SECOND_NS


class ResolvePod(SoleMessage, frozen=True):
    """ClaimsActor -> ClaimResolverActor: a question, passed on."""

    question: ResolveClaims
    facts: ClusterFacts


class ClusterFactsChanged(SoleMessage, frozen=True):
    """ClaimsActor -> ClaimResolverActor: the reason for a wait may be gone."""

    facts: ClusterFacts


class DriversCame(Message, frozen=True):
    """ClaimsActor -> ClaimResolverActor: these drivers have registered."""

    names: frozenset[str]


class ReadClaimsAgain(SoleMessage, frozen=True):
    """To itself: read waiting volumes again."""


class TokensLate(Message, frozen=True):
    """To itself: no answer came for the tokens of this walk."""

    number: int


class VolumeGrown(Message, frozen=True):
    """To itself, from the plugin: the outcome of a growth."""

    claim: PersistentVolumeClaim
    wanted: str
    outcome: Expansion


class GrowAgain(Message, frozen=True):
    """To itself: retry a failed growth."""


class DriverTokenKey(NamedTuple):
    """Identifies a token by its audience and requested lifetime."""

    audience: str
    seconds: int


class _Walk(msgspec.Struct):
    """An answer in the making. `question` None: nobody waits for it."""

    number: int
    question: ResolveClaims | None
    drafts: dict[str, Draft] = {}
    waits: dict[str, VolumeWait] = {}


class ClaimResolverActor(Actor):
    """See the module. One for each pod that has claims. `node_name`: of this node."""

    max_effects: ClassVar[int] = 16
    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS

    def __init__(
        self,
        api: Api,
        tokens: ActorRef,
        node_name: str,
        sync_frequency_ns: int,
        plugins: ActorRef | None,
        controller_attaches: bool,
        island: ActorRef | None = None,
    ) -> None:
        super().__init__()
        self._sync_ns = sync_frequency_ns
        self._api = api
        self._token_actor = tokens
        ref = self.ref
        self._reading = ClaimWalk(
            self,
            api,
            node_name,
            grown=lambda *outcome: ref.tell(VolumeGrown(*outcome)),
            full=lambda driver: plugins.tell(AskDriverAgain(driver)) if plugins is not None else None,
            controller_attaches=controller_attaches,
            island=island,
        )
        self._pod: Pod | None = None
        self._reader: ActorRef | None = None
        self._walk = _Walk(0, None)
        self._tokens: dict[DriverTokenKey, IssuedToken] = {}
        self._asked_tokens: set[DriverTokenKey] = set()
        self._refused_tokens: dict[DriverTokenKey, str] = {}
        self._told_waits: Mapping[str, VolumeWait] = {}
        self._pause_ns = FIRST_PAUSE_NS
        self._growths = 0
        """How often growing has failed.

        It is part of the volume's version, so that a failure causes another try.
        """

    # --- questions --------------------------------------------------------------------------------------------------

    @handles(ResolvePod)
    async def resolve_pod(self, message: ResolvePod) -> None:
        question = message.question
        self._reading.facts = message.facts
        self._pod, self._reader = question.pod, question.reader
        await self._go(question)

    @handles(ClusterFactsChanged)
    async def facts_changed(self, message: ClusterFactsChanged) -> None:
        self._reading.facts = message.facts
        if self._told_waits:
            await self._go(None)

    @handles(DriversCame)
    def drivers_came(self, message: DriversCame) -> None:
        """Let the volumes of this pod be tried again if they need one of these drivers."""
        pod, materials = self._pod, [draft.spec.material for draft in self._walk.drafts.values()]
        mine = any(isinstance(each, CsiMaterial) and each.driver in message.names for each in materials)
        if mine and pod is not None and self._reader is not None:
            self._reader.tell(ClaimsChanged(frozenset({pod.metadata.uid})))

    @handles(ReadClaimsAgain)
    async def look_again(self, _: ReadClaimsAgain) -> None:
        await self._go(None)

    async def _go(self, question: ResolveClaims | None) -> None:
        """Walk all volumes of the pod, and answer when the tokens have come too."""
        pod = self._pod
        if pod is None:
            return
        # This walk also answers a question that still waits for its tokens.
        question = question or self._walk.question
        walk = self._walk = _Walk(self._walk.number + 1, question, {}, {})
        used = used_volumes(pod)
        for index, volume in enumerate(pod.spec.volumes):
            if volume.name in used and is_claimed(volume):
                try:
                    walk.drafts[volume.name] = await self._reading.draft(pod, volume, field_path_of(index, volume))
                except ClaimWait as wait:
                    walk.waits[volume.name] = wait.wait
                except (ApiError, DeadlineExceededError) as failure:
                    walk.waits[volume.name] = VolumeWait(f"cannot be read from the API server: {failure}")
        self._ask_tokens(pod, walk)
        if self._asked_tokens:
            self.after(TOKENS_NS, TokensLate(walk.number), key="tokens")
        else:
            self._end(pod, walk)

    def _end(self, pod: Pod, walk: _Walk) -> None:
        self.cancel_timer("tokens")
        specs: dict[str, VolumeSpec] = {}
        waits = dict(walk.waits)
        for name, draft in walk.drafts.items():
            refusal = self._token_refusal(draft.rules)
            if refusal:
                waits[name] = VolumeWait(refusal, in_use=draft.spec.in_use)
            else:
                specs[name] = self._finished(draft)
        self._refused_tokens = {}
        before, self._told_waits = self._told_waits, waits
        question, walk.question = walk.question, None
        if question is not None:
            question.reader.tell(
                ClaimsResolved(question.tag, FrozenMap(specs), FrozenMap(waits), self._refresh_wall_ns(walk))
            )
        elif self._reader is not None and waits != before:
            self._reader.tell(ClaimsChanged(frozenset({pod.metadata.uid})))
        self._wait_more(came=bool(before) and len(waits) < len(before))

    def _wait_more(self, *, came: bool) -> None:
        if not self._told_waits:
            self._pause_ns = FIRST_PAUSE_NS
            self.cancel_timer("look")
            return
        self._pause_ns = FIRST_PAUSE_NS if came else self._pause_ns
        self.after(int(self._pause_ns * (1 + self.chance.random() / 4)), ReadClaimsAgain(), key="look")
        self._pause_ns = min(2 * self._pause_ns, MAX_PAUSE_NS)

    # --- tokens -----------------------------------------------------------------------------------------------------

    def _ask_tokens(self, pod: Pod, walk: _Walk) -> None:
        """Ask for all of them: the actor of tokens knows which are fresh, and gives these again."""
        for draft in walk.drafts.values():
            for request in draft.rules.tokens:
                key = _key_of(request)
                if key not in self._asked_tokens:
                    self._asked_tokens.add(key)
                    self._token_actor.tell(RequestToken(self.ref, key, pod, *key))

    @handles(TokenIssued)
    def token_issued(self, message: TokenIssued) -> None:
        key = message.tag
        assert isinstance(key, DriverTokenKey), "the tag of every token asked for here"
        self._tokens[key] = IssuedToken(message.token, message.expires_wall_ns)
        self._token_answered(key)

    @handles(TokenRefused)
    def token_refused(self, message: TokenRefused) -> None:
        key = message.tag
        assert isinstance(key, DriverTokenKey), "the tag of every token asked for here"
        self._refused_tokens[key] = message.reason
        self._tokens.pop(key, None)  # what is still valid is given again, and not refused
        self._token_answered(key)

    def _token_answered(self, key: DriverTokenKey) -> None:
        self._asked_tokens.discard(key)
        if not self._asked_tokens and self._pod is not None:
            self._end(self._pod, self._walk)

    @handles(TokensLate)
    def tokens_late(self, message: TokensLate) -> None:
        """Stop waiting for tokens: a restart of the TokenActor may have lost the question."""
        if message.number == self._walk.number and self._asked_tokens and self._pod is not None:
            self._refused_tokens.update(dict.fromkeys(self._asked_tokens, "no token came in time"))
            self._asked_tokens = set()
            self._end(self._pod, self._walk)

    def _token_refusal(self, rules: DriverRules) -> str:
        """Why the driver cannot get its tokens; empty when it can.

        An older token serves where no answer has come.
        """
        keys = (_key_of(request) for request in rules.tokens)
        return next((self._refused_tokens[key] for key in keys if key not in self._tokens), "")

    def _finished(self, draft: Draft) -> VolumeSpec:
        """The specification with tokens, and with a version that changes when the volume has to be made again."""
        spec, rules, material = draft.spec, draft.rules, draft.spec.material
        if not isinstance(material, CsiMaterial):
            return spec
        if rules.tokens:
            tokens = {each.audience: self._tokens[_key_of(each)] for each in rules.tokens}
            told = {csi_rules.TOKENS: csi_rules.tokens_text(tokens)}
            if rules.tokens_in_secrets:
                material = msgspec.structs.replace(material, publish_secrets={**material.publish_secrets, **told})
            else:
                material = msgspec.structs.replace(material, pod_attributes={**material.pod_attributes, **told})
        spec = msgspec.structs.replace(spec, material=material)
        # requiresRepublish: a new version each time makes the reconciler call the driver again.
        again = self._walk.number if rules.republish else 0
        version = self.observe(SECRET_DIGEST, lambda: digest_of(spec, again, self._growths))
        return msgspec.structs.replace(spec, version=version)

    def _refresh_wall_ns(self, walk: _Walk) -> int:
        """When to resolve again without a reported change; 0 for never."""
        syncs = [
            REPUBLISH_SYNCS if draft.rules.republish else REREAD_SYNCS
            for draft in walk.drafts.values()
            if draft.rules.republish or draft.spec.claim is not None
        ]
        return self.wall_ns() + min(syncs) * self._sync_ns if syncs else 0

    # --- growing ----------------------------------------------------------------------------------------------------

    @handles(VolumeGrown)
    async def volume_grown(self, message: VolumeGrown) -> None:
        meta, outcome = message.claim.metadata, message.outcome
        body = growth_patch(message.claim, message.wanted, outcome)
        failed = bool(outcome.error) and not outcome.infeasible
        if body is not None:
            call = patch(
                PERSISTENT_VOLUME_CLAIMS,
                meta.namespace,
                meta.name,
                body,
                patch_type=PatchType.MERGE,
                subresource="status",
            )
            if (pod := self._pod) is not None:
                call = in_turn_of(call, pod.metadata.uid, urgent=is_critical(pod))
            try:
                await self.wait(self._api.call(call, timeout_ns=CALL_NS), timeout_ns=2 * CALL_NS, what=call.verb)
            except (ApiError, DeadlineExceededError) as failure:
                self.log.warning("the size of claim %s/%s cannot be written: %s", meta.namespace, meta.name, failure)
                failed = True
        if failed:
            self._growths += 1
            self.after(GROW_AGAIN_NS, GrowAgain(), key="grow")

    @handles(GrowAgain)
    def grow_again(self, _: GrowAgain) -> None:
        if self._reader is not None and self._pod is not None:
            self._reader.tell(ClaimsChanged(frozenset({self._pod.metadata.uid})))


def _key_of(request: CSIServiceAccountTokenRequest) -> DriverTokenKey:
    return DriverTokenKey(request.audience, csi_rules.seconds_of(request))
