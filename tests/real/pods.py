"""Manifests for the tests on a real runtime, and what is true of their containers in the runtime."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.cri.client import GrpcCri
from runtime.cri.errors import CriError
from runtime.cri.identity import CONTAINER_NAME, POD_NAME, POD_UID
from runtime.cri.messages import (
    ContainerState,
    ContainerStatus,
    ContainerStatusRequest,
    ExecSyncRequest,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandbox,
    RemoveContainerRequest,
    StopPodSandboxRequest,
)
from runtime.cri.verbs import (
    CONTAINER_STATUS,
    EXEC_SYNC,
    LIST_CONTAINERS,
    LIST_POD_SANDBOX,
    REMOVE_CONTAINER,
    STOP_POD_SANDBOX,
)
from tests.real.agent import NODE
from tests.real.images import BUSYBOX
from tests.real.waiting import until

PATIENCE_S = 60.0
RUNS_SOON_S = 5.0

STAY = "trap 'exit 0' TERM; sleep 1000000 & wait"
"""A script that runs until it is told to stop, and then does at once.

The first process of a container ignores what it does not handle, so a plain `sleep` would always use up its grace.
"""


def container(name: str = "main", script: str = STAY, **fields: Any) -> dict[str, Any]:
    """A container that runs a shell script."""
    return {"name": name, "image": BUSYBOX, "command": ["sh", "-c", script], **fields}


def pod(name: str, *containers: dict[str, Any], labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """A pod; without containers it has `container()`. `spec` are fields of the pod's spec."""
    metadata: dict[str, Any] = {"name": name, **({"labels": labels} if labels else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"terminationGracePeriodSeconds": 5, "containers": list(containers) or [container()], **spec},
    }


class Witness:
    """A directory of the host in which containers record their starts and ends, in order."""

    def __init__(self, directory: Path, name: str = "witness") -> None:
        self.directory = directory / name
        self.directory.mkdir()
        self.volume = {"name": "witness", "hostPath": {"path": str(self.directory)}}
        self.mount = {"name": "witness", "mountPath": "/witness"}

    def container(self, who: str, name: str = "main", after_s: float = 0.5, **fields: Any) -> dict[str, Any]:
        """One that says so, and takes a while to end."""
        script = (
            f"trap 'sleep {after_s}; echo {who} ends >> /witness/log; exit 0' TERM; echo {who} begins >> /witness/log; "
            "sleep 1000000 & wait"
        )
        return container(name, script, volumeMounts=[self.mount], **fields)

    def passing(self, who: str, **fields: Any) -> dict[str, Any]:
        """One that begins and ends by itself, by that name."""
        script = f"echo {who} begins >> /witness/log; sleep 0.2; echo {who} ends >> /witness/log"
        return container(who, script, volumeMounts=[self.mount], **fields)

    def pod(self, name: str, who: str, image: str = BUSYBOX) -> dict[str, Any]:
        """A pod of one such container."""
        return pod(name, self.container(who, image=image), volumes=[self.volume])

    def await_said(self, *lines: str) -> None:
        """Return once all of it was said.

        A container that is told to end before it has begun hears nothing of it.
        """
        until(lambda: set(lines) <= set(self.said()), 20, lambda: f"{lines} are not all among {self.said()}")

    def await_story(self, *lines: str) -> None:
        """Return once just this was said, in this order.

        The runtime calls a container running before its process has said its first word, so a story that ends with a
        beginning is waited for.
        """
        until(lambda: self.said() == [*lines], 20, lambda: f"{self.said()} is not {lines}")

    def said(self) -> list[str]:
        log = self.directory / "log"
        return log.read_text().splitlines() if log.exists() else []


@dataclass(frozen=True)
class Life:
    """One container of the runtime: `status` as the runtime tells it."""

    status: ContainerStatus

    def __str__(self) -> str:
        status = self.status
        where = f"{status.labels.get(POD_NAME)} {status.labels.get(CONTAINER_NAME)} {self.attempt}"
        times = f"made {status.created_at} began {status.started_at} ended {status.finished_at}"
        return f"{where}: {status.state.name} {times} {status.exit_code} {status.reason} {status.message}"

    @property
    def id(self) -> str:
        return self.status.id

    @property
    def name(self) -> str:
        """Of the container in its pod."""
        return self.status.labels[CONTAINER_NAME]

    @property
    def attempt(self) -> int:
        assert self.status.metadata is not None
        return self.status.metadata.attempt

    @property
    def running(self) -> bool:
        return self.status.state == ContainerState.CONTAINER_RUNNING

    @property
    def key(self) -> tuple[str, int, int]:
        """What may never change of a container that nobody restarts."""
        return self.status.id, self.status.created_at, self.status.started_at


class Truth:
    """What the runtime runs, asked by the test itself."""

    def __init__(self, cri: GrpcCri) -> None:
        self.cri = cri

    def ask(self, verb: Any, request: Any) -> Any:
        return self.cri.call(verb, request).result(PATIENCE_S)

    def sandboxes(self, name: str | None = None) -> tuple[PodSandbox, ...]:
        """Of one pod, or all; oldest first."""
        found = self.ask(LIST_POD_SANDBOX, ListPodSandboxRequest()).items
        ours = [each for each in found if name is None or each.labels.get(POD_NAME) == f"{name}-{NODE}"]
        return tuple(sorted(ours, key=lambda each: each.created_at))

    def lives(self, pod: str | None = None, container: str | None = None, uid: str | None = None) -> tuple[Life, ...]:
        """Every container, dead ones included, of that pod, name and UID; oldest first."""
        lives = []
        for each in self.ask(LIST_CONTAINERS, ListContainersRequest()).containers:
            labels = each.labels
            fits = pod is None or labels.get(POD_NAME) == f"{pod}-{NODE}"
            fits = fits and (container is None or labels.get(CONTAINER_NAME) == container)
            if fits and (uid is None or labels.get(POD_UID) == uid):
                status = self._status(each.id)
                if status is not None:
                    lives.append(Life(status))
        return tuple(sorted(lives, key=lambda life: life.status.created_at))

    def life(self, pod: str, container: str = "main") -> Life:
        """The one container of that name, dead or alive."""
        (life,) = self.lives(pod, container)
        return life

    def running(self, pod: str, container: str = "main") -> Life:
        """The one running container of that name; waits until it runs."""
        found: list[Life] = []

        def one() -> bool:
            found[:] = [life for life in self.lives(pod, container) if life.running]
            return len(found) == 1

        until(one, RUNS_SOON_S, lambda: f"not one {container} of {pod} runs: {self.lives(pod, container)}")
        return found[0]

    def run(self, life: Life, *command: str) -> str:
        """What a command says in a container."""
        answer = self.ask(EXEC_SYNC, ExecSyncRequest(container_id=life.id, cmd=command, timeout=120))
        assert answer.exit_code == 0, (command, answer)
        return str(answer.stdout.decode())

    def end(self, life: Life) -> None:
        """Make a container end by itself. That may end the command as well, so its result is ignored."""
        self.ask(EXEC_SYNC, ExecSyncRequest(container_id=life.id, cmd=("kill", "1"), timeout=120))

    def remove(self, life: Life) -> None:
        """Let the runtime forget a container, dead or alive."""
        self.ask(REMOVE_CONTAINER, RemoveContainerRequest(container_id=life.id))

    def variables(self, pod: str, container: str = "main") -> dict[str, str]:
        """The environment of a container's first process."""
        text = self.run(self.running(pod, container), "sh", "-c", "tr '\\0' '\\1' < /proc/1/environ")
        return dict(each.split("=", 1) for each in text.split("\1") if "=" in each)

    def variable(self, life: Life, name: str) -> str:
        """A variable of the environment of a container's first process; empty when it has just ended."""
        try:
            return self.run(life, "sh", "-c", f"echo ${name}").strip()
        except (CriError, AssertionError):
            return ""

    def stop_sandbox(self, id_: str) -> None:
        """As if it had ended by itself."""
        self.ask(STOP_POD_SANDBOX, StopPodSandboxRequest(pod_sandbox_id=id_))

    def await_none(self, pod: str | None = None, limit_s: float = 20.0) -> None:
        """Return once nothing of the pod runs."""
        until(
            lambda: not any(life.running for life in self.lives(pod)),
            limit_s,
            lambda: f"still running: {[life.status for life in self.lives(pod) if life.running]}",
        )

    def _status(self, id_: str) -> ContainerStatus | None:
        try:
            status: ContainerStatus | None = self.ask(CONTAINER_STATUS, ContainerStatusRequest(container_id=id_)).status
        except CriError as failure:
            if failure.not_found:
                return None
            raise
        return status
