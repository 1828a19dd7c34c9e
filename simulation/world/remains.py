"""What is on a node before its agent starts: its disks, and leftovers of an agent (pains 15)."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.cri import messages
from runtime.cri.verbs import CREATE_CONTAINER, RUN_POD_SANDBOX, START_CONTAINER, STOP_POD_SANDBOX
from simulation.cri import SimulatedCri

ATTEMPTS = 10
"""Dead containers of one pod: it has crashed that often."""


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """What each node of a world is like, and what is on it before its agent.

    `image_disk_bytes` None: images and layers lie on the node's own disk.
    """

    image_disk_bytes: int | None = None
    image_bytes: int = 20 * 2**20
    spare_images: int = 0
    dead_containers: int = 0

    def images(self) -> tuple[str, ...]:
        """The images that no pod uses."""
        return tuple(f"registry.example/spare:{number}" for number in range(self.spare_images))


PLAIN_MACHINE = MachineSettings()


def leave_dead_containers(cri: SimulatedCri, count: int, image: str) -> frozenset[str]:
    """Make that many dead containers of unknown pods; return their ids.

    No agent runs yet, and no fault affects these calls.
    """
    made: list[str] = []
    with cri.undisturbed():
        for number in range(-(-count // ATTEMPTS)):
            made += _crashed_pod(cri, f"old-{number}", min(ATTEMPTS, count - len(made)), image)
    return frozenset(made)


def _crashed_pod(cri: SimulatedCri, name: str, attempts: int, image: str) -> list[str]:
    labels = {
        "io.kubernetes.pod.name": name,
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": name,
    }
    sandbox = messages.PodSandboxConfig(
        metadata=messages.PodSandboxMetadata(name=name, uid=name, namespace="default"),
        labels=labels,
        log_directory=f"/var/log/pods/default_{name}_{name}",
    )
    sandbox_id = cri.call(RUN_POD_SANDBOX, messages.RunPodSandboxRequest(config=sandbox)).result(0).pod_sandbox_id
    ids = []
    for attempt in range(attempts):
        config = messages.ContainerConfig(
            metadata=messages.ContainerMetadata(name="app", attempt=attempt),
            image=messages.ImageSpec(image=image),
            labels={**labels, "io.kubernetes.container.name": "app"},
        )
        request = messages.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox)
        container_id = cri.call(CREATE_CONTAINER, request).result(0).container_id
        cri.call(START_CONTAINER, messages.StartContainerRequest(container_id=container_id)).result(0)
        cri.kill_container(container_id, 1)
        ids.append(container_id)
    cri.call(STOP_POD_SANDBOX, messages.StopPodSandboxRequest(pod_sandbox_id=sandbox_id)).result(0)
    return ids
