"""What the conformance behaviours do to a simulated node and its API server, and look for there."""

from __future__ import annotations

import base64
from typing import Any

from runtime.cri.messages import ContainerState
from simulation.cri.behaviour import PREFIX
from simulation.cri.state import ContainerRecord
from tests.simulation.node.test_api_server import MINUTE, Cluster

CORE = "/api/v1/namespaces/default"


def does(**knobs: str) -> dict[str, str]:
    """What the simulated containers do. `run_for` is of all, `run_for__init` of the container `init`."""
    return {PREFIX + key.replace("__", ".").replace("_", "-"): value for key, value in knobs.items()}


def record(cluster: Cluster, name: str = "app", state: ContainerState | None = None) -> ContainerRecord:
    """The newest container of that name."""
    found = [
        each
        for each in cluster.node.containers()
        if each.config.metadata is not None
        and each.config.metadata.name == name
        and (state is None or each.state is state)
    ]
    assert found, f"there is no container {name}"
    return max(found, key=lambda each: each.attempt)


def made(cluster: Cluster, name: str) -> list[int]:
    """The attempts of the containers of that name that the runtime still knows."""
    known = [each.config.metadata for each in cluster.node.containers()]
    return sorted(each.attempt for each in known if each is not None and each.name == name)


def variables(cluster: Cluster, name: str = "app") -> dict[str, str]:
    return {each.key: each.value.decode() for each in record(cluster, name).config.envs}


def running(cluster: Cluster, *pods: str) -> None:
    phases = cluster.phases
    cluster.until(lambda: all(phases().get(pod) == "Running" for pod in pods or ("web",)), 5 * MINUTE)


def status_of(cluster: Cluster, pod: str, name: str = "app", group: str = "containerStatuses") -> dict[str, Any]:
    return next(dict(each) for each in cluster.pods()[pod]["status"][group] if each["name"] == name)


def config_map(cluster: Cluster, name: str, **data: str) -> None:
    cluster.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": name}, "data": data})


def secret(cluster: Cluster, name: str, **data: str) -> None:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    cluster.ask("POST", f"{CORE}/secrets", {"metadata": {"name": name}, "data": encoded})


def change(cluster: Cluster, pod: str, part: str = "", **spec: Any) -> dict[str, Any]:
    """An update of the pod as a person would do it: read, change, write."""
    path = f"{CORE}/pods/{pod}" + (f"/{part}" if part else "")
    found = cluster.ask("GET", f"{CORE}/pods/{pod}")
    found["spec"].update(spec)
    return dict(cluster.ask("PUT", path, found))
