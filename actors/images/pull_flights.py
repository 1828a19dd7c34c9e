"""Records of the `ImagePullActor`: limits, pulls, the waiting requests of each pull, and its reports."""

from __future__ import annotations

from collections import Counter

import msgspec

from actors.images.pull_rules import PullRate
from actors.images.removal import UNCERTAIN
from actors.kernel import ActorRef, Message, Pending, outcome_of
from actors.messages.images import ProviderCredentials, PullImage, SecretCredential
from actors.messages.pods import PullInProgress
from actors.model.pull_records import ALL_PODS, Grants, PullAccount
from config.credentials.docker_config import Credential, full_name
from config.credentials.image_providers import ImageProvider
from config.credentials.masked import masked
from config.objects import Pod
from runtime.cri import CriError, StatusCode
from runtime.cri.identity import pod_labels
from runtime.cri.messages import (
    AuthConfig,
    ImageStatusResponse,
    PodSandboxConfig,
    PodSandboxMetadata,
    PullImageResponse,
)
from runtime.state.docker_config_files import NodeCredentials

UNLIMITED = 1_000
"""Parallel pulls when the configuration sets no limit: as many as any node has pods."""

FlightKey = tuple[str, tuple[Credential, ...], str]
"""The image, the pod's credentials for it, and the pod's uid.

The uid is empty unless credential programs get the pod's token.
"""


class FlightTag(msgspec.Struct, frozen=True):
    """Which flight an answer is for. `number`: flights of one key follow each other."""

    key: FlightKey
    number: int


class PullLimits(msgspec.Struct, frozen=True):
    """`at_once`: flights in the air; `rate`: how fast they may begin."""

    at_once: int
    rate: PullRate

    @classmethod
    def of(cls, serialize: bool, max_parallel: int | None, per_second: int, burst: int) -> PullLimits:
        """From the fields of a KubeletConfiguration (spec 6.2)."""
        at_once = 1 if serialize else max_parallel or UNLIMITED
        return cls(min(at_once, UNLIMITED), PullRate(per_second, burst))


class CredentialPrograms(msgspec.Struct, frozen=True):
    """The programs of the node, and the `ImageCredentialsActor`, which asks them."""

    known: tuple[ImageProvider, ...]
    actor: ActorRef

    def are_for(self, image: str) -> bool:
        return any(each.is_for(full_name(image)) for each in self.known)

    def want_token(self, image: str) -> bool:
        """Whether what they give depends on the pod."""
        return any(each.token is not None and each.is_for(full_name(image)) for each in self.known)


class PullWaiter:
    """A container that waits for the image.

    `told_to_wait`: its worker knows that the pull has not begun yet.

    `checks`: the image is here, and its service account may open it; the credential programs have to say so first.
    """

    __slots__ = ("checks", "request", "since_ns", "told_to_wait")

    def __init__(self, request: PullImage, since_ns: int, checks: bool = False) -> None:
        self.request = request
        self.since_ns = since_ns
        self.checks = checks
        self.told_to_wait = False


class Flight:
    """The pull of one image; `started_ns` is None before it begins.

    `pods`: UID -> how many of its containers wait; `checking`: how many have to hear from the programs first.

    `places`: UIDs of the pods in whose turn it may begin; `turn_of`: UID and name of the one in whose turn
    it began.

    `untried`: credentials, None for anonymous.

    `asked`: there are credential programs for it, and they were asked when it was made. `heard`: they have answered
    after `asking_ns` with `provided`, the first of it for `account` (None: for no account); `problems`: why some gave
    nothing.
    `asks`: it waits for them, and is not in the air; `resumes`: they have answered, and it waits to be in the air
    again. `secrets` and `accounts`: whose the credentials are. `intended`: the book has an intent of it;
    `is_uncertain`: the runtime may still bring the image after its end.
    """

    __slots__ = (
        *(
            "account",
            "accounts",
            "asked",
            "asking_ns",
            "asks",
            "call",
            "called_off",
            "checking",
            "errors",
            "heard",
            "image",
            "intended",
        ),
        *("is_uncertain", "key", "number", "places", "pods", "problems", "provided", "resumes", "secrets"),
        *("since_ns", "started_ns", "tried", "turn_of", "untried", "waiters"),
    )

    def __init__(self, key: FlightKey, since_ns: int, number: int = 0) -> None:
        self.key = key
        self.number = number
        self.image = key[0]
        self.since_ns = since_ns
        self.started_ns: int | None = None
        self.called_off = False
        self.call: Pending[PullImageResponse] | None = None
        self.waiters: dict[tuple[str, str], PullWaiter] = {}
        self.pods: Counter[str] = Counter()
        self.checking = 0
        self.places: set[str] = set()
        self.turn_of = ("", "")
        self.secrets: set[SecretCredential] = set()
        self.accounts: dict[Credential, PullAccount] = {}
        self.account: PullAccount | None = None
        self.provided: tuple[Credential, ...] = ()
        self.problems: tuple[str, ...] = ()
        self.asked = self.heard = False
        self.asking_ns = 0
        self.intended = False
        self.begin_again()

    def join(self, key: tuple[str, str], waiter: PullWaiter) -> None:
        """A container waits; its key is (UID of the pod, container)."""
        self.waiters[key] = waiter
        self.pods[key[0]] += 1
        self.checking += waiter.checks

    def leave(self, key: tuple[str, str]) -> None:
        """A container waits no more."""
        waiter = self.waiters.pop(key)
        self.checking -= waiter.checks
        self.pods[key[0]] -= 1
        if not self.pods[key[0]]:
            del self.pods[key[0]]

    def has_heard_for(self, waiter: PullWaiter) -> None:
        """What the programs say about this waiter is known now."""
        self.checking -= waiter.checks
        waiter.checks = False

    def begin_again(self) -> None:
        """No credential has been tried."""
        self.untried: list[Credential | None] = []
        self.tried: list[Credential | None] = []
        self.errors: list[str] = []
        self.asks = self.resumes = self.is_uncertain = False

    def hear(self, answer: ProviderCredentials, now_ns: int) -> None:
        """Store the answer of the credential programs."""
        self.asking_ns = now_ns - self.since_ns
        self.heard, self.problems = True, answer.problems
        self.provided = tuple(each.credential for each in answer.found)
        for each in answer.found:
            if each.account:
                account = PullAccount(each.account_uid, each.namespace, each.account)
                self.accounts[each.credential] = account
                self.account = self.account or account

    def take_provided(self) -> None:
        """Try what the programs gave, as far as it was not tried."""
        self.untried = [each for each in self.provided if each not in self.tried]

    def next_credential(self) -> Credential | None:
        """The one to try now; None: anonymous."""
        self.tried.append(self.untried.pop(0))
        return self.tried[-1]

    def grants(self) -> Grants:
        """Who may use the image after a pull with the credential that was tried last."""
        credential = self.tried[-1]
        secrets = {each.secret for each in self.secrets if each.credential == credential}
        if secrets:
            return Grants(tuple(sorted(secrets, key=lambda each: each.place)))
        account = None if credential is None else self.accounts.get(credential)
        return ALL_PODS if account is None else Grants((), (account,))

    @property
    def named(self) -> str:
        """The image as the first pod that waits has it, perhaps without a tag."""
        return next((each.request.image for each in self.waiters.values()), self.image)

    def progress(self, now_ns: int) -> PullInProgress:
        """The progress of the pull, in words for people."""
        pods = tuple(waiter.request.pod.metadata for waiter in self.waiters.values())
        names = tuple(f"{meta.namespace}/{meta.name}" for meta in pods)
        return PullInProgress(self.image, now_ns - self.since_ns, self.started_ns is not None, names)

    @property
    def is_held(self) -> bool:
        """Whether it must not begin: with what the programs say it may not be needed."""
        return self.asked and not self.heard and self.checking > 0

    @property
    def may_begin(self) -> bool:
        """Whether it waits for its turn."""
        return self.resumes or (self.started_ns is None and not self.is_held)

    @property
    def is_in_the_air(self) -> bool:
        return self.started_ns is not None and not self.asks and not self.resumes


# --- what the actor tells itself ---


class PullEnded(Message, frozen=True):
    """To itself: one try of a flight has ended, well or not (`error`).

    Not `certain`: the outcome is unknown, and the runtime may still bring the image.
    """

    key: FlightKey
    error: str
    image_ref: str = ""
    certain: bool = True


class NodeCredentialsRead(Message, frozen=True):
    """To itself: the node's credentials, for the flight of that key."""

    key: FlightKey
    found: NodeCredentials


class ImageMeasured(Message, frozen=True):
    """To itself: the size of a pulled image, 0 if unknown.

    `waited`: (request, ns of pulling, ns including waiting).
    """

    size_bytes: int
    waited: tuple[tuple[PullImage, int, int], ...]


class AskProvidersAgain(Message, frozen=True):
    """To itself: the answer of the credential programs is overdue."""

    tag: FlightTag


def together(errors: list[str]) -> str:
    """One text with the errors of all tries."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else ""


def shown(credential: Credential | None) -> AuthConfig | None:
    """The credentials that the runtime shows the registry."""
    if credential is None:
        return None
    return AuthConfig(
        username=credential.username,
        password=credential.password,
        identity_token=credential.identity_token,
        registry_token=credential.registry_token,
    )


def secrets_of(auth: AuthConfig | None) -> tuple[str, ...]:
    """The secrets that a registry or the runtime may repeat in errors, also joined as in headers."""
    if auth is None:
        return ()
    return (auth.password, f"{auth.username}:{auth.password}", auth.identity_token, auth.registry_token)


def on_behalf_of(pod: Pod) -> PodSandboxConfig:
    """The pod for which the image is pulled, for runtimes that need it."""
    meta = pod.metadata
    return PodSandboxConfig(
        metadata=PodSandboxMetadata(name=meta.name, uid=meta.uid, namespace=meta.namespace),
        labels={**meta.labels, **pod_labels(pod)},
        annotations=meta.annotations,
    )


def pull_ended(key: FlightKey, done: Pending[PullImageResponse], secrets: tuple[str, ...]) -> PullEnded:
    """How a try has ended; the error is the runtime's, without secrets."""
    outcome = outcome_of(done)
    failure = outcome.error
    if failure is None:
        return PullEnded(key, "", "" if outcome.value is None else outcome.value.image_ref)
    certain = isinstance(failure, CriError) and failure.code not in UNCERTAIN
    return PullEnded(key, masked(_text_of(failure), secrets), certain=certain)


def _text_of(failure: BaseException) -> str:
    """An error as upstream shows it: the code of a runtime stands in it if it tells something."""
    if not isinstance(failure, CriError):
        return str(failure) or type(failure).__name__
    return failure.message if failure.code is StatusCode.UNKNOWN and failure.message else failure.in_go


def size_in(done: Pending[ImageStatusResponse]) -> int:
    response = outcome_of(done).value
    return 0 if response is None or response.image is None else response.image.size
