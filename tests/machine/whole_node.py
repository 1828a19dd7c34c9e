"""A look at a whole node: what the agent shows, what lives, and what is left over (`inside/look.py`)."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.machine.alone import STATE, AgentAlone
from tests.machine.machine import Machine

INSIDE = Path(__file__).parent / "inside"
SETTLED_S = 1200.0
"""A limit for a machine whose host is busy; nothing is judged by it."""


@dataclass(frozen=True)
class Look:
    """What `inside/look.py` prints: see there."""

    wrong: list[str]
    twice: dict[str, int]
    live: list[str]
    restarts: dict[str, dict[str, int]]
    pods: dict[str, dict[str, Any]]
    unreadable: list[str]
    torn_networks: list[str]
    waited_s: float
    uptime_s: float


def put_inside(machine: Machine) -> None:
    """Show the programs of `inside/` to the machine, at `/host`."""
    for program in INSIDE.glob("*.py"):
        shutil.copy(program, machine.shared)


def look(agent: AgentAlone, limit_s: float = SETTLED_S) -> Look:
    """Look until nothing is wrong, or the limit is over."""
    told = agent.machine.run(f"python3 /host/look.py {agent.unit} {limit_s}", limit_s=limit_s * 3 + 120)
    return Look(**json.loads(told))


def explained(agent: AgentAlone, name: str) -> str:
    """What `actorlet explain` says of a pod; nothing with a kubelet."""
    return (
        agent.machine.run(f"{agent.unit} explain {name}-machine-1", may_fail=True) if agent.unit == "actorlet" else ""
    )


def await_well(agent: AgentAlone, limit_s: float = SETTLED_S) -> Look:
    """A look at a node where all is as it should be. Raises AssertionError with what the agent tells."""
    seen = look(agent, limit_s)
    if seen.wrong:
        told = [f"not within {limit_s:g} s: {seen.wrong}", *(explained(agent, name) for name in seen.pods)]
        raise AssertionError("\n".join([*told, agent.machine.journal(agent.unit)[-15000:]]))
    return seen


def state_files(agent: AgentAlone) -> list[str]:
    """The files that the agent keeps for its next life."""
    script = (
        rf"cd {STATE}; find . -type f \( -name '*_state' -o -name evictions -o -name decided-ends -o -name userns "
        r"-o -name vol_data.json -o -name kubelet_internal_checkpoint -o -path './image_manager/pull*' "
        r"-o -path './pki/*' \) | sort"
    )
    return agent.machine.run(script).split()
