"""All that can hang hangs together for some pods, at several moments of their lives.

The rest of the node goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from functools import partial
from typing import Any

from actors.kernel.lanes import PATIENCE_NS
from runtime.api import ApiCall
from runtime.cri.verbs import ALL_VERBS
from simulation.cri.hung_calls import HungCalls
from simulation.play.play import Play
from tests.simulation.hung_plays import SECOND_NS, About, Played, bounded, names

OTHERS = 50
HUNG_FROM_NS = {"sick-0": 0, "sick-1": 5 * SECOND_NS, "sick-2": 29 * SECOND_NS}
"""One never starts, one hangs while it runs, one when it is to end."""


def hang_all(play: Play) -> Counter[str]:
    """Every verb of the runtime, call of a lane, and call of the API about the sick pods."""
    node, api, hung = play.world.nodes["node-0"], play.world.apis["node-0"], Counter[str]()
    sick: list[str] = []
    about, runtime = About(play, sick), HungCalls(node.cri, lambda verb: hung.update(["runtime"]))

    def lane_hangs(name: str, key: Hashable) -> bool:
        hung["lanes"] += about(str(key))
        return about(str(key))

    def api_hangs(call: ApiCall[Any]) -> bool:
        hung["api"] += about(call.name)
        return about(call.name)

    def begin(name: str) -> None:
        sick.append(name)
        for verb in ALL_VERBS:
            if not verb.streaming:
                runtime.hang(verb.name, pod=name)

    node.agent.hangs, api.hangs = lane_hangs, api_hangs
    for name, after_ns in HUNG_FROM_NS.items():
        play.world.after(after_ns, partial(begin, name))
    return hung


def test_fifty_pods_start_and_end_normally_while_every_call_of_others_hangs():
    played = Played(bounded(sick=len(HUNG_FROM_NS), others=OTHERS, patience_ns=PATIENCE_NS), hang_all)
    assert played.broken == []
    assert all(played.hung[what] for what in ("runtime", "lanes", "api"))
    for said in (played.said, *played.of_each.values()):
        assert names(said, "did not end within", "has not ended within", "no answer within", "DEADLINE"), said
