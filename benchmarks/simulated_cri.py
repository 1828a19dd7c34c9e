"""What a verb costs on the simulated runtime in virtual time.

Pods go from their first to their last verb.

    python -m benchmarks.simulated_cri [--pods 5000] [--profile]

Prints one line of JSON: pods, verbs, seconds, microseconds per verb, and what a complete list costs.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
from time import perf_counter
from typing import Any

from actors.kernel import SimulatedDispatcher
from runtime.cri import messages as m
from runtime.cri import verbs as v
from simulation.cri import Settings, SimulatedCri

IMAGE = "busybox:1.36"


class Load:
    """The verbs of many pods, as pod workers and a PLEG call them."""

    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(7)
        self.cri = SimulatedCri(self.dispatcher, Settings(seed=7, images=(IMAGE,)))
        self.verbs = 0

    def ask(self, verb: v.Verb[Any, Any], request: Any) -> Any:
        self.verbs += 1
        return self.cri.call(verb, request, timeout_ns=120 * 10**9).result()

    def start(self, number: int) -> tuple[str, str, str]:
        """Run a pod with one container; returns (uid, sandbox, container)."""
        uid = f"uid-{number}"
        labels = {"io.kubernetes.pod.uid": uid, "io.kubernetes.pod.name": f"pod-{number}"}
        config = m.PodSandboxConfig(
            metadata=m.PodSandboxMetadata(name=f"pod-{number}", uid=uid, namespace="default"),
            labels=labels,
            annotations={"simulated.actorlet.dev/run-for": "1h"},
        )
        sandbox = self.ask(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config)).pod_sandbox_id
        self.look(uid, sandbox, "")
        self.ask(v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image=IMAGE)))
        container_config = m.ContainerConfig(
            metadata=m.ContainerMetadata(name="app"),
            image=m.ImageSpec(image=IMAGE),
            labels={**labels, "io.kubernetes.container.name": "app"},
        )
        request = m.CreateContainerRequest(pod_sandbox_id=sandbox, config=container_config, sandbox_config=config)
        container = self.ask(v.CREATE_CONTAINER, request).container_id
        self.ask(v.START_CONTAINER, m.StartContainerRequest(container_id=container))
        self.look(uid, sandbox, container)
        return uid, sandbox, container

    def look(self, uid: str, sandbox: str, container: str) -> None:
        """List and read the pod as a worker does."""
        labels = {"io.kubernetes.pod.uid": uid}
        sandboxes = m.ListPodSandboxRequest(filter=m.PodSandboxFilter(label_selector=labels))
        containers = m.ListContainersRequest(filter=m.ContainerFilter(label_selector=labels))
        assert len(self.ask(v.LIST_POD_SANDBOX, sandboxes).items) == 1
        assert len(self.ask(v.LIST_CONTAINERS, containers).containers) == bool(container)
        self.ask(v.POD_SANDBOX_STATUS, m.PodSandboxStatusRequest(pod_sandbox_id=sandbox))
        if container:
            self.ask(v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=container))

    def end(self, uid: str, sandbox: str, container: str) -> None:
        self.ask(v.STOP_CONTAINER, m.StopContainerRequest(container_id=container, timeout=30))
        self.look(uid, sandbox, container)
        self.ask(v.STOP_POD_SANDBOX, m.StopPodSandboxRequest(pod_sandbox_id=sandbox))
        self.ask(v.REMOVE_CONTAINER, m.RemoveContainerRequest(container_id=container))
        self.ask(v.REMOVE_POD_SANDBOX, m.RemovePodSandboxRequest(pod_sandbox_id=sandbox))


def run(pods: int) -> dict[str, Any]:
    load = Load()
    begin = perf_counter()
    living = [load.start(number) for number in range(pods)]
    list_begin = perf_counter()
    load.cri.call(v.LIST_CONTAINERS, m.ListContainersRequest()).result()
    list_end = perf_counter()
    for pod in living:
        load.end(*pod)
    seconds = perf_counter() - begin
    assert not load.cri.state.containers
    assert not load.cri.state.sandboxes
    return {
        "pods": pods,
        "verbs": load.verbs,
        "seconds": round(seconds, 3),
        "microseconds_per_verb": round(seconds / load.verbs * 1e6, 2),
        "full_list_milliseconds": round((list_end - list_begin) * 1e3, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    if options.profile:
        with cProfile.Profile() as profile:
            run(options.pods)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        return
    print(json.dumps(run(options.pods)))


if __name__ == "__main__":
    main()
