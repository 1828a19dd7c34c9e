"""Authentication and authorization: their order, the caches, and a silent API server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.kernel import PoolDispatcher
from cli.run.node_server import NodeWindow, Serving, node_server
from config.kubelet import KubeletConfiguration
from config.kubelet.configuration import Authentication, Authorization
from config.objects import SubjectAccessReview, SubjectAccessReviewStatus, TokenReview, TokenReviewStatus, UserInfo
from runtime.api import ApiCall, ApiError, ApiLines
from runtime.http_server.auth.access import ANONYMOUS, RequestUser
from runtime.http_server.auth.client_certificates import Shown
from runtime.http_server.auth.gate import AccessGate, GateError, gate_faults
from runtime.http_server.auth.reviews import (
    ASK_LIMIT_NS,
    BAD_ENTRIES_AT_MOST,
    ENTRIES_AT_MOST,
    OF_SOURCE_AT_MOST,
    UNDER_WAY_AT_MOST,
    ReviewCache,
)
from runtime.http_server.heads import HttpRefusal
from runtime.http_server.node_server import Ports
from runtime.io.event_loop import LoopThread
from runtime.metrics import kubelet_api as names
from runtime.metrics.meters import Meters
from simulation.node.simulated_node import SimulatedNode
from tests.runtime.http_server.clients import ask
from tests.runtime.http_server.test_crowds import trusting

OPEN, CLOSED = Authorization(mode="AlwaysAllow"), Authorization()
REPLACE = msgspec.structs.replace
ALICE = {
    "subject": ((("organizationName", "team"),), (("commonName", "alice"),)),
    "notAfter": "Jan  1 00:00:00 2099 GMT",
}


class Reviewer:
    """An API server that knows the token `good`, lets `allowed` through, and fails as often as it is told."""

    def __init__(self, *allowed: tuple[str, str]) -> None:
        self.allowed = allowed
        self.asked: Counter[str] = Counter()
        self.failures = 0
        self.seen: list[Any] = []
        self.turns: list[str] = []

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Future[Any]:
        done: Future[Any] = Future()
        self.turns.append(call.turn_of)
        self.asked[call.path.rpartition("/")[2]] += 1
        if self.failures:
            self.failures -= 1
            done.set_exception(ApiError(503, "ServiceUnavailable", "away", call.verb))
            return done
        review = call.read(call.body or b"")
        self.seen.append(review)
        if isinstance(review, TokenReview):
            known = review.spec.token == "good"
            status: Any = TokenReviewStatus(
                authenticated=known, user=UserInfo(username="bob", groups=("g",), uid="u", extra={"k": ("v",)})
            )
        else:
            assert isinstance(review, SubjectAccessReview)
            attributes = review.spec.resource_attributes
            assert attributes is not None
            pair = (review.spec.user or "", attributes.subresource or "")
            status = SubjectAccessReviewStatus(allowed=pair in self.allowed)
        done.set_result(REPLACE(review, status=status))
        return done

    def watch(self, *_: Any) -> Any:
        raise AssertionError


def admitted(
    gate: AccessGate, path: str = "/pods", authorization: str = "", certificate: Any = None, fault: str = ""
) -> Any:
    """The user, or the status of the refusal."""
    try:
        return asyncio.run(gate.admit("GET", path, authorization, Shown(certificate, fault)))
    except HttpRefusal as refusal:
        return refusal.status


def gate_of(reviewer: Reviewer, authorization: Authorization = CLOSED, **authentication: Any) -> AccessGate:
    return AccessGate("n", REPLACE(Authentication(), **authentication), authorization, reviewer, (0.0, 0.0))


# (spec 11.4.1)
def test_a_certificate_goes_before_a_token_and_a_token_before_nobody() -> None:
    gate = gate_of(Reviewer(), OPEN, anonymous=msgspec.structs.replace(Authentication().anonymous, enabled=True))
    assert admitted(gate, authorization="Bearer good", certificate=ALICE) == RequestUser(
        "alice", ("team", "system:authenticated")
    )
    assert admitted(gate, authorization="bearer good") == RequestUser("bob", ("g",), "u", (("k", ("v",)),))
    assert admitted(gate) == ANONYMOUS
    assert admitted(gate, authorization="Bearer bad") == 401, "a bad token is no anonymous request"
    assert admitted(gate_of(Reviewer(), OPEN)) == 401
    assert admitted(gate_of(Reviewer(), OPEN), authorization="Basic Z29vZDo=") == 401


# (spec 17.1.1)
def test_a_certificate_that_is_not_good_any_more_is_nobody_but_a_token_may_be_shown_with_it() -> None:
    gate = gate_of(Reviewer(), OPEN, anonymous=msgspec.structs.replace(Authentication().anonymous, enabled=True))
    old: dict[str, Any] = {"certificate": ALICE, "fault": "it has ended"}
    assert admitted(gate, **old) == 401
    assert admitted(gate, authorization="Bearer bad", **old) == 401
    assert admitted(gate, authorization="Bearer good", **old).name == "bob"


# (spec 11.4.3)
def test_any_subresource_that_is_allowed_is_enough() -> None:
    assert admitted(gate_of(Reviewer(("alice", "pods"))), certificate=ALICE).name == "alice"
    assert admitted(gate_of(Reviewer(("alice", "proxy"))), certificate=ALICE).name == "alice"
    assert admitted(gate_of(Reviewer(("alice", "stats"))), certificate=ALICE) == 403
    assert admitted(gate_of(Reviewer(("alice", "pods"))), "/exec/a/b/c", certificate=ALICE) == 403


# (spec 11.4.3)
def test_an_access_review_names_the_node_and_the_whole_user() -> None:
    reviewer = Reviewer(("bob", "pods"))
    admitted(gate_of(reviewer), authorization="Bearer good")
    spec = reviewer.seen[-1].spec
    attributes = spec.resource_attributes
    assert (spec.user, spec.groups, spec.uid, dict(spec.extra)) == ("bob", ("g",), "u", {"k": ("v",)})
    assert (attributes.verb, attributes.resource, attributes.name, attributes.version) == ("get", "nodes", "n", "v1")


# (spec 11.4.2)
def test_answers_are_kept_good_and_bad_ones() -> None:
    reviewer = Reviewer()
    gate = gate_of(reviewer)
    for _ in range(3):
        assert admitted(gate, authorization="Bearer good") == 403
        assert admitted(gate, authorization="Bearer bad") == 401
    assert reviewer.asked == {"tokenreviews": 2, "subjectaccessreviews": 2}


def test_questions_and_lookups_are_measured() -> None:
    reviewer, meters = Reviewer(("bob", "pods")), Meters()
    gate = AccessGate("n", Authentication(), CLOSED, reviewer, (0.0, 0.0), meters)
    reviewer.failures = 1
    for _ in range(3):
        assert admitted(gate, authorization="Bearer good").name == "bob"
    assert admitted(gate, certificate=ALICE) == 403
    assert (meters.value(names.TOKEN_REVIEWS, "503"), meters.value(names.TOKEN_REVIEWS, "200")) == (1, 1)
    assert meters.value(names.ACCESS_REVIEWS, "200") == 2 * 2 - 1, "bob may at once, alice is asked about twice"
    assert (meters.value(names.TOKEN_LOOKUPS, "miss"), meters.value(names.TOKEN_LOOKUPS, "hit")) == (1, 2)
    assert meters.value(names.TOKEN_FETCHES, "ok") == 1
    assert [meters.value(names.TOKEN_FETCHES_NOW, each) for each in ("in_flight", "blocked")] == [0, 0]
    assert meters.value(names.CLIENT_CERTIFICATE_LEFT) == 1


# (spec 17.1.3)
def test_an_api_server_that_fails_is_asked_again_and_is_no_permission() -> None:
    reviewer = Reviewer(("alice", "pods"))
    reviewer.failures = 2
    assert admitted(gate_of(reviewer), certificate=ALICE).name == "alice"
    reviewer.failures = 100
    gate = gate_of(reviewer)
    assert admitted(gate, certificate=ALICE) == 500
    assert admitted(gate, authorization="Bearer good") == 401
    reviewer.failures = 0
    assert admitted(gate, certificate=ALICE).name == "alice", "a failure is not kept"


# (spec 17.1.2)
def test_a_node_without_an_api_server_says_which_fields_need_one() -> None:
    assert gate_faults(Authentication(), CLOSED, joined=True) == ()
    texts = gate_faults(Authentication(), CLOSED, joined=False)
    assert [each.partition(":")[0] for each in texts] == ["$.authorization.mode", "$.authentication.webhook.enabled"]
    with pytest.raises(GateError, match="unknown"):
        AccessGate("n", Authentication(), Authorization(mode="Sometimes"), Reviewer())


def test_a_gate_without_an_api_server_lets_nobody_in() -> None:
    gate = AccessGate("n", Authentication(), CLOSED, None)
    assert admitted(gate, certificate=ALICE) == 403
    assert admitted(gate, authorization="Bearer good") == 401


class Silent(Reviewer):
    """An API server that does not answer yet."""

    def __init__(self, silent_about: str = "") -> None:
        super().__init__()
        self.silent_about = f'"token":"{silent_about}'.encode() if silent_about else b""
        self.waiting: list[Future[Any]] = []

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Future[Any]:
        if self.silent_about not in (call.body or b""):
            return super().call(call, timeout_ns=timeout_ns)
        self.asked[call.path.rpartition("/")[2]] += 1
        self.waiting.append(Future())
        return self.waiting[-1]

    def open(self) -> int:
        """How many questions have no answer, and were not taken back."""
        return sum(not each.done() for each in self.waiting)


def test_a_source_has_a_few_reviews_under_way_and_leaves_room_for_others() -> None:
    """Random tokens come as fast as a network is; the API server is asked as fast as it answers."""

    async def scenario() -> None:
        reviewer = Silent()
        gate = gate_of(reviewer, OPEN)

        async def status(token: str, source: str) -> int:
            try:
                await gate.admit("GET", "/pods", f"Bearer {token}", Shown(), source)
            except HttpRefusal as refusal:
                return refusal.status
            return 200

        crowd = [asyncio.ensure_future(status(f"t{each}", "10.0.0.1")) for each in range(500)]
        other = asyncio.ensure_future(status("good", "10.0.0.2"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert reviewer.asked["tokenreviews"] == OF_SOURCE_AT_MOST + 1
        assert [each.result() for each in crowd if each.done()] == [429] * (500 - OF_SOURCE_AT_MOST)
        assert not other.done(), "it is asked for, and waits for its answer only"
        sources = [asyncio.ensure_future(status(f"u{each}", f"10.1.0.{each}")) for each in range(300)]
        for _ in range(10):
            await asyncio.sleep(0)
        assert reviewer.open() == UNDER_WAY_AT_MOST
        assert not other.done(), "it has no more than its share"
        for each in (*crowd, other, *sources):
            each.cancel()

    asyncio.run(scenario())


class SlowForSome:
    """A gate whose API server is silent about tokens that begin with `slow`.

    A test moves its clock.
    """

    def __init__(self) -> None:
        self.reviewer = Silent(silent_about="slow")
        self.now_ns = 0
        self.gate = AccessGate("n", Authentication(), OPEN, self.reviewer, now_ns=lambda: self.now_ns)

    async def ask(self, token: str, source: str) -> int:
        try:
            await self.gate.admit("GET", "/pods", f"Bearer {token}", Shown(), source)
        except HttpRefusal as refusal:
            return refusal.status
        return 200

    async def begin(self, *asked: tuple[str, str]) -> list[asyncio.Future[int]]:
        """Ask, and give the gate time to ask the API server."""
        begun: list[asyncio.Future[int]] = [asyncio.ensure_future(self.ask(*each)) for each in asked]
        for _ in range(20):
            await asyncio.sleep(0)
        return begun


@pytest.mark.parametrize("of_source", [2, OF_SOURCE_AT_MOST])
def test_slow_reviews_of_some_sources_refuse_no_other(of_source: int) -> None:
    async def scenario() -> None:
        world = SlowForSome()
        attackers = [(f"slow{each}", f"10.0.0.{each // of_source}") for each in range(UNDER_WAY_AT_MOST)]
        slow = await world.begin(*attackers)
        assert world.reviewer.open() == UNDER_WAY_AT_MOST
        assert await world.ask("good", "10.1.0.1") == 200
        assert [each.result() for each in slow if each.done()] == [429], "one has given its place"
        for each in slow:
            each.cancel()

    asyncio.run(scenario())


def test_a_review_that_has_had_its_time_gives_its_place_to_another() -> None:
    """Of its own source too: all may come from behind one address."""

    async def scenario() -> None:
        world = SlowForSome()
        slow = await world.begin(*((f"slow{each}", f"10.0.0.{each}") for each in range(UNDER_WAY_AT_MOST)))
        own = await world.begin(*((f"slow-own{each}", "10.1.0.1") for each in range(OF_SOURCE_AT_MOST)))
        assert [each.done() for each in own] == [True] * OF_SOURCE_AT_MOST, "no source has more than its share"
        world.now_ns = ASK_LIMIT_NS
        own = await world.begin(*((f"slow-own{each}", "10.1.0.1") for each in range(OF_SOURCE_AT_MOST)))
        assert not any(each.done() for each in own)
        assert await world.ask("good", "10.1.0.1") == 429, "its source has as many as it may"
        world.now_ns *= 2
        assert await world.ask("good", "10.1.0.1") == 200
        assert world.reviewer.open() <= UNDER_WAY_AT_MOST
        for each in (*slow, *own):
            each.cancel()

    asyncio.run(scenario())


def test_reviews_carry_their_source_to_the_rate_limit() -> None:
    async def scenario() -> None:
        reviewer = Reviewer(("bob", "pods"))
        await gate_of(reviewer, CLOSED).admit("GET", "/pods", "Bearer good", Shown(), "10.0.0.1")
        assert set(reviewer.turns) == {"10.0.0.1"}

    asyncio.run(scenario())


def test_a_node_asks_about_strangers_on_a_line_of_their_own(tmp_path: Path) -> None:
    reviewer, others = Reviewer(), Reviewer()
    with ExitStack() as after:
        loop = after.enter_context(closing(LoopThread("served")))
        node = SimulatedNode(after.enter_context(closing(PoolDispatcher())), name="n")
        serving = Serving("n", KubeletConfiguration(), str(tmp_path), ("n",), {})
        lines = ApiLines(others, others, others, reviews=reviewer)
        arguments = (NodeWindow(), node.cri, node.host.log_files, lines, loop)
        server = node_server(serving, Ports(0, None, None), *arguments)
        server.start()
        after.callback(server.close)
        assert server.ports.main is not None
        for each in range(3):
            assert ask(server.ports.main, tls=trusting(), Authorization=f"Bearer t{each}").status == 401
    assert (reviewer.asked, others.asked) == ({"tokenreviews": 3}, {})


@pytest.mark.parametrize("token", ["two words", "n\u00e4h", "\udcff", "a\0b", "=", "x" * 20_000, "{}"])
def test_a_malformed_token_is_refused_without_a_review(token: str) -> None:
    reviewer = Reviewer()
    assert admitted(gate_of(reviewer, OPEN), authorization=f"Bearer {token}") == 401
    assert not reviewer.asked


def test_made_up_tokens_push_out_no_good_one_and_are_forgotten_soon() -> None:
    reviewer = Reviewer()
    gate = gate_of(reviewer, OPEN)
    assert admitted(gate, authorization="Bearer good").name == "bob"
    for each in range(BAD_ENTRIES_AT_MOST + 100):
        assert admitted(gate, authorization=f"Bearer bad{each}") == 401
    asked = reviewer.asked["tokenreviews"]
    assert admitted(gate, authorization="Bearer good").name == "bob"
    assert admitted(gate, authorization=f"Bearer bad{BAD_ENTRIES_AT_MOST + 99}") == 401
    assert reviewer.asked["tokenreviews"] == asked, "both are known"
    assert admitted(gate, authorization="Bearer bad0") == 401
    assert reviewer.asked["tokenreviews"] == asked + 1, "the oldest bad ones are not"


def ask_of(values: list[Any]) -> Callable[[], Any]:
    async def ask() -> Any:
        await asyncio.sleep(0)
        value = values.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    return ask


def test_the_cache_forgets_in_time_asks_once_for_all_who_wait_and_is_bounded() -> None:
    async def scenario() -> None:
        now = [0]
        cache: ReviewCache[int, str] = ReviewCache(lambda _: 10, lambda: now[0])
        values: list[Any] = ["a", "b"]
        assert await asyncio.gather(*(cache.get(1, ask_of(values)) for _ in range(5))) == ["a"] * 5
        now[0] = 9
        assert await cache.get(1, ask_of(values)) == "a"
        now[0] = 10
        assert await cache.get(1, ask_of(values)) == "b"
        for key in range(2, ENTRIES_AT_MOST + 2):
            await cache.get(key, ask_of(["x"]))
        assert await cache.get(1, ask_of(["again"])) == "again"
        with pytest.raises(ValueError, match="no"):
            await cache.get(0, ask_of([ValueError("no")]))
        waiting = asyncio.ensure_future(cache.get(-1, ask_of(["kept"])))
        await asyncio.sleep(0)
        waiting.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert await cache.get(-1, ask_of([])) == "kept", "who goes away leaves the answer to others"

    asyncio.run(scenario())
