"""The simulated runtime keeps the contract of `cri_contract`.

In process in virtual time, and over gRPC in real time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.kernel import PoolDispatcher, SimulatedDispatcher
from runtime.cri import Cri
from runtime.cri.client import GrpcCri
from runtime.cri.server import CriServer
from runtime.io.pending import PendingAnswer
from simulation.cri import Settings, SimulatedCri
from tests.real.waiting import until
from tests.simulation.cri_contract.containers import *  # noqa: F403 - the tests
from tests.simulation.cri_contract.pods import World
from tests.simulation.cri_contract.runtime import *  # noqa: F403 - the tests
from tests.simulation.cri_contract.sandboxes import *  # noqa: F403 - the tests

IMAGE = "busybox:1.36"
MINUTE = 60 * 10**9


class Virtual:
    """In process, in virtual time."""

    image = IMAGE
    serves_events = True

    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.cri: Cri = SimulatedCri(self.dispatcher, Settings(images=(IMAGE,)))

    def wait(self, pending: PendingAnswer[Any]) -> Any:
        assert self.dispatcher.wait_until_done(pending, 10 * MINUTE)
        return pending.result()

    def until(self, holds: Callable[[], object]) -> None:
        assert self.dispatcher.run_until(lambda: bool(holds()), 10 * MINUTE)

    def sandbox_options(self, name: str) -> dict[str, Any]:
        return {}


class Served:
    """Over gRPC, in real time."""

    image = IMAGE
    serves_events = True

    def __init__(self, cri: GrpcCri, logs: Path) -> None:
        self.cri: Cri = cri
        self._logs = logs

    def wait(self, pending: PendingAnswer[Any]) -> Any:
        return pending.result(120)

    def until(self, holds: Callable[[], object]) -> None:
        until(holds, 30, "the simulated runtime does not get there")

    def sandbox_options(self, name: str) -> dict[str, Any]:
        return {"log_directory": str(self._logs / name)}


@pytest.fixture(params=["virtual", "served"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    if request.param == "virtual":
        yield Virtual()
        return
    dispatcher = PoolDispatcher(1)
    try:
        simulated = SimulatedCri(dispatcher, Settings(images=(IMAGE,)))
        with CriServer(simulated, f"unix://{tmp_path}/cri.sock"), GrpcCri(f"unix://{tmp_path}/cri.sock") as cri:
            yield Served(cri, tmp_path)
    finally:
        dispatcher.close()
