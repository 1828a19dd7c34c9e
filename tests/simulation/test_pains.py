"""Every pain of the project's list has a scenario, and a mutated agent that breaks its rule.

The table of `docs/explanation/simulated-world.md` says which; here it is compared with the library and with the tests
themselves.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from actors.kernel.health import is_asked
from simulation.play.play import Play
from simulation.scenarios.scenario import library, library_scenario, with_pods

PAINS = range(1, 18)
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "simulated-world.md"
PLAYS = ("played", "is_found_out")
MUTATIONS = sorted(Path(__file__).parent.glob("test_mutated_*.py"))


def scenarios_of_mutations() -> dict[int, set[str]]:
    """Row -> scenarios that agents with this pain play, from the names of tests and what they call."""
    found: dict[int, set[str]] = {}
    for file in MUTATIONS:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and (named := re.match(r"test_pain_(\d+)_", node.name)):
                calls = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
                plays = [each for each in calls if isinstance(each.func, ast.Name) and each.func.id in PLAYS]
                names = {play.args[0].value for play in plays if isinstance(play.args[0], ast.Constant)}
                found.setdefault(int(named[1]), set()).update(map(str, names))
    return found


def scenarios_of_the_page() -> dict[int, set[str]]:
    rows = re.findall(r"^\| (\d+) \|[^|]*\| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    return {int(number): {name} for number, name in rows}


def test_health_looks_after_every_actor_of_a_node_and_asks_all_but_those_of_pods():
    play = Play(with_pods(library_scenario("frozen-actor"), 2), 1)
    play.advance(40 * 10**9)
    system = play.world.nodes["node-0"].node.system
    everyone = [cell for cell in system.root.walk() if cell is not system.root]
    assert [cell.path for cell in everyone if cell.actor_class.health_limit_ns is None] == []
    of_pods = [cell.path for cell in everyone if not is_asked(cell)]
    assert of_pods == [cell.path for cell in everyone if cell.path.startswith("/node/sync-loop/")] != []


def test_every_pain_has_a_scenario_and_a_mutated_agent_that_fails_it():
    page = scenarios_of_the_page()
    assert sorted(page) == list(PAINS), "each row of the list of pains, once"
    assert set().union(*page.values()) <= set(library())
    assert scenarios_of_mutations() == page
