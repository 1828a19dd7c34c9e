"""The contract of container runtimes: one pod, by raw verbs.

The tests of the contract are in the other files of this folder. `test_cri_contract.py` runs them on the simulated
runtime, `tests/real/test_containerd_contract.py` on containerd.

Each test takes a fixture `world`, which has a `Cri`, an image that is there, and a way to wait. What a container does
is written twice: as a shell script for a real runtime, and as annotations for the simulated one. Each runtime ignores
the other form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from runtime.cri import Cri
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import CriError
from runtime.cri.messages import ContainerState
from runtime.io.pending import PendingAnswer

UNKNOWN_ID = "f" * 64
PREFIX = "simulated.actorlet.dev/"


@dataclass(frozen=True)
class Program:
    """What a container does, in both forms.

    A program that `lives` makes the file `BEGUN` as soon as it handles signals.
    """

    script: str
    annotations: Mapping[str, str] = field(default_factory=dict)
    lives: bool = False


BEGUN = "/begun"
FOREVER = Program(f"trap 'exit 0' TERM; : > {BEGUN}; while true; do sleep 0.1; done", lives=True)
STUBBORN = Program(
    f"trap '' TERM; : > {BEGUN}; while true; do sleep 0.1; done", {"ignore-stop-signal": "true"}, lives=True
)
SUCCEEDS = Program("exit 0", {"run-for": "0s"})
FAILS = Program("exit 3", {"run-for": "0s", "exit-code": "3"})


class World(Protocol):
    """A runtime under test."""

    cri: Cri
    image: str
    serves_events: bool

    def wait(self, pending: PendingAnswer[Any]) -> Any:
        """The answer; raises its failure."""
        ...

    def until(self, holds: Callable[[], object]) -> None:
        """Let time pass until it holds."""
        ...

    def sandbox_options(self, name: str) -> dict[str, Any]:
        """What else this runtime needs in a sandbox config."""
        ...


class Pod:
    """One pod on the runtime, by raw verbs."""

    def __init__(self, world: World, name: str = "pod", program: Program = FOREVER, attempt: int = 0) -> None:
        self.world = world
        self.name = name
        self.program = program
        self.labels = {"io.kubernetes.pod.uid": f"uid-{name}", "io.kubernetes.pod.name": name}
        self.config = m.PodSandboxConfig(
            metadata=m.PodSandboxMetadata(name=name, uid=f"uid-{name}", namespace="default", attempt=attempt),
            labels=self.labels,
            annotations={PREFIX + key: value for key, value in program.annotations.items()},
            **world.sandbox_options(name),
        )
        self.id = ask(world, v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=self.config)).pod_sandbox_id

    def create(self, name: str = "app", attempt: int = 0, image: str = "") -> str:
        config = m.ContainerConfig(
            metadata=m.ContainerMetadata(name=name, attempt=attempt),
            image=m.ImageSpec(image=image or self.world.image),
            command=("sh", "-c", self.program.script),
            labels={**self.labels, "io.kubernetes.container.name": name},
            annotations={"io.kubernetes.container.restartCount": str(attempt)},
            log_path=f"{name}_{attempt}.log",
            linux=m.LinuxContainerConfig(),
        )
        request = m.CreateContainerRequest(pod_sandbox_id=self.id, config=config, sandbox_config=self.config)
        identity: str = ask(self.world, v.CREATE_CONTAINER, request).container_id
        return identity

    def run(self, name: str = "app", attempt: int = 0) -> str:
        container = self.create(name, attempt)
        start(self.world, container)
        if self.program.lives:
            begun = m.ExecSyncRequest(container_id=container, cmd=("test", "-e", BEGUN), timeout=120)
            self.world.until(lambda: ask(self.world, v.EXEC_SYNC, begun).exit_code == 0)
        return container

    def exited(self, name: str = "app", attempt: int = 0) -> str:
        """A container of a program that ends by itself, after its end."""
        container = self.run(name, attempt)
        self.world.until(lambda: status(self.world, container).state == ContainerState.CONTAINER_EXITED)
        return container

    def status(self) -> m.PodSandboxStatus:
        request = m.PodSandboxStatusRequest(pod_sandbox_id=self.id)
        answer: m.PodSandboxStatus = ask(self.world, v.POD_SANDBOX_STATUS, request).status
        return answer


def ask(world: World, verb: v.Verb[Any, Any], request: Any) -> Any:
    return world.wait(world.cri.call(verb, request))


def failure(world: World, verb: v.Verb[Any, Any], request: Any) -> CriError:
    with pytest.raises(CriError) as caught:
        ask(world, verb, request)
    return caught.value


def start(world: World, container: str) -> None:
    ask(world, v.START_CONTAINER, m.StartContainerRequest(container_id=container))


def stop(world: World, container: str, timeout: int = 10) -> None:
    ask(world, v.STOP_CONTAINER, m.StopContainerRequest(container_id=container, timeout=timeout))


def remove(world: World, container: str) -> None:
    ask(world, v.REMOVE_CONTAINER, m.RemoveContainerRequest(container_id=container))


def status(world: World, container: str) -> m.ContainerStatus:
    request = m.ContainerStatusRequest(container_id=container)
    answer: m.ContainerStatus = ask(world, v.CONTAINER_STATUS, request).status
    return answer


def containers(world: World, **conditions: Any) -> set[str]:
    request = m.ListContainersRequest(filter=m.ContainerFilter(**conditions))
    return {container.id for container in ask(world, v.LIST_CONTAINERS, request).containers}


def sandboxes(world: World, **conditions: Any) -> set[str]:
    request = m.ListPodSandboxRequest(filter=m.PodSandboxFilter(**conditions))
    return {sandbox.id for sandbox in ask(world, v.LIST_POD_SANDBOX, request).items}
