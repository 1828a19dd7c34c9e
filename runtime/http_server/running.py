"""Pods with their containers as the runtime lists them, and a command run in one (spec 11.2)."""

from __future__ import annotations

from collections.abc import Mapping

from config.objects import Container, ObjectMeta, Pod, PodSpec
from runtime.cri import Cri, CriError
from runtime.cri.identity import CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID
from runtime.cri.messages import (
    ContainerFilter,
    ContainerState,
    ContainerStateValue,
    ExecSyncRequest,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandboxFilter,
    PodSandboxState,
    PodSandboxStateValue,
)
from runtime.cri.verbs import EXEC_SYNC, LIST_CONTAINERS, LIST_POD_SANDBOX
from runtime.http_server.heads import HttpRefusal
from runtime.io.event_loop import settled


async def running_pods(cri: Cri) -> tuple[Pod, ...]:
    """Names, UIDs and containers; nothing else is known there. Raises HttpRefusal."""
    ready = PodSandboxFilter(state=PodSandboxStateValue(state=PodSandboxState.SANDBOX_READY))
    running = ContainerFilter(state=ContainerStateValue(state=ContainerState.CONTAINER_RUNNING))
    try:
        sandboxes = (await settled(cri.call(LIST_POD_SANDBOX, ListPodSandboxRequest(filter=ready)))).items
        found = (await settled(cri.call(LIST_CONTAINERS, ListContainersRequest(filter=running)))).containers
    except CriError as error:
        raise HttpRefusal(500, f"the runtime does not say what it runs: {error.in_go}") from None
    inside: dict[str, list[Container]] = {}
    for each in found:
        name, image = each.labels.get(CONTAINER_NAME, ""), each.image.image if each.image else ""
        inside.setdefault(each.pod_sandbox_id, []).append(Container(name=name, image=image))
    return tuple(_running_pod(each.labels, tuple(inside.get(each.id, ()))) for each in sandboxes)


async def run_command(cri: Cri, container_id: str, command: str) -> bytes:
    """Run the command, split at spaces; return its output. Raises HttpRefusal, also when it fails."""
    try:
        done = await settled(
            cri.call(EXEC_SYNC, ExecSyncRequest(container_id=container_id, cmd=tuple(command.split())))
        )
    except CriError as error:
        raise HttpRefusal(500, f"the runtime does not run it: {error.in_go}") from None
    output = done.stdout + done.stderr
    if done.exit_code:
        said = output.decode(errors="replace")
        raise HttpRefusal(500, f"command {command!r} exited with {done.exit_code}: {said}")
    return output


def _running_pod(labels: Mapping[str, str], containers: tuple[Container, ...]) -> Pod:
    meta = ObjectMeta(
        name=labels.get(POD_NAME, ""),
        namespace=labels.get(POD_NAMESPACE, ""),
        uid=labels.get(POD_UID, ""),
    )
    return Pod(metadata=meta, spec=PodSpec(containers=containers))
