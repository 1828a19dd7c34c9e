"""The termination message of a container never holds up its pod, however reading it ends."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.node.simulated_node import ROOT
from tests.simulation.node.worlds import SECOND, World, container, manifest

ENDS = {"run-for": "0s", "exit-code": "1"}


@pytest.mark.parametrize(
    "failure", [RecursionError, MemoryError, UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"), OSError]
)
@pytest.mark.parametrize("read", ["read_termination_message", "read_log_tail"])
def test_a_message_that_cannot_be_read_holds_up_no_restart(
    monkeypatch: pytest.MonkeyPatch, failure: Any, read: str
) -> None:
    app = container(terminationMessagePolicy="FallbackToLogsOnError")
    world = World({"web.yaml": manifest("web", [app], behaviour=ENDS)})

    def fail(*_: Any) -> str:
        raise failure

    monkeypatch.setattr(world.node.host.pod_files, read, fail)
    world.start()
    world.run(60 * SECOND)
    assert len(world.starts_of("web")) >= 3, "it starts again, as any container that fails"
    status = world.status("web")
    assert status.restart_count >= 2
    worker = world.node.node.system.find(f"/node/sync-loop/{world.pod('web').metadata.uid}")
    assert worker is not None


def test_the_status_shows_the_end_of_a_message() -> None:
    world = World({"web.yaml": manifest("web", behaviour={"run-for": "10s", "exit-code": "1"}, restartPolicy="Never")})
    world.start()
    world.run(5 * SECOND)
    pod = world.pod("web")
    path = f"{ROOT}/pods/{pod.metadata.uid}/containers/app/00000000"
    world.node.host.tree.write(path, b"first\n" * 2000 + b"why", 0o666)
    world.run(20 * SECOND)
    state = world.status("web").state
    assert state is not None
    assert state.terminated is not None
    assert state.terminated.message == ("first\n" * 2000 + "why")[-4096:]


def test_the_message_of_a_container_goes_with_it() -> None:
    world = World({"web.yaml": manifest("web", behaviour=ENDS)})
    world.start()
    world.run(600 * SECOND)
    uid = world.pod("web").metadata.uid
    here = {each.attempt for each in world.cri.state.containers.values()}
    files = world.node.host.tree.names_if_any(f"{ROOT}/pods/{uid}/containers/app")
    assert world.status("web").restart_count >= 5
    assert {int(name, 16) for name in files} == here
    assert len(here) <= 2
