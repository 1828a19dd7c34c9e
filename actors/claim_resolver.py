"""`ClaimResolverActor`: what the claimed volumes of one pod are, read from the API whenever somebody asks (spec 8.3).

Each volume is walked through (`claim_walk`); with the tokens that drivers want, what was found becomes a specification
that needs the API no more, and what was not is said to be waited for. Nobody may watch these objects on behalf of a
node, only read those that its pods refer to; so while something is waited for it is read again, with growing pauses and
when the node has changed, and who has asked hears when it has come.

A file system that is to grow is made to by the plugin; what became of it is written to the claim's status here.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar, NamedTuple

import msgspec

from actors import csi_rules
from actors.claim_growth import growth_patch
from actors.claim_walk import CALL_NS, ClaimWalk, ClusterFacts, Draft, Wait, digest_of
from actors.csi_rules import DriverRules, IssuedToken
from actors.kernel import Actor, ActorRef, DeadlineExceededError, Message, handles
from actors.plugin_messages import AskDriverAgain
from actors.reference_messages import RequestToken, TokenIssued, TokenRefused
from actors.volume_claim_messages import ClaimsChanged, ClaimsResolved, ResolveClaims, VolumeWait, is_claimed
from config.api_resources import PERSISTENT_VOLUME_CLAIMS
from config.frozen_map import FrozenMap
from config.objects import CSIServiceAccountTokenRequest, PersistentVolumeClaim, Pod
from runtime.api import Api, ApiError, patch
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
"""In how many periods of `syncFrequency` a driver is asked again that wants it, and claims are read again because they
may have been made larger, which nobody tells a node.
"""
TOKENS_NS = 60 * SECOND_NS


class ResolvePod(Message, frozen=True):
    """ClaimsActor -> ClaimResolverActor: a question, passed on."""

    question: ResolveClaims
    facts: ClusterFacts

    def coalesce_key(self) -> Hashable:
        return "resolve"


class ClusterFactsChanged(Message, frozen=True):
    """ClaimsActor -> ClaimResolverActor: what is waited for may have come."""

    facts: ClusterFacts

    def coalesce_key(self) -> Hashable:
        return "facts"


class DriversCame(Message, frozen=True):
    """ClaimsActor -> ClaimResolverActor: these drivers have registered."""

    names: frozenset[str]


class LookAgain(Message, frozen=True):
    """To itself: read again what is waited for."""

    def coalesce_key(self) -> Hashable:
        return "look"


class TokensLate(Message, frozen=True):
    """To itself: no answer came for the tokens of this walk."""

    number: int


class VolumeGrown(Message, frozen=True):
    """To itself, from the plugin: what became of a volume that was to grow."""

    claim: PersistentVolumeClaim
    wanted: str
    outcome: Expansion


class GrowAgain(Message, frozen=True):
    """To itself: what could not grow may be able to now."""


class TokenKey(NamedTuple):
    """Which token: for whom, and how long it is to hold."""

    audience: str
    seconds: int


class _Walk(msgspec.Struct):
    """One answer in the making. `question` None: nobody waits for it."""

    number: int
    question: ResolveClaims | None
    drafts: dict[str, Draft] = {}
    waits: dict[str, VolumeWait] = {}


class ClaimResolverActor(Actor):
    """See the module. One for each pod that has claims. `node_name`: of this node."""

    max_effects: ClassVar[int] = 16
    health_limit_ns: ClassVar[int | None] = 180 * SECOND_NS

    def __init__(
        self, api: Api, tokens: ActorRef, node_name: str, sync_frequency_ns: int, plugins: ActorRef | None
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
        )
        self._pod: Pod | None = None
        self._reader: ActorRef | None = None
        self._walk = _Walk(0, None)
        self._tokens: dict[TokenKey, IssuedToken] = {}
        self._asked_tokens: set[TokenKey] = set()
        self._refused_tokens: dict[TokenKey, str] = {}
        self._told_waits: Mapping[str, VolumeWait] = {}
        self._pause_ns = FIRST_PAUSE_NS
        self._growths = 0
        """How often growing has failed: another try is another version of the volume."""

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
        """A driver without which a volume of this pod could not be made may be back."""
        pod, materials = self._pod, [draft.spec.material for draft in self._walk.drafts.values()]
        mine = any(isinstance(each, CsiMaterial) and each.driver in message.names for each in materials)
        if mine and pod is not None and self._reader is not None:
            self._reader.tell(ClaimsChanged(frozenset({pod.metadata.uid})))

    @handles(LookAgain)
    async def look_again(self, _: LookAgain) -> None:
        await self._go(None)

    async def _go(self, question: ResolveClaims | None) -> None:
        """Walk all volumes of the pod, and answer when the tokens are there as well."""
        pod = self._pod
        if pod is None:
            return
        # A question whose tokens never came is answered with what this walk finds.
        question = question or self._walk.question
        walk = self._walk = _Walk(self._walk.number + 1, question, {}, {})
        used = used_volumes(pod)
        for index, volume in enumerate(pod.spec.volumes):
            if volume.name in used and is_claimed(volume):
                try:
                    walk.drafts[volume.name] = await self._reading.draft(pod, volume, field_path_of(index, volume))
                except Wait as wait:
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
        self.after(int(self._pause_ns * (1 + self.chance.random() / 4)), LookAgain(), key="look")
        self._pause_ns = min(2 * self._pause_ns, MAX_PAUSE_NS)

    # --- tokens -----------------------------------------------------------------------------------------------------

    def _ask_tokens(self, pod: Pod, walk: _Walk) -> None:
        wall_ns = self.wall_ns()
        for draft in walk.drafts.values():
            for request in draft.rules.tokens:
                key = _key_of(request)
                held = self._tokens.get(key)
                if key not in self._asked_tokens and (held is None or held.refresh_wall_ns <= wall_ns):
                    self._asked_tokens.add(key)
                    self._token_actor.tell(RequestToken(self.ref, key, pod, *key))

    @handles(TokenIssued)
    def token_issued(self, message: TokenIssued) -> None:
        key = message.tag
        assert isinstance(key, TokenKey), "the tag of every token asked for here"
        self._tokens[key] = IssuedToken(message.token, message.expires_wall_ns, message.refresh_wall_ns)
        self._token_answered(key)

    @handles(TokenRefused)
    def token_refused(self, message: TokenRefused) -> None:
        key = message.tag
        assert isinstance(key, TokenKey), "the tag of every token asked for here"
        self._refused_tokens[key] = message.reason
        self._token_answered(key)

    def _token_answered(self, key: TokenKey) -> None:
        self._asked_tokens.discard(key)
        if not self._asked_tokens and self._pod is not None:
            self._end(self._pod, self._walk)

    @handles(TokensLate)
    def tokens_late(self, message: TokensLate) -> None:
        """The TokenActor may have been restarted, and the question lost with it."""
        if message.number == self._walk.number and self._asked_tokens and self._pod is not None:
            self._refused_tokens.update(dict.fromkeys(self._asked_tokens, "no token came in time"))
            self._asked_tokens = set()
            self._end(self._pod, self._walk)

    def _token_refusal(self, rules: DriverRules) -> str:
        """Why the driver cannot be given what it wants; empty when it can. An old token that is valid will do."""
        for request in rules.tokens:
            key = _key_of(request)
            held = self._tokens.get(key)
            if held is None or held.expires_wall_ns <= self.wall_ns():
                return self._refused_tokens.get(key, "failed to fetch token: it has expired")
        return ""

    def _finished(self, draft: Draft) -> VolumeSpec:
        """With tokens, and with a version that says what is to be made anew."""
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
        # A driver that wants to be asked again gets another version each time.
        again = self._walk.number if rules.republish else 0
        return msgspec.structs.replace(spec, version=digest_of(spec, again, self._growths))

    def _refresh_wall_ns(self, walk: _Walk) -> int:
        """When to ask again though nothing has been told; 0 for never."""
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


def _key_of(request: CSIServiceAccountTokenRequest) -> TokenKey:
    return TokenKey(request.audience, csi_rules.seconds_of(request))
