"""The agent that is attacked, with all that attackers can reach.

That is its API server, its manifests, its port and loopback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.io.event_loop import LoopThread
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth

ANSWERS_WITHIN_S = 120.0
"""How long an attack waits until it was noticed. Nothing is judged by it."""
_NOT_YET = ("", "ContainerCreating", "PodInitializing")


@dataclass(frozen=True)
class Target:
    """`loop` is for servers of the attacker. `port` is that of the agent's own server."""

    agent: Agent
    cluster: Cluster
    truth: Truth
    loop: LoopThread
    port: int

    def directory(self, name: str) -> Path:
        """A new directory of the host that an attacker may write to."""
        path = self.agent.directory / name
        path.mkdir()
        return path

    @contextmanager
    def pods(self, *documents: dict[str, Any]) -> Iterator[None]:
        """Pods of the API that are deleted at the end, and gone."""
        names = [each["metadata"]["name"] for each in documents]
        try:
            for each in documents:
                self.cluster.run(each)
            yield
        finally:
            for name in names:
                self.cluster.delete(name)
            self.cluster.await_gone(*names, limit_s=ANSWERS_WITHIN_S)

    @contextmanager
    def manifests(self, **texts: str | bytes) -> Iterator[dict[str, Path]]:
        """Files in the directory of manifests, by name, that are removed at the end."""
        with ExitStack() as after:
            paths = {}
            for name, text in texts.items():
                paths[name] = self.agent.manifests / f"{name}.yaml"
                after.callback(paths[name].unlink, missing_ok=True)
                paths[name].write_bytes(text if isinstance(text, bytes) else text.encode())
            yield paths

    def await_refused(self, *paths: Path) -> None:
        """Return once the agent names each of these files among its problems."""

        def named() -> set[str]:
            return {each.origin.partition(":")[0] for each in self.agent.problems()}

        self.agent.await_that(
            lambda: {str(path) for path in paths} <= named(),
            f"not all of {paths} are refused",
            ANSWERS_WITHIN_S,
        )

    def await_decided(self, name: str) -> None:
        """Return once the pod's first container runs, has run, or waits for a reason of its own."""
        self.agent.await_that(lambda: self._decided(name), f"nothing is decided of {name}", ANSWERS_WITHIN_S)

    def _decided(self, name: str) -> bool:
        status = self.cluster.status(name)
        if status.phase in ("Succeeded", "Failed"):
            return True
        states = [each.state for each in status.container_statuses if each.state is not None]
        waits = [each.waiting.reason or "" for each in states if each.waiting is not None]
        return bool(states) and all(each not in _NOT_YET for each in waits)

    def await_event(self, pod: str, reason: str) -> None:
        """Return once the agent has sent such an event about the pod."""
        found = f"{pod}-{NODE}"

        def sent() -> bool:
            return any(each.event.name == found and each.event.reason == reason for each in self.agent.events())

        self.agent.await_that(sent, f"no event {reason} about {pod}", ANSWERS_WITHIN_S)
