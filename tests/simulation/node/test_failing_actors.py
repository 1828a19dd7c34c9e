"""Any actor of a node may fail at any message: no pod is worse off for it.

The actor restarts (design.md, "Actors").

A handler fails once, before or after its work. Its message and its state are then lost, except for what others tell it
again. Which actor and which message is drawn from the seed; `tox -e seeds` plays 200 of them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from types import CoroutineType
from typing import Any

import msgspec
import pytest

from actors.kernel.actor_base import ActorBase
from actors.kernel.dispatcher import Dispatcher
from simulation.faults.failing import handled_until
from simulation.play.play import Play, PlayOutcome
from simulation.scenarios.scenario import Scenario, library_scenario, with_pods
from tests.seeds import over_seeds
from tests.simulation.node.worlds import SECOND, World, manifest

Kind = tuple[str, str]
"""Names of an actor class and of a message class."""
Failing = tuple[Kind, int, bool]
"""Which kind, the how manyth of it, and whether its work is done before."""
WAITS = 1000
"""Of a handler: all of them."""


def _failure() -> Exception:
    return RuntimeError("as the test wants it")


class Handlings:
    """Counts what is handled in a play, and lets some of them fail."""

    def __init__(self) -> None:
        self.seen: Counter[Kind] = Counter()
        self.fails: list[Failing] = []

    def spied(self, kind: Kind, handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def handle(actor: Any, message: Any) -> Any:
            self.seen[kind] += 1
            here = [done for each, which, done in self.fails if (each, which) == (kind, self.seen[kind])]
            if not here:
                return handler(actor, message)
            if here[0]:
                done = handler(actor, message)
                if isinstance(done, CoroutineType):
                    return handled_until(done, WAITS, _failure)
            raise _failure()

        return handle


@pytest.fixture
def handlings(monkeypatch: pytest.MonkeyPatch) -> Handlings:
    """Of all actors of a node, not of the kernel's own."""
    spy = Handlings()
    handlers_of = Dispatcher.handlers_of

    def spied(dispatcher: Dispatcher, actor_class: type[ActorBase]) -> Mapping[type[Any], Callable[[Any, Any], Any]]:
        handlers = handlers_of(dispatcher, actor_class)
        if not actor_class.__module__.startswith("actors.") or actor_class.__module__.startswith("actors.kernel."):
            return handlers
        return {
            message_class: spy.spied((actor_class.__name__, message_class.__name__), handler)
            for message_class, handler in handlers.items()
        }

    monkeypatch.setattr(Dispatcher, "handlers_of", spied)
    return spy


MIXES = ("agent-restarts", "dead-mounts")
"""Scenarios with steady pods, jobs, and pods that come and go; and with volumes."""


def _scenario(mix: str) -> Scenario:
    """Its pods, with nothing else that goes wrong."""
    return msgspec.structs.replace(with_pods(library_scenario(mix), 12), faults=(), reaches=())


def _played(mix: str, seed: int) -> PlayOutcome:
    play = Play(_scenario(mix), seed)
    while not play.done:
        play.advance(10 * 10**9)
    return play.outcome()


NO_HARM = ("no-actor-fails", "starts-in-time")
"""What fails is meant to, and a pod may start some seconds later for it, as long as it does."""


def _harm(outcome: PlayOutcome) -> list[object]:
    harm: list[object] = [each for each in outcome.violations if each["invariant"] not in NO_HARM]
    return harm if outcome.converged else [*harm, "it did not converge"]


@over_seeds(12)
def test_a_failure_of_an_actor_harms_no_pod(handlings: Handlings, seed: int):
    chance = random.Random(seed)
    mix = chance.choice(MIXES)
    assert _harm(_played(mix, seed)) == []
    seen = handlings.seen.copy()
    kind = chance.choice(sorted(seen))
    handlings.seen.clear()
    handlings.fails = [(kind, chance.randint(1, seen[kind]), chance.random() < 0.5)]
    assert _harm(_played(mix, seed)) == [], handlings.fails


@pytest.mark.parametrize(
    ("mix", "fails"),
    [
        # Nobody told it of the node again: no pod was ever admitted any more.
        pytest.param(MIXES[0], [(("ResourceManagerActor", "AdmitPod"), 4, False)], id="admission"),
        # It had been told that nothing is left of a pod, by a worker that has gone since: the object stayed for ever.
        pytest.param(MIXES[0], [(("StatusManagerActor", "PodFinished"), 3, False)], id="the last word of a pod"),
        pytest.param(MIXES[0], [(("StatusManagerActor", "PodStatusChanged"), 14, True)], id="the last status of a pod"),
        # Whoever had asked it to take the volumes away asked again after a minute only.
        pytest.param(MIXES[1], [(("VolumeReconcilerActor", "ReleaseVolumes"), 3, True)], id="the end of volumes"),
        # It was told of the next pod when it had stopped; that pod's end waited for it for ever.
        pytest.param(MIXES[0], [(("PodCollector", "CollectPod"), 1, True)], id="a hand that was done"),
        # All of them had forgotten that a pod had ended well, and its source kept back what the API server said of it.
        pytest.param(
            MIXES[0],
            [(("SyncLoopActor", "ActorStopped"), 1, False), (("StatusManagerActor", "PodFinished"), 3, False)],
            id="all who knew the end of a pod",
        ),
    ],
)
def test_failures_that_did_harm(handlings: Handlings, mix: str, fails: list[Failing]):
    handlings.fails = fails
    outcome = _played(mix, 7)
    assert all(handlings.seen[kind] >= which for kind, which, _ in fails)
    assert _harm(outcome) == []


@pytest.mark.parametrize("kind", ["RuntimeStateObserved", "UnknownPodsObserved", "PodChanged", "SourceReady"])
def test_a_sync_loop_that_fails_as_it_begins_is_told_again_at_once_what_the_runtime_is(handlings: Handlings, kind: str):
    handlings.fails = [(("SyncLoopActor", kind), 1, False)]
    world = World({"web": manifest("web")}).start()
    assert world.until(lambda: world.running() == ["web/app"]) < SECOND
    assert handlings.seen["SyncLoopActor", kind] >= 1
