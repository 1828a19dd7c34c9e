"""containerd keeps the contract of `tests.simulation.cri_contract`.

So the simulated runtime behaves like it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runtime.cri import Cri
from runtime.cri.client import GrpcCri
from runtime.cri.messages import LinuxPodSandboxConfig
from runtime.io.pending import PendingAnswer
from tests.real.containerd import Containerd
from tests.real.images import BUSYBOX
from tests.real.waiting import until
from tests.simulation.cri_contract.containers import *  # noqa: F403 - the tests
from tests.simulation.cri_contract.pods import World
from tests.simulation.cri_contract.runtime import *  # noqa: F403 - the tests
from tests.simulation.cri_contract.sandboxes import *  # noqa: F403 - the tests

PATIENCE_S = 60.0


class Real:
    """A private containerd."""

    image = BUSYBOX
    serves_events = False  # containerd has them since 1.7

    def __init__(self, cri: GrpcCri, containerd: Containerd) -> None:
        self.cri: Cri = cri
        self._containerd = containerd

    def wait(self, pending: PendingAnswer[Any]) -> Any:
        return pending.result(PATIENCE_S)

    def until(self, holds: Callable[[], object]) -> None:
        until(holds, PATIENCE_S, "containerd does not get there")

    def sandbox_options(self, name: str) -> dict[str, Any]:
        return {
            "log_directory": str(self._containerd.pod_logs / name),
            "linux": LinuxPodSandboxConfig(cgroup_parent=f"{self._containerd.cgroup_parent}/{name}"),
        }


@pytest.fixture
def world(cri: GrpcCri, containerd: Containerd) -> World:
    return Real(cri, containerd)
