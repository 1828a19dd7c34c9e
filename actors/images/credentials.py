"""`ImageCredentialsActor`: asks the node's credential programs, and keeps their answers.

See spec 6.3 and KEP-4412.

`ImagePullActor` asks when the pod's and the node's own credentials have not sufficed. Each program that is for the
image is a look-up of its own: perhaps the service account and its token, then the cache, then the program. Look-ups for
the same program, image and account share one process. A program has a limited number of processes; further look-ups
wait, take turns by pod, and then look into the cache again. So a program that hangs holds up only those who need it.

A token is bound to its pod. When the pod's worker has stopped, its look-ups end, and its tokens are released.

The answer has what the programs gave, in the order of their configuration, and why others gave nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import ClassVar

import msgspec

from actors.cluster.fair_calls import FairCalls
from actors.cluster.fair_turns import FairTurns
from actors.cluster.pod_jobs import PodJobs
from actors.images.provider_cache import NO_ACCOUNT, Account, ProviderCache, annotations_for, token_digest
from actors.kernel import Actor, ActorRef, ActorStopped, Message, Pending, SoleMessage, handles, outcome_of, part
from actors.messages.images import FindCredentials, ProvidedCredential, ProviderCredentials
from actors.messages.references import ReleaseObjects, RequestToken, TokenIssued, TokenRefused
from actors.model.observing import SECRET_DIGEST
from config.api.resources import SERVICE_ACCOUNTS
from config.credentials.docker_config import Entries, credentials_for
from config.credentials.image_providers import ImageProvider
from config.credentials.provider_answers import ProviderAnswer
from config.objects import Pod, ServiceAccount
from config.pods.identity import is_critical
from runtime.api import Api, get
from runtime.api.no_server import NoApiServer
from runtime.image_providers.capability import ImageProviders, ProviderFailedError, ProviderRequest

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
ACCOUNT_LIMIT_NS = 30 * SECOND_NS
LOOKUP_LIMIT_NS = 3 * MINUTE_NS
"""The account, its token, and the minute of a program. Waiting for a turn does not count."""
PURGE_NS = 15 * MINUTE_NS
TOKEN_SECONDS = 3600
ACCOUNTS_AT_MOST, ACCOUNTS_OF_POD_AT_MOST = 64, 8
"""Service accounts that are read at the same time."""
PROCESSES_AT_MOST = 8
PROCESSES_OF_POD_AT_MOST = 4
"""At the same time, of one program."""


class LookupKey(msgspec.Struct, frozen=True):
    """`pod`: uid of the pod whose token the program is given; empty: it is given none."""

    provider: str
    image: str
    pod: str = ""


class _Step(Message, frozen=True):
    """To itself: something that a look-up has waited for. `number`: which look-up of that key."""

    key: LookupKey
    number: int


class AccountRead(_Step, frozen=True):
    account: ServiceAccount | None
    error: str


class ProviderEnded(_Step, frozen=True):
    """`turn_of`: the pod in whose turn it ran. `error` is empty on success."""

    turn_of: str
    answer: ProviderAnswer | None
    error: str = ""
    complaint: str = ""


class LookupLate(_Step, frozen=True):
    pass


class PurgeAnswers(SoleMessage, frozen=True):
    """To itself: forget answers that are not good any more."""


class TokenTag(msgspec.Struct, frozen=True):
    key: LookupKey
    number: int


class _Lookup:
    """What one program is to say.

    `queued`: it has been put into the line for one of the program's processes. `waits`: it has not got one yet.
    """

    __slots__ = ("account", "key", "number", "pod", "provider", "questions", "queued", "token", "waits")

    def __init__(self, key: LookupKey, number: int, provider: ImageProvider, pod: Pod) -> None:
        self.key = key
        self.number = number
        self.provider = provider
        self.pod = pod
        self.queued, self.waits = False, True
        self.account = NO_ACCOUNT
        self.token = ""
        self.questions: list[_Question] = []


class _Question:
    """One request, and what is known for it.

    `gave` has each provider's answer by its place in the configuration.
    """

    __slots__ = ("gave", "missing", "problems", "request")

    def __init__(self, request: FindCredentials) -> None:
        self.request = request
        self.missing = 0
        self.gave: dict[str, tuple[Entries, Account]] = {}
        self.problems: list[str] = []


class ImageCredentialsActor(Actor):
    """See the module.

    `tokens`: the `TokenActor`. `api` None: a standalone node, whose pods have no accounts.
    """

    mailbox_capacity: ClassVar[int] = 50_000
    max_effects: ClassVar[int] = 1000
    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS
    jobs = part(PodJobs)

    def __init__(self, providers: ImageProviders, tokens: ActorRef, api: Api | None = None) -> None:
        super().__init__()
        self.jobs = PodJobs(self)
        self._providers = providers
        self._tokens = tokens
        self._calls = FairCalls(self, api or NoApiServer(), at_most=ACCOUNTS_AT_MOST, of_pod=ACCOUNTS_OF_POD_AT_MOST)
        self._caches = {each.name: ProviderCache() for each in providers.known}
        self._turns = {each.name: self._turns_of_program() for each in providers.known}
        self._lookups: dict[LookupKey, _Lookup] = {}
        self._of_pod: dict[str, dict[LookupKey, _Lookup]] = {}
        """By UID: look-ups that are given a token of the pod."""
        self._numbers = 0

    def _turns_of_program(self) -> FairTurns[_Lookup]:
        # An answer that came while a look-up waited may be good for it: then it has no turn.
        return FairTurns(
            at_most=PROCESSES_AT_MOST,
            of_pod=PROCESSES_OF_POD_AT_MOST,
            is_wanted=lambda lookup: lookup.waits and not self._is_cached(lookup),
        )

    def on_start(self) -> None:
        self.every(PURGE_NS, PurgeAnswers())

    @handles(PurgeAnswers)
    def purge(self, _: PurgeAnswers) -> None:
        for cache in self._caches.values():
            cache.purge(self.now_ns())

    # --- asking -----------------------------------------------------------------------------------------------------

    @handles(FindCredentials)
    def find_credentials(self, message: FindCredentials) -> None:
        question = _Question(message)
        asked = [each for each in self._providers.known if each.is_for(message.image)]
        question.missing = len(asked)
        for provider in asked:
            self._look_up(provider, question)
        if not asked:
            self._answer(question)

    def _look_up(self, provider: ImageProvider, question: _Question) -> None:
        pod, image, attributes = question.request.pod, question.request.image, provider.token
        account_name = pod.spec.service_account_name
        wants_token = attributes is not None and bool(account_name)
        if attributes is not None and not account_name and attributes.requires_account:
            self._heard(question, provider, (), NO_ACCOUNT)
            return
        key = LookupKey(provider.name, image, pod.metadata.uid if wants_token else "")
        lookup = self._lookups.get(key)
        if lookup is not None:
            lookup.questions.append(question)
            if lookup.queued and lookup.waits:
                self._wait_in_turn_of(pod, lookup)
            return
        self._numbers += 1
        lookup = self._lookups[key] = _Lookup(key, self._numbers, provider, pod)
        lookup.questions.append(question)
        if wants_token:
            self._of_pod.setdefault(key.pod, {})[key] = lookup
            self.watch(question.request.worker)
            self._limit(lookup)
            self._read_account(lookup)
        elif not self._is_cached(lookup):
            self._queue(lookup)

    def _limit(self, lookup: _Lookup) -> None:
        self.after(LOOKUP_LIMIT_NS, LookupLate(lookup.key, lookup.number), key=lookup.key)

    @handles(LookupLate)
    def lookup_late(self, message: LookupLate) -> None:
        lookup = self._lookup_of(message)
        if lookup is not None:
            self._end(lookup, (), f"credential provider {lookup.provider.name}: no answer in time")

    # --- the service account ----------------------------------------------------------------------------------------

    def _read_account(self, lookup: _Lookup) -> None:
        key, number, meta = lookup.key, lookup.number, lookup.pod.metadata
        call = get(SERVICE_ACCOUNTS, meta.namespace, lookup.pod.spec.service_account_name or "")
        self._calls.begin(
            meta.uid,
            call,
            lambda done: _account_read(key, number, done),
            timeout_ns=ACCOUNT_LIMIT_NS,
            urgent=is_critical(lookup.pod),
        )

    @handles(AccountRead)
    def account_read(self, message: AccountRead) -> None:
        lookup = self._lookup_of(message)
        if lookup is None:
            return
        account, attributes = message.account, lookup.provider.token
        if account is None or attributes is None:
            why = f"service account {_account_of(lookup.pod)} cannot be read: {message.error}"
            self._end(lookup, (), f"credential provider {lookup.provider.name}: {why}")
            return
        meta = account.metadata
        told = annotations_for(attributes.required_keys, attributes.optional_keys, meta.annotations)
        if told is None:
            self._end(lookup, ())  # the account does without this program
            return
        lookup.account = Account(lookup.pod.metadata.namespace, meta.name, meta.uid, told)
        if attributes.by_token or not self._is_cached(lookup):
            tag = TokenTag(lookup.key, lookup.number)
            self._tokens.tell(RequestToken(self.ref, tag, lookup.pod, attributes.audience, TOKEN_SECONDS))

    @handles(TokenIssued)
    def token_issued(self, message: TokenIssued) -> None:
        lookup = self._lookup_of(message.tag)
        if lookup is None or lookup.provider.token is None:
            return
        lookup.token = message.token
        if lookup.provider.token.by_token:
            digest = self.observe(SECRET_DIGEST, lambda: token_digest(message.token))
            lookup.account = msgspec.structs.replace(lookup.account, token=digest)
            if self._is_cached(lookup):
                return
        self._queue(lookup)

    @handles(TokenRefused)
    def token_refused(self, message: TokenRefused) -> None:
        lookup = self._lookup_of(message.tag)
        if lookup is not None:
            why = f"service account {_account_of(lookup.pod)}: {message.reason}"
            self._end(lookup, (), f"credential provider {lookup.provider.name}: {why}")

    @handles(ActorStopped)
    def worker_stopped(self, message: ActorStopped) -> None:
        """Work: a slice; one step for each look-up with a token of the pod."""
        uid = message.ref.name
        self.jobs.do(uid, self._end_all(self._of_pod.pop(uid, {}).values()))
        self._tokens.tell(ReleaseObjects(uid))

    def _end_all(self, lookups: Iterable[_Lookup]) -> Iterator[None]:
        for lookup in lookups:
            if self._lookups.get(lookup.key) is lookup:
                self._end(lookup, ())
            yield

    # --- the program ------------------------------------------------------------------------------------------------

    def _is_cached(self, lookup: _Lookup) -> bool:
        """Whether the look-up has ended with an answer that was kept."""
        found = self._caches[lookup.provider.name].find(lookup.key.image, lookup.account, self.now_ns())
        if found is None:
            return False
        self._end(lookup, found)
        return True

    def _queue(self, lookup: _Lookup) -> None:
        self.cancel_timer(lookup.key)
        lookup.queued = True
        for question in lookup.questions:
            self._wait_in_turn_of(question.request.pod, lookup)
        self._run_next(lookup.provider.name)

    def _wait_in_turn_of(self, pod: Pod, lookup: _Lookup) -> None:
        """Let the look-up have a place with this pod. Pods take turns with the program."""
        self._turns[lookup.provider.name].wait(pod.metadata.uid, lookup, urgent=is_critical(pod))

    def _run_next(self, name: str) -> None:
        while (turn := self._turns[name].begin()) is not None:
            self._run(*turn)

    def _run(self, uid: str, lookup: _Lookup) -> None:
        lookup.waits = False
        key, number, providers = lookup.key, lookup.number, self._providers
        request = ProviderRequest(key.image, lookup.token, dict(lookup.account.annotations))
        self.begin(
            lambda: providers.ask(lookup.provider, request),
            lambda done: _ended(key, number, uid, lookup.provider, done),
        )

    @handles(ProviderEnded)
    def provider_ended(self, message: ProviderEnded) -> None:
        name = message.key.provider
        self._turns[name].over(message.turn_of)
        lookup = self._lookup_of(message)
        if lookup is not None:
            answer = message.answer
            if answer is None:
                self.log.warning("%s; it wrote: %s", message.error, message.complaint or "nothing")
            else:
                self._caches[name].store(lookup.key.image, lookup.account, answer, self.now_ns())
            self._end(lookup, () if answer is None else answer.entries, message.error)
        self._run_next(name)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _lookup_of(self, step: Hashable) -> _Lookup | None:
        """The look-up that waits for it; None: it has ended, or was of an earlier life of this actor."""
        if not isinstance(step, _Step | TokenTag):
            return None
        lookup = self._lookups.get(step.key)
        return lookup if lookup is not None and lookup.number == step.number else None

    def _end(self, lookup: _Lookup, entries: Entries, problem: str = "") -> None:
        lookup.waits = False
        del self._lookups[lookup.key]
        self._of_pod.get(lookup.key.pod, {}).pop(lookup.key, None)
        self.cancel_timer(lookup.key)
        for question in lookup.questions:
            self._heard(question, lookup.provider, entries, lookup.account, problem)

    def _heard(
        self, question: _Question, provider: ImageProvider, entries: Entries, account: Account, problem: str = ""
    ) -> None:
        question.gave[provider.name] = (entries, account)
        question.missing -= 1
        if problem:
            question.problems.append(problem)
        if not question.missing:
            self._answer(question)

    def _answer(self, question: _Question) -> None:
        request = question.request
        accounts: dict[object, Account] = {}
        entries: Entries = ()
        for provider in self._providers.known:  # all of them are one ring of keys, in this order
            given, account = question.gave.get(provider.name, ((), NO_ACCOUNT))
            entries += given
            for entry in given:
                accounts.setdefault(entry.credential, account)
        found = tuple(
            ProvidedCredential(each, accounts[each].namespace, accounts[each].name, accounts[each].uid)
            for each in credentials_for(request.image, entries)
        )
        request.reader.tell(ProviderCredentials(request.tag, found, tuple(question.problems)))


def _account_read(key: LookupKey, number: int, done: Pending[ServiceAccount]) -> AccountRead:
    outcome = outcome_of(done)
    return AccountRead(key, number, outcome.value, outcome.error_text)


def _account_of(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.spec.service_account_name}"


def _ended(
    key: LookupKey, number: int, uid: str, provider: ImageProvider, done: Pending[ProviderAnswer]
) -> ProviderEnded:
    outcome = outcome_of(done)
    if outcome.error is None:
        return ProviderEnded(key, number, uid, outcome.value)
    if isinstance(outcome.error, ProviderFailedError):
        return ProviderEnded(key, number, uid, None, str(outcome.error), outcome.error.complaint)
    return ProviderEnded(key, number, uid, None, f"credential provider {provider.name}: {outcome.error_text}")
