"""`ImageCredentialsActor`: which program is asked what, how often, and who hears of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from actors.images.credentials import (
    LOOKUP_LIMIT_NS,
    PROCESSES_AT_MOST,
    PROCESSES_OF_POD_AT_MOST,
    ImageCredentialsActor,
)
from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher, broken, kept
from actors.messages.images import FindCredentials, ProvidedCredential, ProviderCredentials
from actors.messages.references import ReleaseObjects, RequestToken, TokenIssued, TokenRefused
from config.credentials.docker_config import Credential, RegistryEntry
from config.credentials.image_providers import ImageProvider, TokenAttributes
from config.credentials.provider_answers import CacheScope, ProviderAnswer
from config.objects import ObjectMeta, Pod, PodSpec, ServiceAccount
from runtime.api import ApiError
from runtime.image_providers.capability import ProviderFailedError, ProviderRequest
from tests.actors.recorders import Recorder
from tests.work import lines_of

SECOND_NS = 1_000_000_000
HOUR_NS = 3600 * SECOND_NS
IMAGE = "r.io/team/app"


def plain(name: str, *images: str) -> ImageProvider:
    return ImageProvider(name, images or ("r.io",), HOUR_NS)


def with_token(*, by_token: bool = False, requires: bool = True, role: bool = False) -> ImageProvider:
    attributes = TokenAttributes("sts", requires, by_token, ("role",) if role else (), ("zone",))
    return ImageProvider("cloud", ("r.io",), HOUR_NS, token=attributes)


def answer(name: str, scope: CacheScope = CacheScope.IMAGE, cache_ns: int = HOUR_NS) -> ProviderAnswer:
    return ProviderAnswer(scope, cache_ns, (RegistryEntry("r.io", Credential(name)),))


class Programs:
    """Every program runs until the test ends it."""

    def __init__(self, known: tuple[ImageProvider, ...]) -> None:
        self.known = known
        self.asked: list[tuple[str, ProviderRequest]] = []
        self._running: list[Promise[ProviderAnswer]] = []

    def ask(self, provider: ImageProvider, request: ProviderRequest) -> Promise[ProviderAnswer]:
        self.asked.append((provider.name, request))
        self._running.append(Promise())
        return self._running[-1]

    def running(self) -> int:
        return sum(not each.done() for each in self._running)

    def end(self, number: int, with_answer: ProviderAnswer | Exception) -> None:
        if isinstance(with_answer, Exception):
            self._running[number].set_exception(with_answer)
        else:
            self._running[number].set_result(with_answer)


class Accounts:
    """An API server with service accounts."""

    def __init__(self) -> None:
        self.accounts = {"builder": ServiceAccount(metadata=ObjectMeta(name="builder", namespace="ns", uid="sa-1"))}

    def call(self, call: Any, *, timeout_ns: int | None = None) -> Any:
        name = call.path.rsplit("/", 1)[-1]
        found = self.accounts.get(name)
        return broken(ApiError(404, "NotFound", f"{name} is not there", "get")) if found is None else kept(found)


class World:
    def __init__(self, *known: ImageProvider) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.programs = Programs(known)
        self.api = Accounts()
        reader, self.heard = Recorder.spawn_in(self.system, "reader", ProviderCredentials)
        tokens, told = Recorder.spawn_in(self.system, "tokens", RequestToken, ReleaseObjects)
        self._told: list[Any] = told
        self._workers: dict[str, ActorRef] = {}
        self._reader = reader
        self.actor = self.system.spawn(ImageCredentialsActor, self.programs, tokens, self.api, name="credentials")

    def ask(self, pod: str = "a", image: str = IMAGE, account: str = "") -> None:
        spec = PodSpec(service_account_name=account or None)
        meta = ObjectMeta(name=pod, namespace="ns", uid=pod)
        if pod not in self._workers:
            self._workers[pod], _ = Recorder.spawn_in(self.system, pod)
        self.actor.tell(FindCredentials(self._reader, pod, Pod(metadata=meta, spec=spec), image, self._workers[pod]))
        self.dispatcher.run_for(0)

    @property
    def tokens(self) -> list[RequestToken]:
        return [each for each in self._told if isinstance(each, RequestToken)]

    def released(self) -> list[str]:
        """Uids of pods whose tokens were released."""
        return [each.uid for each in self._told if isinstance(each, ReleaseObjects)]

    def stop(self, pod: str) -> None:
        """The pod has ended."""
        self._workers[pod].stop()
        self.dispatcher.run_for(0)

    def end(self, number: int, with_answer: ProviderAnswer | Exception) -> None:
        self.programs.end(number, with_answer)
        self.dispatcher.run_for(0)

    def issue(self, number: int, token: str) -> None:
        tag = self.tokens[number].tag
        self.actor.tell(TokenIssued(tag, token, 10**20, 10**20) if token else TokenRefused(tag, "no such account"))
        self.dispatcher.run_for(0)

    def got(self) -> list[tuple[Any, list[str], tuple[str, ...]]]:
        """(pod, names of credentials, problems) of every answer, in order."""
        return [(each.tag, [one.credential.username for one in each.found], each.problems) for each in self.heard]


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        assert world.system.stop()


def made(worlds: list[World], *known: ImageProvider) -> World:
    worlds.append(World(*known))
    return worlds[-1]


def test_the_programs_for_an_image_are_asked_and_answer_in_the_order_of_the_configuration(worlds: list[World]) -> None:
    world = made(worlds, plain("first"), plain("other", "x.io"), plain("second"))
    world.ask()
    assert [name for name, _ in world.programs.asked] == ["first", "second"]
    world.end(1, answer("b"))
    assert world.got() == []
    world.end(0, answer("a"))
    assert world.got() == [("a", ["a", "b"], ())]


def test_requests_for_one_image_share_a_process_and_later_ones_the_answer(worlds: list[World]) -> None:
    world = made(worlds, plain("p"))
    world.ask("a")
    world.ask("b")
    assert len(world.programs.asked) == 1
    world.end(0, answer("x"))
    world.ask("c")
    assert world.got() == [(pod, ["x"], ()) for pod in "abc"]
    world.dispatcher.run_for(HOUR_NS + 1)
    world.ask("d")
    assert len(world.programs.asked) == 2


def test_an_answer_that_is_not_kept_is_asked_for_again(worlds: list[World]) -> None:
    world = made(worlds, plain("p"))
    world.ask("a")
    world.end(0, answer("x", cache_ns=0))
    world.ask("b")
    assert len(world.programs.asked) == 2


def test_a_program_that_fails_is_named_and_another_one_counts(
    worlds: list[World], caplog: pytest.LogCaptureFixture
) -> None:
    world = made(worlds, plain("bad"), plain("good"))
    world.ask()
    world.end(0, ProviderFailedError("credential provider bad for r.io/team/app: exit status 1", "no *** here"))
    world.end(1, answer("x"))
    assert world.got() == [("a", ["x"], ("credential provider bad for r.io/team/app: exit status 1",))]
    assert "no *** here" in caplog.text


def test_a_program_that_hangs_has_a_limited_number_of_processes_and_holds_up_no_other(worlds: list[World]) -> None:
    world = made(worlds, plain("hangs"), plain("works", "x.io"))
    for number in range(PROCESSES_AT_MOST + 5):
        world.ask(f"pod-{number}", f"r.io/{number}")
    assert world.programs.running() == PROCESSES_AT_MOST
    world.ask("b", "x.io/app")
    world.end(PROCESSES_AT_MOST, ProviderAnswer(CacheScope.IMAGE, 0, (RegistryEntry("x.io", Credential("x")),)))
    assert world.got() == [("b", ["x"], ())]


def test_a_queued_request_uses_the_answer_already_given_for_its_registry(worlds: list[World]) -> None:
    world = made(worlds, plain("p"))
    for number in range(PROCESSES_AT_MOST + 5):
        world.ask(f"pod-{number}", f"r.io/{number}")
    world.end(0, answer("x", CacheScope.REGISTRY))
    assert len(world.programs.asked) == PROCESSES_AT_MOST
    assert {tag for tag, names, _ in world.got() if names == ["x"]} == {"pod-0", *(f"pod-{n}" for n in range(8, 13))}


# --- service accounts -----------------------------------------------------------------------------------------------


# (spec 6.3.8)
def test_a_program_gets_the_token_of_the_account_and_the_annotations_it_wants(worlds: list[World]) -> None:
    world = made(worlds, with_token(role=True))
    meta = ObjectMeta(name="builder", namespace="ns", uid="sa-1", annotations={"role": "r", "zone": "z", "other": "o"})
    world.api.accounts["builder"] = ServiceAccount(metadata=meta)
    world.ask(account="builder")
    assert [(each.audience, each.pod.metadata.uid) for each in world.tokens] == [("sts", "a")]
    world.issue(0, "t0")
    ((_, request),) = world.programs.asked
    assert request == ProviderRequest(IMAGE, "t0", {"role": "r", "zone": "z"})
    world.end(0, answer("x"))
    assert world.heard[0].found == (ProvidedCredential(Credential("x"), "ns", "builder", "sa-1"),)


@pytest.mark.parametrize(("by_token", "processes"), [(False, 1), (True, 2)])
# (spec 6.3.8)
def test_an_answer_is_good_for_the_account_or_for_one_token(
    worlds: list[World], by_token: bool, processes: int
) -> None:
    world = made(worlds, with_token(by_token=by_token))
    world.ask("a", account="builder")
    world.issue(0, "t0")
    world.end(0, answer("x"))
    world.ask("b", account="builder")
    if by_token:
        world.issue(1, "t1")
        world.end(1, answer("x"))
    assert len(world.programs.asked) == processes
    assert world.got() == [("a", ["x"], ()), ("b", ["x"], ())]


def test_pods_of_one_account_that_ask_together_have_a_process_each(worlds: list[World]) -> None:
    """Their tokens differ, and only the answer says which of them it is for."""
    world = made(worlds, with_token())
    for pod in ("a", "b"):
        world.ask(pod, account="builder")
    world.issue(0, "t0")
    world.issue(1, "t1")
    assert [request.token for _, request in world.programs.asked] == ["t0", "t1"]


@pytest.mark.parametrize(
    ("provider", "account", "asked", "problems"),
    [
        pytest.param(with_token(), "", 0, 0, id="it needs an account, the pod has none"),
        pytest.param(with_token(requires=False), "", 1, 0, id="it needs none"),
        pytest.param(with_token(role=True), "builder", 0, 0, id="the account lacks an annotation: it has not opted in"),
        pytest.param(with_token(), "gone", 0, 1, id="there is no such account"),
    ],
)
def test_when_a_program_is_asked_on_behalf_of_an_account(
    worlds: list[World], provider: ImageProvider, account: str, asked: int, problems: int
) -> None:
    world = made(worlds, provider)
    world.ask(account=account)
    assert len(world.programs.asked) == asked
    if asked:
        assert world.programs.asked[0][1].token == ""
    else:
        assert [len(each.problems) for each in world.heard] == [problems]


def test_a_refused_token_is_a_problem_and_one_that_never_comes_too(worlds: list[World]) -> None:
    world = made(worlds, with_token())
    world.ask("a", account="builder")
    world.issue(0, "")
    world.ask("b", account="builder")
    world.dispatcher.run_for(LOOKUP_LIMIT_NS)
    assert world.got() == [
        ("a", [], ("credential provider cloud: service account ns/builder: no such account",)),
        ("b", [], ("credential provider cloud: no answer in time",)),
    ]
    world.issue(1, "late")
    assert world.programs.asked == []


def test_the_tokens_of_a_pod_are_released_when_it_has_ended(worlds: list[World]) -> None:
    world = made(worlds, with_token())
    world.ask("a", account="builder")
    world.issue(0, "t0")
    world.end(0, answer("x"))
    world.ask("other")
    assert world.released() == []
    world.stop("a")
    world.stop("other")
    assert world.released() == ["a"]


@pytest.mark.parametrize("step", ["its token is requested", "it waits for a process", "its program runs"])
def test_a_pod_that_ends_while_it_is_looked_up_leaves_nothing_behind(worlds: list[World], step: str) -> None:
    world = made(worlds, with_token())
    busy = PROCESSES_AT_MOST if step == "it waits for a process" else 0
    for number in range(busy):
        world.ask(f"busy-{number}", account="builder")
        world.issue(number, f"t{number}")
    world.ask("a", account="builder")
    if step != "its token is requested":
        world.issue(busy, "t")
    world.stop("a")
    assert world.released() == ["a"]
    assert world.got() == [("a", [], ())]
    if step == "its token is requested":
        world.issue(busy, "late")
        assert world.programs.asked == []
    for number in range(world.programs.running()):
        world.end(number, answer("x", cache_ns=0))
    assert [request.token for _, request in world.programs.asked[busy:]] == (
        ["t"] if step == "its program runs" else []
    )
    world.ask("b", account="builder")
    assert len(world.tokens) == busy + 2


def test_a_pod_with_thousands_of_images_leaves_processes_of_a_program_to_others(worlds: list[World]) -> None:
    world = made(worlds, plain("p"))
    for number in range(1_000):
        world.ask("large", f"r.io/image{number}")
    assert world.programs.running() == PROCESSES_OF_POD_AT_MOST
    world.ask("small", "r.io/mine")
    assert world.programs.asked[-1][1].image == "r.io/mine"


def test_pods_take_turns_with_a_program_that_is_busy(worlds: list[World]) -> None:
    world = made(worlds, plain("p"))
    for pod in "abc":
        for number in range(10):
            world.ask(pod, f"r.io/{pod}{number}")
    assert world.programs.running() == PROCESSES_AT_MOST
    world.ask("small", "r.io/c9")
    before = len(world.programs.asked)
    for number in range(4):
        world.end(number, answer("x", cache_ns=0))
    assert "r.io/c9" in [request.image for _, request in world.programs.asked[before:]], "in the turn of the small pod"


def test_the_end_of_a_pod_costs_the_same_however_many_look_ups_others_have() -> None:
    def cost(others: int) -> int:
        world = World(with_token())
        for number in range(others):
            world.ask("large", f"r.io/image{number}", account="builder")
        world.ask("small", account="builder")
        lines = lines_of(lambda: world.stop("small"))
        assert world.system.stop()
        return lines

    assert cost(500) <= 1.1 * cost(20)
