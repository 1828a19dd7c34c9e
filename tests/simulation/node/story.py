"""One eventful life of a whole node as text, to prove that a seed decides everything.

Run as a program it prints the story: `python -m tests.simulation.node.story SEED`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from config.documents.codec import to_builtins
from simulation.chance.call_faults import CallFaults, EventFaultPlan, FaultPlan, Faults
from tests.simulation.node.worlds import OTHER_IMAGE, SECOND, World, container, manifest

PODS = 12


def story(seed: int) -> str:
    """Every event, the final statuses and the runtime's objects of one node.

    It has faults, changes and restarts.
    """
    plan = FaultPlan(
        calls={"*": CallFaults(fail=0.05, lose=0.03, slow=0.1, late=0.1)},
        events=EventFaultPlan(double=0.1, lose=0.1, delay=0.2, cut=0.05),
    )
    pods = {f"p{number}": _manifest(number) for number in range(PODS)}
    world = World(pods, seed=seed, faults=Faults(plan, seed)).start()
    world.run(30 * SECOND)
    world.node.remove_manifest("p0")
    world.node.put_manifest("p1", manifest("p1", [container("other", image=OTHER_IMAGE)]))
    world.run(20 * SECOND)
    lines = _told(world)  # the events of the first agent go with it
    world.node.restart_agent()
    world.run(60 * SECOND)
    made = [f"{record.started_at} {record.finished_at} {record.exit_code} {id_}" for id_, record in world.made.items()]
    shown = [json.dumps(to_builtins(pod), sort_keys=True) for pod in world.node.pods()]
    return "\n".join([*lines, *_told(world), *made, *shown])


def _manifest(number: int) -> str:
    behaviour = {"run-for": f"{number + 1}s,2s,forever", "exit-code": "1", "start-delay": "20ms"}
    spec: dict[str, Any] = {"initContainers": [container("first")]} if number % 3 == 0 else {}
    if spec:
        behaviour["run-for.first"] = "1s"
        behaviour["exit-code.first"] = "0"
    return manifest(f"p{number}", [container(), container("side")], behaviour=behaviour, **spec)


def _told(world: World) -> list[str]:
    return [f"{each.first_wall_ns} {each.last_wall_ns} {each.count} {each.event}" for each in world.node.node.events()]


if __name__ == "__main__":
    print(story(int(sys.argv[1])))
