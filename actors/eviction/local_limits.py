"""Pods over their own disk limits: limits of emptyDirs, of pods and of containers (spec 7.6). Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from actors.eviction.thresholds import Layout
from actors.eviction.usage import ALL_PARTS, EMPTY_DIR, Candidate, DiskPart, container_disk, disk_of
from config.objects import Container, PodSpec
from config.pods.identity import is_critical
from config.pods.once_per_spec import once_per_spec
from config.pods.requests import EPHEMERAL_STORAGE, empty_dir_limits, pod_limits, read_amounts
from config.values.quantity import NANOS, Quantity, QuantityError, Suffixes, parse_quantity
from runtime.stats.samples import PodSample

EMPTY_DIR_SIGNAL = "emptydirfs.limit"
POD_SIGNAL = "ephemeralpodfs.limit"
CONTAINER_SIGNAL = "ephemeralcontainerfs.limit"
"""The signals that such evictions are counted under."""


class Excess(msgspec.Struct, frozen=True):
    """A pod that is over a limit. `message`: for its status."""

    candidate: Candidate
    signal: str
    message: str


def over_limits(candidates: Sequence[Candidate], layout: Layout) -> list[Excess]:
    """All pods over a limit, each with its first exceeded limit. Critical pods are left out."""
    found = (_excess(each, layout) for each in candidates if not is_critical(each.pod))
    return [each for each in found if each is not None]


def _excess(candidate: Candidate, layout: Layout) -> Excess | None:
    sample = candidate.sample
    if sample is None:
        return None
    # Writable layers on a file system of their own do not count against the node's disk.
    parts = ALL_PARTS - {DiskPart.LAYERS} if layout.layers_with_images else ALL_PARTS
    try:
        return (
            _over_empty_dir(candidate, sample)
            or _over_pod_limit(candidate, parts)
            or _over_container_limit(candidate, sample, parts)
        )
    except QuantityError:
        return None


def _over_empty_dir(candidate: Candidate, sample: PodSample) -> Excess | None:
    used = {name: reading.used for kind, name, reading in sample.disk.volumes if kind == EMPTY_DIR}
    for name, limit in empty_dir_limits(candidate.pod.spec).items():
        if used.get(name, 0) > parse_quantity(limit).value():
            text = f'Usage of EmptyDir volume "{name}" exceeds the limit "{limit}". '
            return Excess(candidate, EMPTY_DIR_SIGNAL, text)
    return None


def _over_pod_limit(candidate: Candidate, parts: frozenset[DiskPart]) -> Excess | None:
    limit = pod_limits(candidate.pod.spec).get(EPHEMERAL_STORAGE)
    used = disk_of(candidate, parts, inodes=False)
    if limit is None or used is None or used * NANOS <= limit:
        return None
    words = str(Quantity(limit, Suffixes.BINARY))
    text = f"Pod ephemeral local storage usage exceeds the total limit of containers {words}. "
    return Excess(candidate, POD_SIGNAL, text)


def _over_container_limit(candidate: Candidate, sample: PodSample, parts: frozenset[DiskPart]) -> Excess | None:
    limits = _container_limits(candidate.pod.spec)
    if not limits:
        return None
    samples = {each.name: each for each in sample.containers}
    # Only running containers have a sample: the init container whose turn it is, and all sidecars.
    for name, limit in limits:
        used_by = samples.get(name)
        if used_by is None:
            continue
        if container_disk(used_by, parts - {DiskPart.VOLUMES}, inodes=False) > parse_quantity(limit).value():
            text = f'Container {name} exceeded its local ephemeral storage limit "{limit}". '
            return Excess(candidate, CONTAINER_SIGNAL, text)
    return None


@once_per_spec
def _container_limits(spec: PodSpec) -> tuple[tuple[str, str], ...]:
    """Name and limit of the containers that have one, regular ones first. Raises QuantityError."""
    everyone = (*spec.containers, *spec.init_containers)
    return tuple((each.name, limit) for each in everyone if (limit := _limit_of(each)))


def _limit_of(container: Container) -> str:
    """The container's own limit, or ""."""
    if container.resources is None:
        return ""
    amounts = read_amounts(container.resources.limits)
    return str(container.resources.limits[EPHEMERAL_STORAGE]) if amounts.get(EPHEMERAL_STORAGE) else ""
