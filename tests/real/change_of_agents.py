"""A node whose agent is another one before or after: a kubelet, or what a kubelet left.

`Kubelet` runs the program that the environment variable `ACTORLET_TEST_KUBELET` names, version 1.36, in an `Agent`'s
directories. Where none is named, `restore` puts back what one left, from `kubelet-1.36.json`: sandboxes and containers
with its labels and annotations, and its state files. `python -m tests.real.record_kubelet` wrote that file.

`PODS` are pods of the manifest directory and of the API server, each of another kind (`pods_of_all_kinds`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from config.api.resources import CONFIG_MAPS, SECRETS
from config.pods.identity import CONFIG_SEEN
from runtime.cri.identity import CONTAINER_NAME, POD_NAME, POD_UID
from runtime.cri.messages import (
    Container,
    ContainerConfig,
    ContainerMetadata,
    ContainerState,
    CreateContainerRequest,
    ImageSpec,
    LinuxPodSandboxConfig,
    LinuxSandboxSecurityContext,
    ListContainersRequest,
    NamespaceMode,
    NamespaceOption,
    PodSandboxConfig,
    PodSandboxMetadata,
    PodSandboxState,
    RunPodSandboxRequest,
    StartContainerRequest,
)
from runtime.cri.verbs import CREATE_CONTAINER, LIST_CONTAINERS, RUN_POD_SANDBOX, START_CONTAINER
from tests.real.agent import CGROUPS, NODE, Agent
from tests.real.cluster import Cluster
from tests.real.pods import STAY, Truth
from tests.real.pods_of_all_kinds import ENDED, HIDDEN, OF_API, PODS, RUNNING, SETTINGS, STATIC
from tests.real.waiting import until

PROGRAM = os.environ.get("ACTORLET_TEST_KUBELET", "")
RECORDED = Path(__file__).with_name("kubelet-1.36.json")
STATE_FILES = ("allocated_pods_state", "actuated_pods_state", "cpu_manager_state", "memory_manager_state")
PATIENCE_S = 60.0


class Kubelet(Agent):
    """A kubelet in the place of an agent.

    It has no local endpoint: what it does is seen in the runtime alone.
    """

    def command(self, *flags: str) -> list[str]:
        own = ["--root-dir", str(self.root), "--config", str(self.config), "--hostname-override", NODE]
        return [PROGRAM, *own, "--cert-dir", str(self.directory / "pki"), *flags]

    def begin(self, *flags: str, command: list[str] | None = None) -> None:
        for top in CGROUPS.iterdir():
            if top.is_dir():  # it wants its root in each hierarchy, also in those without limits
                (top / self.cgroup_root.strip("/")).mkdir(parents=True, exist_ok=True)
        super().begin(*flags, command=command)


def configure(agent: Agent) -> None:
    """Configure a kubelet so that it starts without a cluster's certificates.

    It changes nothing of the machine that others use.
    """
    agent.configure(
        authentication={"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        authorization={"mode": "AlwaysAllow"},
        makeIPTablesUtilChains=False,
        fileCheckFrequency="1s",
        # The server of the tests takes no protobuf, so the node of a kubelet would never be registered.
        contentType="application/json",
    )


def desire(agent: Agent, cluster: Cluster) -> None:
    """Have all `PODS` wanted on the node."""
    cluster.create(CONFIG_MAPS, "settings", data=SETTINGS)
    cluster.create(SECRETS, "hidden", data=HIDDEN)
    for name, document in STATIC.items():
        agent.drop(f"{name}.json", document)
    for document in OF_API.values():
        cluster.run(document)


def await_pods(truth: Truth, agent: Agent) -> None:
    """Return once the runtime runs all of `PODS` that last, and has run the others."""

    wanted = {
        (f"{name}-{NODE}", each["name"])
        for name in RUNNING
        for each in (*PODS[name]["spec"]["containers"], *PODS[name]["spec"].get("initContainers", ()))
        if each["name"] != "first"
    }

    def settled() -> bool:
        # Lists alone: this is asked often, and a status for each container would keep the runtime busy.
        listed = truth.ask(LIST_CONTAINERS, ListContainersRequest()).containers
        running = {_named(each) for each in listed if each.state == ContainerState.CONTAINER_RUNNING}
        ended = {_named(each) for each in listed if each.state == ContainerState.CONTAINER_EXITED}
        quiet = not any(_ready(truth, name) for name in ENDED)
        return wanted <= running and {(f"{name}-{NODE}", "main") for name in ENDED} <= ended and quiet

    until(settled, PATIENCE_S, lambda: f"not all run: {[*map(str, truth.lives())]} {agent.said()[-4000:]}")


def _named(listed: Container) -> tuple[str, str]:
    return listed.labels[POD_NAME], listed.labels[CONTAINER_NAME]


def _ready(truth: Truth, name: str) -> bool:
    return any(each.state == PodSandboxState.SANDBOX_READY for each in truth.sandboxes(name))


# --- what an agent has left -------------------------------------------------------------------------------------------


def record(truth: Truth, agent: Agent) -> dict[str, Any]:
    """What an agent has made of `PODS`, and its state files, as plain values.

    Its directory is called `{directory}`.
    """
    pods = {name: {"sandboxes": _sandboxes(truth, name), "containers": _containers(truth, name)} for name in PODS}
    text = json.dumps({"pods": pods, "files": files_of(agent)}, indent=1, sort_keys=True)
    recorded: dict[str, Any] = json.loads(text.replace(str(agent.directory), "{directory}"))
    return recorded


def files_of(agent: Agent) -> dict[str, str]:
    """The state files that are there."""
    return {name: (agent.root / name).read_text() for name in STATE_FILES if (agent.root / name).exists()}


def _sandboxes(truth: Truth, name: str) -> list[dict[str, Any]]:
    return [
        {
            "attempt": each.metadata.attempt if each.metadata is not None else 0,
            "ready": each.state == PodSandboxState.SANDBOX_READY,
            "labels": dict(each.labels),
            "annotations": dict(each.annotations),
        }
        for each in truth.sandboxes(name)
    ]


def _containers(truth: Truth, name: str) -> list[dict[str, Any]]:
    return [
        {
            "attempt": life.attempt,
            "running": life.running,
            "labels": dict(life.status.labels),
            "annotations": dict(life.status.annotations),
            "log": life.status.log_path,
        }
        for life in truth.lives(name)
    ]


def recorded() -> dict[str, Any]:
    """What a kubelet has left of `PODS`."""
    left: dict[str, Any] = json.loads(RECORDED.read_text())
    return left


def uid_in(left: Mapping[str, Any], name: str) -> str:
    """The UID of a pod in a record."""
    return str(left["pods"][name]["sandboxes"][0]["labels"][POD_UID])


def restore(truth: Truth, agent: Agent, cluster: Cluster) -> None:
    """Put back what a kubelet left of `PODS`, which are desired already.

    Pods of the server have its UIDs of today.
    """
    left = recorded()
    text = json.dumps(left["pods"]).replace("{directory}", str(agent.directory))
    for name in OF_API:
        known = cluster.pod(name)
        assert known is not None
        text = text.replace(uid_in(left, name), known.metadata.uid)
    seen = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    text = re.sub(rf'("{re.escape(CONFIG_SEEN)}": )"[^"]*"', rf'\1"{seen}"', text)
    for name, each in json.loads(text).items():
        (sandbox,) = each["sandboxes"]
        _restore(truth, agent, name, sandbox, each["containers"])
    for file, content in left["files"].items():
        (agent.root / file).write_text(content)


def _restore(truth: Truth, agent: Agent, name: str, left: dict[str, Any], containers: list[dict[str, Any]]) -> None:
    labels, spec = left["labels"], PODS[name]["spec"]
    logs = Path(containers[0]["log"]).parents[1]
    logs.mkdir(parents=True, exist_ok=True)
    config = PodSandboxConfig(
        metadata=PodSandboxMetadata(
            name=labels[POD_NAME], uid=labels[POD_UID], namespace="default", attempt=left["attempt"]
        ),
        hostname="" if spec.get("hostNetwork") else f"{name}-{NODE}",
        log_directory=str(logs),
        labels=labels,
        annotations=left["annotations"],
        linux=LinuxPodSandboxConfig(cgroup_parent=agent.cgroup_root, security_context=_namespaces(spec)),
    )
    sandbox = truth.ask(RUN_POD_SANDBOX, RunPodSandboxRequest(config=config)).pod_sandbox_id
    scripts = {each["name"]: each for each in (*spec.get("initContainers", ()), *spec["containers"])}
    for each in containers:
        script = scripts[each["labels"][CONTAINER_NAME]]
        (logs / script["name"]).mkdir(exist_ok=True)
        own = ContainerConfig(
            metadata=ContainerMetadata(name=script["name"], attempt=each["attempt"]),
            image=ImageSpec(image=script["image"]),
            command=("sh", "-c", STAY) if each["running"] else tuple(script["command"]),
            labels=each["labels"],
            annotations=each["annotations"],
            log_path=str(Path(each["log"]).relative_to(logs)),
        )
        request = CreateContainerRequest(pod_sandbox_id=sandbox, config=own, sandbox_config=config)
        made = truth.ask(CREATE_CONTAINER, request).container_id
        truth.ask(START_CONTAINER, StartContainerRequest(container_id=made))
        if not each["running"]:
            _await_end(truth, made)
    if not left["ready"]:
        truth.stop_sandbox(sandbox)


def _namespaces(spec: Mapping[str, Any]) -> LinuxSandboxSecurityContext:
    """If the namespaces of a sandbox are not those of its pod, the agent makes another one."""
    host, own = NamespaceMode.NODE, NamespaceMode.POD
    return LinuxSandboxSecurityContext(
        namespace_options=NamespaceOption(
            network=host if spec.get("hostNetwork") else own,
            pid=host if spec.get("hostPID") else own if spec.get("shareProcessNamespace") else NamespaceMode.CONTAINER,
            ipc=host if spec.get("hostIPC") else own,
        )
    )


def _await_end(truth: Truth, id_: str) -> None:
    until(lambda: not any(life.running for life in truth.lives() if life.id == id_), PATIENCE_S, f"{id_} does not end")
