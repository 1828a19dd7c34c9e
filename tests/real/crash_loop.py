"""A pod that crashes from the beginning of the session on.

It has an agent and a containerd of its own, so that its long waits pass while other tests run.
"""

from __future__ import annotations

from tests.real import images as made
from tests.real.agent import Agent
from tests.real.containerd import Containerd
from tests.real.pods import Life, Truth, container, pod

NAME = "crashes"
KEPT = 10


class CrashLoop:
    """Two containers in one pod: `main` ends with status 3 soon, `beside` runs.

    No dead container is removed.

    `main` does not end at once: containerd 1.6 may not know when a container began that ends during its start.
    """

    def __init__(self) -> None:
        self._containerd = Containerd()
        try:
            self._containerd.start()
            self._containerd.load([made.build(recipe) for recipe in made.RECIPES[:2]])
            self.agent = Agent(self._containerd.directory / "agent", self._containerd.endpoint)
            self.agent.drop(
                "crashes.json", pod(NAME, container(script="echo no; sleep 0.3; exit 3"), container("beside"))
            )
            self.start()
            self._cri = self._containerd.connect()
        except BaseException:
            self._containerd.stop()
            raise
        self._truth = Truth(self._cri)

    def start(self) -> None:
        """Start the agent, again too."""
        self.agent.start("--maximum-dead-containers-per-container", str(KEPT))

    def lives(self, name: str = "main") -> tuple[Life, ...]:
        """Every life of a container, oldest first."""
        return self._truth.lives(NAME, name)

    def ended(self) -> tuple[Life, ...]:
        """The lives of `main` that are over, oldest first."""
        return tuple(life for life in self.lives() if life.status.finished_at)

    def take_down(self) -> None:
        self.agent.take_down()
        self._cri.close()
        self._containerd.stop()
