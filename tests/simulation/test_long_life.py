"""Nothing of the agent grows with the pods that it has had.

Its tables are counted twice, each time with no pod there.

`benchmarks.simulated_week` plays a week of it.
"""

from __future__ import annotations

from benchmarks.agent_tables import live_objects, tables
from simulation.play.play import Play
from simulation.scenarios.pods import ContainerMix, PodMix, VolumeMix
from simulation.scenarios.scenario import Scenario
from simulation.scenarios.words import Range

MINUTE_NS = 60 * 10**9
WAVE = 110
"""More pods than the historian remembers after their end."""
SETTLES = 8
"""What may differ between two moments at rest: a timer, a reading, a piece of old events."""
BOUNDED = ("EventRecorderActor._kept", "HistorianActor._gone")
"""Tables of what is remembered for people; their own tests hold them to their bounds."""


def wave(number: int, arrives: Range) -> tuple[PodMix, ...]:
    """Pods of all kinds that come, and are soon gone."""
    probed, crashing = ContainerMix(name="app", readiness_every=5), ContainerMix(name="app", runs_for="5s")
    kinds = (
        PodMix(name="web", count=WAVE - 50, containers=(probed,)),
        PodMix(name="volumes", count=10, volumes=(VolumeMix("settings", "configMap"), VolumeMix("own"))),
        PodMix(name="pair", count=10, containers=(ContainerMix(name="app"), ContainerMix(name="side"))),
        PodMix(name="job", count=15, restart_policy="Never", containers=(crashing,)),
        PodMix(name="crash", count=15, hopeless=True, containers=(crashing,)),
    )
    return tuple(
        PodMix(
            name=f"{each.name}-{number}",
            count=each.count,
            containers=each.containers,
            volumes=each.volumes,
            restart_policy=each.restart_policy,
            hopeless=each.hopeless,
            arrives=arrives,
            lives=("20s", "90s"),
        )
        for each in kinds
    )


def test_the_second_hundred_of_pods_leaves_behind_no_more_than_the_first():
    pods = wave(1, ("0s", "4m")) + wave(2, ("20m", "24m")) + wave(3, ("40m", "44m"))
    play = Play(Scenario(about="three waves of pods", pods=pods, lasts="2h"), 7)
    remembered, live = [], []
    for _ in range(3):
        play.advance(19 * MINUTE_NS)
        [node] = play.world.nodes.values()
        assert not node.node.pods()
        remembered.append(tables(play.world))
        live.append(live_objects())
        play.advance(MINUTE_NS)
    assert play.outcome().pods == 3 * WAVE
    assert not play.outcome().violations
    grown = {name: count for name, count in (remembered[2] - remembered[1]).items() if not name.startswith(BOUNDED)}
    assert sum(grown.values()) <= SETTLES, grown
    grown = dict(live[2] - live[1])
    assert sum(grown.values()) <= SETTLES, grown
    assert max(each.oldest_age_ns for each in node.node.system.report().actors) < MINUTE_NS
