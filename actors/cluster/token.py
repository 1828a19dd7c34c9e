"""`TokenActor`: the tokens of service accounts for the pods of this node (spec 8.7).

A token is bound to its pod, and expires with it. The actor keeps tokens by (pod, account, audience, lifetime), in
memory only, and forgets them with the pod. Several questions for one token share one request. A fresh token is given
again. Once its renewal is due, the actor requests the next; while that fails, it gives the old one as long as it is
valid. After a refusal it waits with a growing back-off.

An island node whose API server is away since a reboot starts pods without their tokens (`TokenRefused.omitted`).

Pods take turns with their requests (`FairCalls`), and all is kept by pod. So no message costs more with the tokens of
other pods, and a pod with thousands of tokens delays the token of another by one request.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import ClassVar

import msgspec

from actors.cluster.fair_calls import FairCalls
from actors.cluster.fair_turns import NODE
from actors.cluster.moments import Moment
from actors.cluster.pod_jobs import PodJobs
from actors.cluster.token_rules import Token, back_off_ns, use_ns
from actors.kernel import Actor, ActorRef, Message, Pending, SoleMessage, handles, outcome_of, part
from actors.messages.island import IslandObserved, TokensStarted
from actors.messages.references import ReleaseObjects, RequestToken, TokenIssued, TokenRefused
from config.api.resources import SERVICE_ACCOUNTS
from config.objects import BoundObjectReference, TokenRequest, TokenRequestSpec
from config.pods.identity import is_critical
from config.values.api_time import seconds_of
from runtime.api import Api, as_api_error, create
from runtime.api.no_server import NoApiServer

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
REQUEST_LIMIT_NS = 30 * SECOND_NS
ALONE_LIMIT_NS = 2 * SECOND_NS
"""While the API server is away since a reboot: pods wait for the answer, and start without it."""
REQUESTS_AT_MOST = 64
OF_POD_AT_MOST = 8
"""Requests in flight. A pod has few tokens, and a request takes milliseconds."""
DEFAULT_ACCOUNT = "default"


class TokenKey(msgspec.Struct, frozen=True):
    """The pod, account, audience and lifetime that a token is for."""

    uid: str
    account: str
    audience: str
    expiration_seconds: int


class TokenArrived(Message, frozen=True):
    """To itself: a request has ended, with a token or an error."""

    key: TokenKey
    flight: int
    token: Token | None
    error: str
    away: bool = False
    """The API server has not answered."""


class ForgetExpired(SoleMessage, frozen=True):
    """To itself: forget tokens that have expired."""


class _Held(msgspec.Struct):
    """What is known for one key. `flight`: the number of the request under way, 0 for none.

    `waiting`: by reader and tag.
    """

    token: Token | None = None
    flight: int = 0
    failures: int = 0
    retry_ns: int = 0
    error: str = ""
    away: bool = False
    waiting: dict[tuple[str, Hashable], RequestToken] = {}


class TokenActor(Actor):
    """See the module. `api` None: a standalone node, which gets no tokens.

    `island`: who says whether pods start without tokens; None: none does.
    """

    mailbox_capacity: ClassVar[int] = 50_000
    max_effects: ClassVar[int] = REQUESTS_AT_MOST
    health_limit_ns: ClassVar[int | None] = MINUTE_NS
    jobs = part(PodJobs)

    def __init__(self, api: Api | None, island: ActorRef | None = None) -> None:
        super().__init__()
        self._island = island
        self.jobs = PodJobs(self)
        self._calls = FairCalls(self, api or NoApiServer(), at_most=REQUESTS_AT_MOST, of_pod=OF_POD_AT_MOST)
        self._pods: dict[str, dict[TokenKey, _Held]] = {}
        """By UID."""
        self._flights = 0
        self._omits = False
        """Whether pods start without tokens now."""
        self._sweeps = False

    def on_start(self) -> None:
        if self._island is not None:
            self._island.tell(TokensStarted())

    @handles(IslandObserved)
    def island_observed(self, message: IslandObserved) -> None:
        """Work: constant."""
        self._omits = message.alone and message.omits_tokens

    @handles(RequestToken)
    def request_token(self, message: RequestToken) -> None:
        """Work: one token."""
        pod = message.pod
        account = pod.spec.service_account_name or DEFAULT_ACCOUNT
        key = TokenKey(pod.metadata.uid, account, message.audience, message.expiration_seconds)
        tokens = self._pods.setdefault(key.uid, {})
        held = tokens.get(key)
        if held is None:
            held = tokens[key] = _Held()
            self._sweep_later()
        moment = self._moment()
        if held.token is not None and held.token.fresh_for_ns(moment) > 0:
            self._issue(message, held)
        elif held.flight:
            held.waiting[message.reader.path, message.tag] = message
        elif moment.now_ns < held.retry_ns:
            self._answer_without_new(message, held)
        else:
            held.waiting[message.reader.path, message.tag] = message
            self._ask(key, held, message)

    def _ask(self, key: TokenKey, held: _Held, message: RequestToken) -> None:
        self._flights += 1
        held.flight = flight = self._flights
        meta = message.pod.metadata
        bound = BoundObjectReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid)
        spec = TokenRequestSpec(
            audiences=(key.audience,) if key.audience else (),
            expiration_seconds=key.expiration_seconds,
            bound_object_ref=bound,
        )
        call = create(SERVICE_ACCOUNTS, meta.namespace, TokenRequest(spec=spec), name=key.account, subresource="token")
        draw, asked = self.chance.random(), self._moment()
        self._calls.begin(
            key.uid,
            call,
            lambda done: _arrived(key, flight, done, draw, asked),
            timeout_ns=ALONE_LIMIT_NS if self._omits else REQUEST_LIMIT_NS,
            urgent=is_critical(message.pod),
        )

    @handles(TokenArrived)
    def token_arrived(self, message: TokenArrived) -> None:
        """Work: one token; the readers that wait for it are told in slices."""
        uid = message.key.uid
        held = self._pods.get(uid, {}).get(message.key)
        if held is None or held.flight != message.flight:
            return  # the pod has ended meanwhile
        held.flight = 0
        waiting, held.waiting = held.waiting, {}
        if message.token is not None:
            held.token = message.token
            held.failures, held.retry_ns, held.error, held.away = 0, 0, "", False
            self.jobs.do(uid, self._issue_all(waiting.values(), held))
            return
        held.failures += 1
        held.retry_ns = self.now_ns() + back_off_ns(held.failures, self.chance.random())
        held.error, held.away = message.error, message.away
        self.log.warning("no token for service account %s: %s", message.key.account, message.error)
        self.jobs.do(uid, self._answer_all_without_new(waiting.values(), held))

    def _issue_all(self, waiting: Iterable[RequestToken], held: _Held) -> Iterator[None]:
        for each in waiting:
            self._issue(each, held)
            yield

    def _answer_all_without_new(self, waiting: Iterable[RequestToken], held: _Held) -> Iterator[None]:
        for each in waiting:
            self._answer_without_new(each, held)
            yield

    def _issue(self, message: RequestToken, held: _Held) -> None:
        token, moment = held.token, self._moment()
        assert token is not None, "the caller has a token"
        # An old token that stands in for a failed request: the reader asks again when the back-off is over.
        pause_ns = max(token.fresh_for_ns(moment), held.retry_ns - moment.now_ns, 0)
        message.reader.tell(TokenIssued(message.tag, token.text, token.expires_ns, moment.wall_ns + pause_ns))

    def _answer_without_new(self, message: RequestToken, held: _Held) -> None:
        moment = self._moment()
        if held.token is not None and held.token.is_valid(moment):
            self._issue(message, held)
        else:
            omitted, again_ns = self._omits and held.away, moment.wall_ns + max(held.retry_ns - moment.now_ns, 0)
            refusal = TokenRefused(message.tag, f"failed to fetch token: {held.error}", omitted, again_ns)
            message.reader.tell(refusal)

    def _moment(self) -> Moment:
        return Moment(self.now_ns(), self.wall_ns())

    # --- forgetting -------------------------------------------------------------------------------------------------

    @handles(ReleaseObjects)
    def release_objects(self, message: ReleaseObjects) -> None:
        """Work: bounded; the readers that still wait are told in slices."""
        tokens = self._pods.pop(message.uid, {})
        self._calls.forget(message.uid)
        self.jobs.do(message.uid, _refuse_all(tokens.values()))

    def _sweep_later(self) -> None:
        if not self._sweeps:
            self._sweeps = True
            self.after(MINUTE_NS, ForgetExpired())

    @handles(ForgetExpired)
    def forget_expired(self, _: ForgetExpired) -> None:
        """Forget tokens of pods whose end was not reported. A reader that needs one asks again.

        Work: a list of the pods; their tokens are looked at in slices.
        """
        self.jobs.do(NODE, self._sweep(tuple(self._pods)))

    def _sweep(self, uids: Iterable[str]) -> Iterator[None]:
        for uid in uids:
            for key in tuple(self._pods.get(uid, ())):
                self._forget_if_expired(uid, key)
                yield
        self._sweeps = False
        if self._pods:
            self._sweep_later()

    def _forget_if_expired(self, uid: str, key: TokenKey) -> None:
        tokens, moment = self._pods.get(uid, {}), self._moment()
        held = tokens.get(key)
        if held is None or held.flight or moment.now_ns < held.retry_ns + MINUTE_NS:
            return
        if held.token is None or not held.token.is_valid(moment):
            del tokens[key]
            if not tokens:
                del self._pods[uid]


def _refuse_all(tokens: Iterable[_Held]) -> Iterator[None]:
    for held in tokens:
        for each in held.waiting.values():
            each.reader.tell(TokenRefused(each.tag, "the pod has ended"))
            yield


def _arrived(key: TokenKey, flight: int, done: Pending[TokenRequest], draw: float, asked: Moment) -> TokenArrived:
    outcome = outcome_of(done)
    if outcome.error is not None:
        error = as_api_error(outcome.error, "create serviceaccounts/token")
        away = error is not None and error.outcome_unknown
        return TokenArrived(key, flight, None, outcome.error_text, away)
    answer = outcome.value
    status = None if answer is None else answer.status
    expires_s = None if status is None else seconds_of(status.expiration_timestamp)
    if answer is None or status is None or not status.token or expires_s is None:
        return TokenArrived(key, flight, None, "the API server has sent no token, or none with a time of expiry")
    lifetime_s = (answer.spec.expiration_seconds if answer.spec is not None else None) or key.expiration_seconds
    lifetime_ns = lifetime_s * SECOND_NS
    used_ns = use_ns(lifetime_ns, draw)
    token = Token(status.token, expires_s * SECOND_NS, lifetime_ns, used_ns, asked)
    return TokenArrived(key, flight, token, "")
