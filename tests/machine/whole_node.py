"""A look at a whole node: what the agent shows, what lives, and what is left over (`inside/look.py`)."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.machine.alone import STATE, AgentAlone
from tests.machine.machine import Machine

INSIDE = Path(__file__).parent / "inside"
_POD = re.compile(r"pod default/(.+?)(?:-machine-1)?: StartContainer: ")
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
    waited_for: list[str]
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


def started_once_more(agent: AgentAlone, before: Mapping[str, int]) -> None:
    """Each of these pods has been started again once in this boot.

    Raises AssertionError with what the agent tells.

    `before`: the restarts that it showed earlier. A start that failed in the runtime counts as one, too: on a busy
    machine a shim of containerd takes longer than containerd waits for it.
    """
    after, failed = agent.restarts(), failed_starts(agent)
    more = {name: after.get(name, -1) - number for name, number in before.items()}
    odd = {name: number for name, number in more.items() if not 1 <= number <= 1 + failed[name]}
    if odd:
        name = next(iter(odd))
        find = f"journalctl --no-pager -o short-monotonic -u {agent.unit} | grep -w {name} | tail -n 60"
        raise AssertionError(f"restarts, not 1: {odd}; of {name}:\n{explained(agent, name)}\n{agent.machine.run(find)}")


def failed_starts(agent: AgentAlone) -> Counter[str]:
    """How often in this boot the runtime could not start a container of each pod."""
    found = agent.machine.run(f"journalctl --no-pager -b -o cat -u {agent.unit} | grep ' StartContainer: '; true")
    return Counter(_POD.findall(found))


def state_files(agent: AgentAlone) -> list[str]:
    """The files that the agent keeps for its next life."""
    script = (
        rf"cd {STATE}; find . -type f \( -name '*_state' -o -name evictions -o -name decided-ends -o -name userns "
        r"-o -name vol_data.json -o -name kubelet_internal_checkpoint -o -path './image_manager/pull*' "
        r"-o -path './pki/*' \) | sort"
    )
    return agent.machine.run(script).split()
