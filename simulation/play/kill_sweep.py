"""The kill sweep: a scenario, played once for each moment at which its agent may die.

A moment is a point at which an agent can die. There is one before each turn of an actor (so at each await, with the
answer lost). There is one before and after each call of a lane, and each call that changes the runtime or the API.
There is one before each change on the disk within such a call. A first play counts them. Each other play is the same
until the agent dies at its moment. Every rule of the world must hold in it, all must become as desired, and no partial
file may be left. Rules about time, and about what grows with it, are left out, since an agent that is away does nothing
in time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from runtime.logs.files import HALF
from simulation.chance.chance import Chance
from simulation.play.play import Play
from simulation.scenarios.faults import AgentKills
from simulation.scenarios.pods import PodMix
from simulation.scenarios.scenario import Scenario

STEP_NS = 10 * 10**9
NEVER = 10**15
"""A moment that no play comes to."""
AWAY = ("0s", "2s")
AGAIN_WITHIN = 400
"""The second kill comes at most so many moments after the first.

So the next agent is still starting.
"""
_NAMES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16,}|[0-9]+")


class Kill(msgspec.Struct, frozen=True):
    """Moments of one play at which agents die, and what the first agent was doing then."""

    moments: tuple[int, ...]
    what: str


class KillOutcome(msgspec.Struct, frozen=True):
    """The outcome of a play with these kills. `broken`: the violations in words, in order."""

    kill: Kill
    broken: tuple[str, ...]


def killable(scenario: Scenario) -> Scenario:
    """The scenario without its rules of time; pods that run undisturbed for ever must not notice."""
    pods = tuple(_without_rules_of_time(mix, disturbed=bool(scenario.faults)) for mix in scenario.pods)
    node = replace(scenario.node, work_takes_time=False)
    return replace(scenario, pods=pods, node=node, apart=False, leases_every=None, reaches=())


def _without_rules_of_time(mix: PodMix, *, disturbed: bool) -> PodMix:
    runs_on = all(each.runs_for == "forever" and not each.behaviour for each in mix.containers) and not mix.behaviour
    return replace(
        mix,
        starts_within=None,
        ends_within=None,
        shown_within=None,
        probed_within=None,
        writes_until_running=None,
        logs_at_most=None,
        slower_at_most=None,
        steady=mix.steady or (runs_on and not disturbed and not mix.static and not mix.hopeless),
    )


def with_kills(scenario: Scenario, moments: Sequence[int]) -> Scenario:
    """The scenario with agents that die at these moments."""
    return replace(scenario, faults=(*scenario.faults, AgentKills(at_moments=tuple(moments), away=AWAY)))


def moments_of(scenario: Scenario, seed: int) -> tuple[str, ...]:
    """The operations of the scenario's agents at each moment, if none is killed."""
    return _played(with_kills(scenario, (NEVER,)), seed).moments()


def play_kill(scenario: Scenario, seed: int, kill: Kill) -> KillOutcome:
    """Play it with that kill. A play that raises is broken, too."""
    play = _played(with_kills(scenario, kill.moments), seed)
    outcome = play.outcome()
    broken = [f"{each['invariant']}: {each['what']}" for each in outcome.violations]
    broken += [f"half-files: {path} is half a file" for path in _half_files(play)]
    return KillOutcome(kill, tuple(broken) if broken or outcome.converged else ("it did not converge",))


def _half_files(play: Play) -> Iterator[str]:
    """Half-compressed logs that an agent left and the next one neither finished nor removed."""
    for node in play.world.nodes.values():
        tree, logs = node.host.tree, node.plan.configuration.pod_logs_dir
        for pod in tree.names_if_any(logs):
            for container in tree.names_if_any(f"{logs}/{pod}"):
                for name in tree.names_if_any(f"{logs}/{pod}/{container}"):
                    if name.endswith(HALF):
                        yield f"{logs}/{pod}/{container}/{name}"


def _played(scenario: Scenario, seed: int) -> Play:
    play = Play(scenario, seed)
    while not play.done:
        play.advance(STEP_NS)
    return play


def kills(moments: Sequence[str], seed: int, at_most: int | None = None) -> list[Kill]:
    """One kill per moment, and one per moment with a second kill while the next agent starts.

    `at_most`: a sample of that size, drawn by the seed: each kind of moment once, then any.
    """
    chance = Chance(f"kills {seed}")
    every = [Kill((number,), what) for number, what in enumerate(moments, 1)]
    every += [
        replace(each, moments=(*each.moments, each.moments[0] + chance.between(1, AGAIN_WITHIN))) for each in every
    ]
    if at_most is None or len(every) <= at_most:
        return every
    drawn = sorted(every, key=lambda _: chance.share())
    first_of_kind: dict[str, Kill] = {}
    for each in drawn:
        first_of_kind.setdefault(kind_of(each.what), each)
    chosen = list(first_of_kind.values())
    taken = set(chosen)
    return (chosen + [each for each in drawn if each not in taken])[:at_most]


def kind_of(what: str) -> str:
    """The kind of a moment: its text without names of pods."""
    return _NAMES.sub("*", what)
