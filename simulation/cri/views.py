"""The views of a record: brief for lists, full for status.

Made once and kept in the record until it changes.
"""

from __future__ import annotations

import msgspec

from runtime.cri import messages as cri
from runtime.cri.errors import StatusCode
from simulation.cri.state import ContainerRecord, CriRefusal, SandboxRecord

_NO_NETWORK = cri.PodSandboxNetworkStatus()


def container_brief(record: ContainerRecord) -> cri.Container:
    """A container as `ListContainers` shows it."""
    brief: cri.Container | None = record.brief
    if brief is None:
        config = record.config
        brief = record.brief = cri.Container(
            id=record.id,
            pod_sandbox_id=record.sandbox.id,
            metadata=config.metadata,
            image=config.image,
            image_ref=record.image.id,
            image_id=record.image.id,
            state=record.state,
            created_at=record.created_at,
            labels=config.labels,
            annotations=config.annotations,
        )
    return brief


def container_status(record: ContainerRecord) -> cri.ContainerStatus:
    """A container as `ContainerStatus` shows it."""
    status: cri.ContainerStatus | None = record.status
    if status is None:
        resources = None if record.resources is None else cri.ContainerResources(linux=record.resources)
        status = record.status = record.last_status = msgspec.structs.replace(
            record.last_status or _unchanging_status(record),
            state=record.state,
            started_at=record.started_at,
            finished_at=record.finished_at,
            exit_code=record.exit_code,
            reason=record.reason,
            message=record.message,
            resources=resources,
        )
    return status


def _unchanging_status(record: ContainerRecord) -> cri.ContainerStatus:
    """The constant part of a container's status."""
    config, image = record.config, record.image
    tags, digests = image.repo_tags, image.repo_digests
    return cri.ContainerStatus(
        id=record.id,
        metadata=config.metadata,
        created_at=record.created_at,
        image=cri.ImageSpec(
            image=tags[0] if tags else digests[0] if digests else image.id,
            user_specified_image=config.image.user_specified_image if config.image else "",
        ),
        image_ref=digests[0] if digests else image.id,
        image_id=image.id,
        labels=config.labels,
        annotations=config.annotations,
        mounts=config.mounts,
        log_path=record.log_path,
        stop_signal=config.stop_signal,
    )


def sandbox_brief(record: SandboxRecord) -> cri.PodSandbox:
    """A sandbox as `ListPodSandbox` shows it."""
    brief: cri.PodSandbox | None = record.brief
    if brief is None:
        config = record.config
        brief = record.brief = cri.PodSandbox(
            id=record.id,
            metadata=config.metadata,
            state=record.state,
            created_at=record.created_at,
            labels=config.labels,
            annotations=config.annotations,
            runtime_handler=record.runtime_handler,
        )
    return brief


def sandbox_status(record: SandboxRecord) -> cri.PodSandboxStatus:
    """A sandbox as `PodSandboxStatus` shows it. One whose network is down has no address."""
    status: cri.PodSandboxStatus | None = record.status
    if status is None:
        config = record.config
        status = record.status = cri.PodSandboxStatus(
            id=record.id,
            metadata=config.metadata,
            state=record.state,
            created_at=record.created_at,
            network=cri.PodSandboxNetworkStatus(ip=record.ip) if record.network_up and record.ip else _NO_NETWORK,
            linux=cri.LinuxPodSandboxStatus(namespaces=cri.Namespace(options=namespaces(record))),
            labels=config.labels,
            annotations=config.annotations,
            runtime_handler=record.runtime_handler,
        )
    return status


_POD_NAMESPACES = cri.NamespaceOption()


def namespaces(record: SandboxRecord) -> cri.NamespaceOption:
    """The namespaces that were asked for."""
    linux = record.config.linux
    context = linux.security_context if linux else None
    return (context.namespace_options if context else None) or _POD_NAMESPACES


def is_running(record: ContainerRecord) -> bool:
    """The container has a process."""
    return record.state == cri.ContainerState.CONTAINER_RUNNING


def running(record: ContainerRecord) -> ContainerRecord:
    """The container, refused with UNKNOWN unless it runs."""
    if not is_running(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is in state {record.state.name}")
    return record


def is_ready(record: SandboxRecord) -> bool:
    """The sandbox takes containers."""
    return record.state == cri.PodSandboxState.SANDBOX_READY
