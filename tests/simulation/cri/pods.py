"""A pod on a simulated runtime, driven verb by verb by the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.kernel import SimulatedDispatcher
from actors.kernel.promise import Promise
from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import CriError
from simulation.cri import Settings, SimulatedCri
from simulation.cri.behaviour import PREFIX

SECOND = 10**9
IMAGE = "busybox:1.36"


class Pods:
    """A runtime in virtual time, with short ways to its verbs."""

    def __init__(self, seed: int = 1, **options: Any) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        settings = options.pop("settings", None) or Settings(seed=seed, images=(IMAGE,))
        self.cri = SimulatedCri(self.dispatcher, settings, **options)

    def ask(self, verb: v.Verb[Any, Any], request: Any, **options: Any) -> Any:
        """The answer of a verb that answers at once."""
        return self.cri.call(verb, request, **options).result()

    def error(self, verb: v.Verb[Any, Any], request: Any) -> CriError:
        """The failure of a verb that fails at once."""
        error = self.cri.call(verb, request).exception()
        assert isinstance(error, CriError)
        return error

    def advance(self, ns: int) -> None:
        self.dispatcher.run_for(ns)

    def sandbox_config(
        self, name: str = "pod", attempt: int = 0, annotations: Mapping[str, str] | None = None, **options: Any
    ) -> m.PodSandboxConfig:
        return m.PodSandboxConfig(
            metadata=m.PodSandboxMetadata(name=name, namespace="default", uid=f"uid-{name}", attempt=attempt),
            labels={"io.kubernetes.pod.uid": f"uid-{name}", "app": name},
            annotations={PREFIX + key: value for key, value in (annotations or {}).items()},
            **options,
        )

    def container_config(self, pod: str = "pod", name: str = "app", attempt: int = 0, **options: Any) -> Any:
        return m.ContainerConfig(
            metadata=m.ContainerMetadata(name=name, attempt=attempt),
            image=m.ImageSpec(image=IMAGE),
            labels={"io.kubernetes.pod.uid": f"uid-{pod}", "io.kubernetes.container.name": name},
            **options,
        )

    def sandbox(self, name: str = "pod", attempt: int = 0, **annotations: str) -> str:
        """A sandbox that runs.

        Annotations with underscores for dashes, and `__` for the dot before a container.
        """
        keys = {key.replace("__", ".").replace("_", "-"): value for key, value in annotations.items()}
        request = m.RunPodSandboxRequest(config=self.sandbox_config(name, attempt, keys))
        identity: str = self.ask(v.RUN_POD_SANDBOX, request).pod_sandbox_id
        return identity

    def create(self, sandbox: str, pod: str = "pod", name: str = "app", attempt: int = 0, **options: Any) -> str:
        config = self.container_config(pod, name, attempt, **options)
        request = m.CreateContainerRequest(pod_sandbox_id=sandbox, config=config)
        identity: str = self.ask(v.CREATE_CONTAINER, request).container_id
        return identity

    def start(self, container: str) -> Promise[Any]:
        return self.cri.call(v.START_CONTAINER, m.StartContainerRequest(container_id=container))

    def run(self, sandbox: str, pod: str = "pod", name: str = "app", attempt: int = 0) -> str:
        """A container that was created and started."""
        container = self.create(sandbox, pod, name, attempt)
        self.start(container).result()
        return container

    def stop(self, container: str, timeout: int = 30, **options: Any) -> Promise[Any]:
        request = m.StopContainerRequest(container_id=container, timeout=timeout)
        return self.cri.call(v.STOP_CONTAINER, request, **options)

    def status(self, container: str) -> m.ContainerStatus:
        status: m.ContainerStatus = self.ask(
            v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=container)
        ).status
        return status

    def state(self, container: str) -> str:
        return self.status(container).state.name.removeprefix("CONTAINER_")

    def sandbox_status(self, sandbox: str) -> m.PodSandboxStatus:
        status: m.PodSandboxStatus = self.ask(
            v.POD_SANDBOX_STATUS, m.PodSandboxStatusRequest(pod_sandbox_id=sandbox)
        ).status
        return status

    def list(self, **conditions: Any) -> tuple[m.Container, ...]:
        wanted = m.ContainerFilter(**conditions) if conditions else None
        found: tuple[m.Container, ...] = self.ask(v.LIST_CONTAINERS, m.ListContainersRequest(filter=wanted)).containers
        return found
