"""`TokenActor`: one request per token at a time, and renewal in time (spec 8.7).

The old token serves while there is no new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from actors.cluster.moments import Moment
from actors.cluster.token import TokenActor
from actors.cluster.token_rules import Token, back_off_ns, use_ns
from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.references import ReleaseObjects, RequestToken, TokenIssued, TokenRefused
from config.objects import ObjectMeta, Pod, PodSpec, TokenRequest, TokenRequestSpec, TokenRequestStatus
from config.values.api_time import api_time
from runtime.api import ApiCall, ApiError
from tests.actors.manual_api import ManualApi, unreachable
from tests.actors.recorders import Recorder
from tests.work import lines_of

SECOND_NS = 1_000_000_000
HOUR_S = 3600


def pod(uid: str = "p", account: str | None = "builder") -> Pod:
    meta = ObjectMeta(name=f"pod-{uid}", namespace="shop", uid=uid)
    return Pod(metadata=meta, spec=PodSpec(service_account_name=account))


class World:
    def __init__(self, *, alone: bool = False) -> None:
        self.api = ManualApi()
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.reader, self.heard = Recorder.spawn_in(self.system, "reader", TokenIssued, TokenRefused)
        self.tokens = self.system.spawn(TokenActor, None if alone else self.api, name="tokens")

    def run(self, seconds: float = 0) -> None:
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def ask(self, tag: str = "t", audience: str = "", seconds: int = HOUR_S, who: Pod | None = None) -> None:
        self.tokens.tell(RequestToken(self.reader, tag, who or pod(), audience, seconds))
        self.run()

    def issue(self, text: str, seconds: int = HOUR_S, ahead_s: int = 0) -> None:
        """`ahead_s`: of the node's clock is that of the API server."""
        expires = api_time(self.dispatcher.wall_ns() + (seconds + ahead_s) * SECOND_NS)
        status = TokenRequestStatus(expiration_timestamp=expires, token=text)
        self.api.answer(TokenRequest(spec=TokenRequestSpec(expiration_seconds=seconds), status=status))
        self.run()

    def refuse(self, error: ApiError | None = None) -> None:
        self.api.fail(error or unreachable())
        self.run()

    def got(self) -> list[str]:
        words = [f"{m.tag}:{m.token}" if isinstance(m, TokenIssued) else f"{m.tag}!{m.reason}" for m in self.heard]
        self.heard.clear()
        return words


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


# (spec 8.7.10)
def test_a_token_is_asked_for_the_pod_and_its_account(world: World):
    world.ask(audience="vault", seconds=1200)
    [call] = world.api.calls
    assert (call.method, call.path) == ("POST", "/api/v1/namespaces/shop/serviceaccounts/builder/token")
    assert call.body is not None
    spec = msgspec.json.decode(call.body)["spec"]
    assert spec == {
        "audiences": ["vault"],
        "expirationSeconds": 1200,
        "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "pod-p", "uid": "p"},
    }


def test_the_servers_own_audience_is_not_named_and_a_pod_without_account_has_the_default_one(world: World):
    world.ask(who=pod(account=None))
    [call] = world.api.calls
    assert call.body is not None
    assert "audiences" not in msgspec.json.decode(call.body)["spec"]
    assert call.path.endswith("/serviceaccounts/default/token")


def test_readers_share_a_token_request_and_later_reuse_the_fresh_token(world: World):
    world.ask("a")
    world.ask("b")
    world.ask("a")
    world.issue("one")
    assert sorted(world.got()) == ["a:one", "b:one"]
    world.run(HOUR_S * 0.79)
    world.ask("c")
    assert world.got() == ["c:one"]
    assert len(world.api.calls) == 1


def test_pods_accounts_audiences_and_lifetimes_do_not_share_tokens(world: World):
    world.ask()
    world.ask(who=pod("q"))
    world.ask(who=pod(account="other"))
    world.ask(audience="vault")
    world.ask(seconds=600)
    assert len(world.api.calls) == 5


def test_the_reader_is_told_when_to_ask_again_and_then_gets_another(world: World):
    world.ask()
    asked_ns = world.dispatcher.wall_ns()
    world.issue("one")
    [issued] = world.heard
    assert 0.79 * HOUR_S <= (issued.refresh_wall_ns - asked_ns) / SECOND_NS <= 0.8 * HOUR_S
    world.got()
    world.run((issued.refresh_wall_ns - world.dispatcher.wall_ns()) / SECOND_NS)
    world.ask()
    world.issue("two")
    assert world.got() == ["t:two"]


@pytest.mark.parametrize("ahead_s", [-2 * HOUR_S, 2 * HOUR_S])
def test_a_token_is_renewed_in_time_whatever_the_clock_of_the_server_says(world: World, ahead_s: int):
    world.ask()
    world.issue("one", ahead_s=ahead_s)
    [issued] = world.heard
    assert 0.79 * HOUR_S <= (issued.refresh_wall_ns - world.dispatcher.wall_ns()) / SECOND_NS <= 0.8 * HOUR_S
    world.run(HOUR_S * 0.79)
    world.ask()
    assert len(world.api.calls) == 1
    world.run(HOUR_S * 0.02)
    world.ask()
    assert len(world.api.calls) == 2


# (spec 8.7.10)
def test_while_renewal_fails_the_old_one_is_given_until_it_has_expired(world: World):
    world.ask()
    world.issue("one")
    world.run(HOUR_S * 0.85)
    world.ask()
    world.refuse()
    last = world.heard[-1]
    assert last.refresh_wall_ns > world.dispatcher.wall_ns()
    assert world.got() == ["t:one", "t:one"]
    world.run(HOUR_S * 0.2)
    world.ask()
    world.refuse()
    [refused] = world.got()
    assert refused.startswith("t!failed to fetch token: ")


def test_a_server_that_refuses_is_left_alone_for_a_growing_while(world: World):
    for failures in range(1, 5):
        world.ask()
        assert len(world.api.calls) == failures
        world.refuse()
        world.run(2 ** (failures - 1) * 0.99)
        world.ask()
        assert len(world.api.calls) == failures
        world.run(2 ** (failures - 1) * 0.6)
    assert all(text.startswith("t!failed to fetch token: ") for text in world.got())


def test_an_answer_without_a_token_is_a_refusal(world: World):
    world.ask()
    world.api.answer(TokenRequest())
    world.run()
    assert world.got() == ["t!failed to fetch token: the API server has sent no token, or none with a time of expiry"]


def test_the_tokens_of_a_pod_end_with_it(world: World):
    world.ask()
    world.issue("one")
    world.ask(audience="vault")
    world.tokens.tell(ReleaseObjects("p"))
    world.run()
    world.issue("late")
    assert world.got() == ["t:one", "t!the pod has ended"]
    world.ask()
    assert len(world.api.calls) == 3


def test_a_token_that_nobody_renews_is_forgotten(world: World):
    world.ask()
    world.issue("one", seconds=600)
    world.run(600 + 120)
    world.dispatcher.run_until_idle()
    world.ask()
    assert len(world.api.calls) == 2


def uid_of(call: ApiCall[Any]) -> str:
    assert call.body is not None
    found: str = msgspec.json.decode(call.body)["spec"]["boundObjectRef"]["uid"]
    return found


def test_a_pod_with_thousands_of_tokens_delays_another_by_no_request(world: World):
    for number in range(3_000):
        world.tokens.tell(RequestToken(world.reader, number, pod("large"), f"audience-{number}", HOUR_S))
    world.run()
    asked = len(world.api.calls)
    assert asked < 10, "few of one pod are in flight"
    world.ask(who=pod("small"))
    assert [(uid_of(call), call.turn_of) for call in world.api.calls[asked:]] == [("small", "small")]


def test_when_all_places_are_taken_the_pods_take_turns(world: World):
    for number in range(30):
        for uid in "abcdefghij":
            world.tokens.tell(RequestToken(world.reader, (uid, number), pod(uid), f"audience-{number}", HOUR_S))
    world.run()
    world.ask(who=pod("small"))
    world.ask(who=critical())
    before = len(world.api.calls)
    assert "small" not in map(uid_of, world.api.calls)
    for _ in range(12):
        world.issue("one")
    assert [uid_of(each) for each in world.api.calls[before:]].index("critical") == 0
    assert "small" in [uid_of(each) for each in world.api.calls[before:]]


def critical() -> Pod:
    one = pod("critical")
    return msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, priority=2_000_000_000))


def test_the_end_of_a_pod_costs_the_same_however_many_tokens_the_others_have():
    def cost(others: int) -> int:
        world = World()
        for number in range(others):
            world.tokens.tell(RequestToken(world.reader, number, pod(str(number)), "", HOUR_S))
        world.ask(who=pod("small"))

        def end() -> None:
            world.tokens.tell(ReleaseObjects("small"))
            world.run()

        lines = lines_of(end)
        assert world.system.stop()
        return lines

    assert cost(2_000) <= 1.1 * cost(20)


def test_the_end_of_a_pod_with_thousands_of_tokens_lets_others_have_their_turn(world: World):
    for number in range(3_000):
        world.tokens.tell(RequestToken(world.reader, number, pod("large"), f"audience-{number}", HOUR_S))
    world.run()
    world.tokens.tell(ReleaseObjects("large"))
    world.tokens.tell(RequestToken(world.reader, "mine", pod("small"), "", HOUR_S))
    world.run()
    assert uid_of(world.api.calls[-1]) == "small"
    assert len(world.heard) == 3_000
    before = len(world.api.calls)
    for _ in range(before):
        world.issue("late")
    assert len(world.api.calls) == before, "what the pod had wanted is not asked for any more"
    assert world.got()[-1] == "mine:late"


def test_a_node_that_stands_alone_has_no_tokens():
    world = World(alone=True)
    world.ask()
    [text] = world.got()
    assert "stands alone" in text
    assert world.system.stop()


@pytest.mark.parametrize(
    ("lifetime_s", "draw", "used_s"),
    [
        (3600, 0.0, 2880),
        (3600, 0.999999, 2870),
        (600, 0.0, 480),
        (7 * 24 * 3600, 0.0, 24 * 3600),
        (10, 0.999999, 7),
    ],
)
# (spec 8.7.10)
def test_when_a_token_is_renewed(lifetime_s: int, draw: float, used_s: int):
    assert use_ns(lifetime_s * SECOND_NS, draw) / SECOND_NS == pytest.approx(used_s, abs=0.01)


@pytest.mark.parametrize(
    ("now_s", "wall_s", "fresh_for_s", "valid"),
    [
        (100, 1100, 80, True),
        (180, 1180, 0, True),
        (200, 1200, -20, False),
        (180, -2420, 0, True),  # the clock was set back an hour
        (110, 4710, -3530, False),  # set forward, or the machine has slept
    ],
)
def test_the_larger_age_of_a_token_counts(now_s: int, wall_s: int, fresh_for_s: int, valid: bool):
    asked = Moment(100 * SECOND_NS, 1100 * SECOND_NS)
    token = Token("one", 0, 100 * SECOND_NS, 80 * SECOND_NS, asked)
    moment = Moment(now_s * SECOND_NS, wall_s * SECOND_NS)
    assert (token.fresh_for_ns(moment), token.is_valid(moment)) == (fresh_for_s * SECOND_NS, valid)


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (5000, 60)])
def test_pauses_grow_to_a_minute(failures: int, seconds: int):
    assert back_off_ns(failures, 0.0) == seconds * SECOND_NS
    assert back_off_ns(failures, 0.99) <= 1.5 * seconds * SECOND_NS


def test_a_token_does_not_show_itself():
    assert "word" not in repr(Token("word", 1, 1, 1, Moment(1, 1)))
