"""An agent finds its state files damaged, or written by a newer agent.

It says so, looks for itself, and goes on.
"""

from __future__ import annotations

import pytest

from simulation.node.simulated_node import MANIFESTS, ROOT
from tests.simulation.node.worlds import SECOND, World, manifest

DAMAGE = {
    "torn": b'{"version":1,"victims":[{"uid":',
    "empty": b"",
    "zeros": b"\0" * 4096,
    "not ours": b"[]",
    "newer": b'{"version":2,"allocations":7}',
    "deep": b'{"allocations":' + b"[" * 200_000,
}


@pytest.mark.parametrize("damage", DAMAGE)
# (spec 16.4)
def test_a_damaged_state_file_is_named_and_stops_nothing(damage: str, caplog: pytest.LogCaptureFixture) -> None:
    world = World({name: manifest(name) for name in ("a", "b")}).start()
    world.until(lambda: len(world.running()) == 2)
    starts = {name: world.starts_of(name) for name in ("a", "b")}
    tree, pods = world.node.host.tree, f"{ROOT}/pods"
    paths = [f"{ROOT}/allocated_pods_state", f"{ROOT}/actuated_pods_state", f"{ROOT}/evictions"]
    paths += [f"{pods}/{uid}/decided-ends" for uid in tree.names_in(pods)]
    for path in paths:
        tree.write(path, DAMAGE[damage])
    caplog.clear()
    world.node.restart_agent()
    world.run(30 * SECOND)
    assert {name: world.starts_of(name) for name in ("a", "b")} == starts, "no container was restarted"
    for path in paths:
        assert f"{path}: " in caplog.text
        assert tree.read(f"{path}.unreadable") == DAMAGE[damage]
    world.node.host.tree.write(f"{MANIFESTS}/c.yaml", manifest("c").encode())
    world.until(lambda: len(world.running()) == 3)
