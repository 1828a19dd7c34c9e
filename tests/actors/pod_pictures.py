"""Pods and what a runtime shows of them, in as few words as tests need."""

from __future__ import annotations

from typing import Any

from actors.model.observed import ObservedContainer, ObservedPod, ObservedSandbox
from config.kubelet.crash_loop import CrashLoopPeriods
from config.objects import Container, ObjectMeta, Pod, PodSpec
from runtime.cri.identity import BACK_OFF_NS, CONTAINER_IMAGE, SCHEMA, SCHEMA_VERSION
from runtime.cri.messages import ContainerState

SECOND_NS = 1_000_000_000
NOW_NS = 1_000_000 * SECOND_NS
PERIODS = CrashLoopPeriods(10 * SECOND_NS, 300 * SECOND_NS)

CREATED = ContainerState.CONTAINER_CREATED
RUNNING = ContainerState.CONTAINER_RUNNING
EXITED = ContainerState.CONTAINER_EXITED
UNKNOWN = ContainerState.CONTAINER_UNKNOWN


def container(name: str, image: str = "image:1", **fields: Any) -> Container:
    """A container of that name."""
    return Container(name=name, image=image, **fields)


def sidecar(name: str, **fields: Any) -> Container:
    """An init container that keeps running."""
    return container(name, restart_policy="Always", **fields)


def pod(*names: str | Container, init: tuple[Container, ...] = (), policy: str = "Always", **fields: Any) -> Pod:
    """A pod of these regular containers.

    `meta` in `fields` are fields of its metadata, `status` its status.
    """
    containers = tuple(container(each) if isinstance(each, str) else each for each in names)
    meta = fields.pop("meta", {})
    status = fields.pop("status", None)
    return Pod(
        metadata=ObjectMeta(**{"name": "web", "namespace": "shop", "uid": "uid-1", "generation": 1, **meta}),
        spec=PodSpec(containers=containers, init_containers=init, restart_policy=policy, **fields),
        status=status,
    )


def sandbox(attempt: int = 0, ready: bool = True, ip: str = "10.0.0.7", **fields: Any) -> ObservedSandbox:
    """A sandbox with an address."""
    fields.setdefault("networked", True)
    return ObservedSandbox(f"box-{attempt}", attempt, ready, ips=(ip,) if ip else (), **fields)


def seen(
    name: str, state: ContainerState = RUNNING, attempt: int = 0, exit_code: int = 0, **fields: Any
) -> ObservedContainer:
    """A container as the runtime shows it.

    One that exited did so 500 seconds ago and had run for a second.
    """
    back_off_ns = fields.pop("back_off_ns", 0)
    image = fields.pop("made_of", "image:1")
    ended_ns = fields.pop("ended_ns", NOW_NS - 500 * SECOND_NS)
    if state != EXITED:
        ended_ns = 0
    ran_ns = fields.pop("ran_ns", SECOND_NS)
    started_ns = 0 if state == CREATED else (ended_ns - ran_ns if ended_ns else NOW_NS - 900 * SECOND_NS)
    return ObservedContainer(
        id=fields.pop("id", f"{name}-{attempt}"),
        name=name,
        attempt=attempt,
        state=state,
        created_at_ns=started_ns,
        started_at_ns=started_ns,
        finished_at_ns=ended_ns,
        exit_code=exit_code,
        image=image,
        sandbox_attempt=fields.pop("sandbox_attempt", 0),
        labels={SCHEMA: SCHEMA_VERSION},
        annotations={CONTAINER_IMAGE: image, BACK_OFF_NS: str(back_off_ns), **fields.pop("notes", {})},
        **fields,
    )


def picture(*containers: ObservedContainer, boxes: tuple[ObservedSandbox, ...] | None = None) -> ObservedPod:
    """One look; by default one ready sandbox."""
    by_name: dict[str, tuple[ObservedContainer, ...]] = {}
    for each in sorted(containers, key=lambda each: -each.attempt):
        by_name[each.name] = (*by_name.get(each.name, ()), each)
    return ObservedPod("uid-1", (sandbox(),) if boxes is None else boxes, by_name)
