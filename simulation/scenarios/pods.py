"""The pods of a scenario: mixes of equal pods, the rules for each, and their API objects.

The behaviour of containers uses the knobs of the simulated runtime and becomes annotations. Each field of
the `spec` in a mix replaces the one made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from config.values.nearest import did_you_mean
from simulation.cri.behaviour import PREFIX, BehaviourError, parse_behaviour
from simulation.cri.behaviour_values import duration_ns, size_bytes
from simulation.cri.image_names import full_name
from simulation.cri.state import CriRefusal
from simulation.greedy.fields import greedy_fields
from simulation.scenarios.devices import with_devices
from simulation.scenarios.words import Duration, Name, Range, ScenarioPart, Share, Size

IMAGE = "registry.example/app:1"
SETTINGS = "settings"
"""Name of the ConfigMap and of the Secret that are there for volumes of these kinds."""
ANY_FIELD = "*"
"""In the place of a greedy field: the seed draws one."""
VERSION = "simulation.actorlet.dev/version"
"""Annotation of a static pod: how often its manifest has been changed."""


class ContainerMix(ScenarioPart, frozen=True):
    """One container of each pod of a mix."""

    name: Name = "app"
    image: str = IMAGE
    runs_for: str = "forever"
    """From start to exit; one value per attempt, the last one goes on: `3s,forever`."""
    exit_code: str = "0"
    start_delay: str = "0"
    readiness_every: Annotated[int, Meta(ge=0)] = 0
    """Seconds between readiness probes; 0: it has none."""
    liveness_every: Annotated[int, Meta(ge=0)] = 0
    behaviour: Mapping[str, str] = {}
    """More knobs of the simulated runtime, without their prefix."""
    spec: Mapping[str, Any] = {}
    """More of the container, as in the API."""


class VolumeMix(ScenarioPart, frozen=True):
    """One volume of each pod of a mix, mounted into all of its containers."""

    name: Name
    kind: Literal["emptyDir", "configMap", "secret", "downwardAPI", "hostPath", "nfs"] = "emptyDir"


class GreedyMix(ScenarioPart, frozen=True):
    """What each pod of a mix has too much of (`simulation.greedy`)."""

    field: str = ANY_FIELD
    """A field of pods, with a star where it grows: `spec.volumes[*].nfs`. `*`: drawn by the seed."""
    size: Size = "1536Ki"
    """How large the pod is in the API; more than this default fits in no cluster."""


class PodMix(ScenarioPart, frozen=True):
    """Pods that are alike."""

    name: Name
    count: Annotated[int, Meta(ge=0, le=1_000_000)]
    containers: Annotated[tuple[ContainerMix, ...], Meta(min_length=1)] = (ContainerMix(),)
    volumes: tuple[VolumeMix, ...] = ()
    restart_policy: Literal["Always", "OnFailure", "Never"] = "Always"
    grace_seconds: Annotated[int, Meta(ge=1)] = 5
    behaviour: Mapping[str, str] = {}
    """Knobs of the simulated runtime for the whole pod, without their prefix."""
    spec: Mapping[str, Any] = {}
    """More of the pod's spec, as in the API."""
    arrives: Range = ("0s", "10s")
    """When each is created, drawn evenly from this stretch."""
    lives: Range | None = None
    """From creation to deletion, drawn evenly; without it, it stays."""
    together: Annotated[int, Meta(ge=1)] = 1
    """The number of pods that come and go at one moment, like the replicas of a workload."""
    replaced: bool = False
    """Each that has gone is followed by another, until the world is healed."""
    replaced_hourly: Share = 0.0
    """The share of them that is deleted in each hour, at times drawn evenly.

    Each is followed by another.
    """
    static: bool = False
    """A manifest on one of the nodes, instead of an object of the API."""
    greedy: GreedyMix | None = None
    """Each has a field as large as the API server takes it, and `behaviour` and `spec` of the mix."""
    updated: Range | None = None
    """How long after its creation each gets one more label, and its ephemeral containers."""
    changed: Annotated[int, Meta(ge=0, le=1000)] = 0
    """How often each manifest is changed, at any moment of its life."""
    resized: Annotated[int, Meta(ge=0, le=1000)] = 0
    """How often the resources of each are changed, once all of the mix have come.

    Each time to one of `sizes`.
    """
    sizes: tuple[Mapping[str, Any], ...] = ()
    """Resources of each of its containers, as in the API: requests and limits of cpu and memory.

    It begins with the first.
    """
    devices: Mapping[str, Annotated[int, Meta(ge=1)]] = {}
    """How many devices of plugins its first container asks for: resource -> number."""
    claims: Mapping[str, Annotated[int, Meta(ge=1, le=32)]] = {}
    """How many devices of drivers its first container gets by claims from templates: driver -> number."""
    fixed: bool = False
    """The count is kept when a run asks for another number of pods."""
    disk_hangs: bool = False
    """The directory of each hangs until the world is healed."""
    hopeless: bool = False
    """It need not come to run, nor to its end."""
    steady: bool = False
    """No container of it is ever started twice, and once ready it stays so."""
    starts_within: Duration | None = None
    """Each must show Running so soon after it was created; of a static one, run so soon after each change."""
    ends_within: Duration | None = None
    """Each must be gone so soon after it was deleted."""
    shown_within: Duration | None = None
    """The API must show so soon which of its containers run."""
    probed_within: Duration | None = None
    """Each probe must be made within this of its time."""
    slower_at_most: Annotated[float, Meta(ge=1)] | None = None
    """How many times as long as without the greedy pods they may wait for starts, probes and ends.

    It holds for the median and for the longest wait.
    """
    writes_until_running: Annotated[int, Meta(ge=1)] | None = None
    """Its status may be written so often until it is shown Running."""
    logs_at_most: str | None = None
    """No file of its containers' logs may have more bytes, such as 50Mi."""
    says: str | None = None
    """Reason of an event that each of them must have."""
    tells: str | None = None
    """Words in that event."""


_OF_OBJECTS = frozenset({"disk_hangs", "hopeless", "steady", "ends_within", "shown_within", "probed_within"}) | {
    "resized",
    "slower_at_most",
    "updated",
    "greedy",
    "claims",
    "writes_until_running",
    "logs_at_most",
    "says",
}
"""What nobody looks after in pods of manifests."""


def faults_in(mix: PodMix, path: str, *, lasts: str | None) -> Iterator[str]:
    """The mistakes of a mix in a scenario that `lasts` so long."""
    for what, stretch in (("arrives", mix.arrives), ("lives", mix.lives)):
        if stretch is not None and duration_ns(stretch[0]) > duration_ns(stretch[1]):
            yield f"{path}.{what}: write the shorter of {stretch[0]} and {stretch[1]} first"
    if mix.replaced and (mix.lives is None or lasts is None):
        yield f"{path}.replaced: needs `lives`, and `lasts` of the scenario"
    if mix.replaced_hourly and (mix.lives is not None or lasts is None):
        yield f"{path}.replacedHourly: needs `lasts` of the scenario, and no `lives`"
    if mix.static and (mix.replaced or mix.replaced_hourly):
        yield f"{path}.static: a manifest that was removed is not followed by another; leave out `replaced`"
    if mix.together > 1 and (mix.static or mix.replaced or mix.replaced_hourly):
        yield f"{path}.together: manifests come one by one, and so do pods that replace others; leave it out"
    if mix.changed and not (mix.static and lasts is not None):
        yield f"{path}.changed: only manifests change, within `lasts` of the scenario; write that and `static: true`"
    if mix.resized and (lasts is None or len(mix.sizes) < 2):
        yield f"{path}.resized: needs two `sizes` or more, and `lasts` of the scenario"
    for number, size in enumerate(mix.sizes):
        for group in ("requests", "limits"):
            for resource in ("cpu", "memory"):
                if resource not in (size.get(group) or {}):
                    yield f"{path}.sizes[{number}]: has no {resource} in `{group}`; write both of both"
    if mix.tells is not None and mix.says is None:
        yield f"{path}.tells: needs `says`, the reason of the event"
    if mix.greedy is not None and mix.greedy.field not in (ANY_FIELD, *greedy_fields()):
        hint = did_you_mean(mix.greedy.field, greedy_fields(), "an example is spec.volumes[*].nfs")
        yield f"{path}.greedy.field: {mix.greedy.field!r} is no field of pods that can grow; {hint}"
    if mix.logs_at_most is not None:
        try:
            size_bytes(mix.logs_at_most)
        except ValueError as error:
            yield f"{path}.logsAtMost: {error}"
    if mix.probed_within is not None and not any(
        c.readiness_every or c.liveness_every or c.spec for c in mix.containers
    ):
        yield f"{path}.probedWithin: no container has a probe; write `readinessEvery` or `livenessEvery`"
    for name, encoded in zip(mix.__struct_fields__, mix.__struct_encode_fields__, strict=True):
        if mix.static and name in _OF_OBJECTS and getattr(mix, name):
            yield f"{path}.{encoded}: is asked of pods of the API alone; leave it out where `static` is true"
    try:
        parse_behaviour(annotations_of(mix))
    except BehaviourError as error:
        yield f"{path}: {error}"


def annotations_of(mix: PodMix) -> dict[str, str]:
    """The behaviour of a mix on the simulated runtime, as annotations of its pods."""
    found = {PREFIX + knob: text for knob, text in mix.behaviour.items()}
    for container in mix.containers:
        own = {"run-for": container.runs_for, "exit-code": container.exit_code, "start-delay": container.start_delay}
        told = {knob: text for knob, text in own.items() if text not in ("forever", "0")} | dict(container.behaviour)
        found |= {f"{PREFIX}{knob}.{container.name}": text for knob, text in told.items()}
    return found


def images_of(mixes: tuple[PodMix, ...]) -> tuple[str, ...]:
    """Images that are on every node from the start.

    Those of all pods, but for pods that are to pull, and pods that name no image.
    """
    named = (c.image for mix in mixes if not _pulls(mix) for c in mix.containers)
    return tuple(dict.fromkeys(image for image in named if _is_image(image)))


def _is_image(name: str) -> bool:
    try:
        full_name(name)
    except CriRefusal:
        return False
    return True


def body_of(mix: PodMix) -> dict[str, Any]:
    """The pod, but for its metadata."""
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "restartPolicy": mix.restart_policy,
        "terminationGracePeriodSeconds": mix.grace_seconds,
        "containers": [_container_of(container, mix) for container in mix.containers],
    }
    if mix.volumes:
        spec["volumes"] = [{"name": volume.name, **_source_of(volume.kind)} for volume in mix.volumes]
    if mix.devices or mix.claims:
        with_devices(spec, mix.name, mix.devices, mix.claims)
    return {"apiVersion": "v1", "kind": "Pod", "spec": {**spec, **mix.spec}}


def metadata_of(mix: PodMix, name: str) -> dict[str, Any]:
    """The metadata of the pod of that name."""
    return {"name": name, "labels": {"mix": mix.name}, "annotations": annotations_of(mix)}


def _container_of(container: ContainerMix, mix: PodMix) -> dict[str, Any]:
    body: dict[str, Any] = {"name": container.name, "image": container.image, "imagePullPolicy": "IfNotPresent"}
    for kind, every in (("readiness", container.readiness_every), ("liveness", container.liveness_every)):
        if every:
            body[f"{kind}Probe"] = {"tcpSocket": {"port": 80}, "periodSeconds": every}
    if mix.volumes:
        body["volumeMounts"] = [{"name": each.name, "mountPath": f"/volumes/{each.name}"} for each in mix.volumes]
    if mix.sizes:
        body["resources"] = mix.sizes[0]
    return {**body, **container.spec}


def _source_of(kind: str) -> dict[str, Any]:
    item = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
    sources: dict[str, dict[str, Any]] = {
        "emptyDir": {"emptyDir": {}},
        "configMap": {"configMap": {"name": SETTINGS}},
        "secret": {"secret": {"secretName": SETTINGS}},
        "downwardAPI": {"downwardAPI": {"items": [item]}},
        "hostPath": {"hostPath": {"path": "/etc"}},
        "nfs": {"nfs": {"server": "nfs.example", "path": "/exports/data"}},
    }
    return sources[kind]


def _pulls(mix: PodMix) -> bool:
    """Whether its pods must pull an image: a mix that describes pulls wants them."""
    knobs = {**mix.behaviour}
    return any("PullImage" in text for text in knobs.values()) or "pull-rate" in knobs or "image-size" in knobs
