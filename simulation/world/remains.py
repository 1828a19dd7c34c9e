"""What an earlier agent has left on a node: dead containers of unknown pods (pains 15)."""

from __future__ import annotations

from runtime.cri import messages
from runtime.cri.verbs import CREATE_CONTAINER, RUN_POD_SANDBOX, START_CONTAINER, STOP_POD_SANDBOX
from simulation.cri import SimulatedCri

ATTEMPTS = 10
"""Dead containers of one pod: it has crashed that often."""


def leave_dead_containers(cri: SimulatedCri, count: int, image: str) -> frozenset[str]:
    """So many, of as many pods as it takes; their ids.

    No agent is there yet, and no fault meets these calls.
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
