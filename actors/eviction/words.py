"""The texts of an eviction: the status message, the event and its annotations (spec 7.5). Pure."""

from __future__ import annotations

from actors.eviction.ranking import requested
from actors.eviction.signals import SignalReading
from actors.eviction.thresholds import Layout, Threshold
from actors.eviction.usage import Candidate, container_disk, parts_on
from config.objects import Container
from config.pods.requests import read_amounts
from config.values.quantity import NANOS, Quantity, QuantityError, Suffixes
from runtime.stats.samples import ContainerSample

REASON = "Evicted"
THRESHOLD_MET = "EvictionThresholdMet"
NAMED_AT_MOST = 64
"""Containers of one pod whose usage the message tells. The status of a pod has to fit into the API."""
_COUNTED = ("inodes", "pids")
Annotations = tuple[tuple[str, str], ...]


def threshold_words(resource: str) -> str:
    """The message of the node's event."""
    return f"Attempting to reclaim {resource}"


def eviction_words(
    threshold: Threshold, reading: SignalReading | None, candidate: Candidate, layout: Layout
) -> tuple[str, Annotations]:
    """The status message, and the annotations of the event."""
    resource = threshold.resource
    message = f"The node was low on resource: {resource}. "
    if reading is not None:
        least = threshold.least.of(reading.capacity)
        message += f"Threshold quantity: {_text(least, resource)}, available: {_text(reading.available, resource)}. "
    names: list[str] = []
    usages: list[str] = []
    spec = candidate.pod.spec
    message += _pod_words(threshold, candidate)
    samples = {each.name: each for each in (() if candidate.sample is None else candidate.sample.containers)}
    for container in (*spec.containers, *spec.init_containers):
        used, wanted = _used_by(samples.get(container.name), threshold, layout), _request_of(container, resource)
        if used is None or used <= wanted:
            continue
        if len(names) == NAMED_AT_MOST:
            message += "Further containers were using more than their request. "
            break
        names.append(container.name)
        usages.append(_text(used, resource))
        message += (
            f"Container {container.name} was using {_text(used, resource)}, "
            f"request is {_text(wanted, resource)}, has larger consumption of {resource}. "
        )
    annotations = {
        "offending_containers": ",".join(names),
        "offending_containers_usage": ",".join(usages),
        "starved_resource": resource,
    }
    return message, tuple((annotations | _of_pod(threshold, candidate)).items())


def _pod_words(threshold: Threshold, candidate: Candidate) -> str:
    """The sentence for a pod with a pod-level request of memory: its usage as a whole."""
    used, resource = _used_by_pod(threshold, candidate), threshold.resource
    if used is None:
        return ""
    return (
        f"Pod {candidate.pod.metadata.name} was using {_text(used, resource)}, "
        f"request is {_text(requested(candidate, resource), resource)}, has larger consumption of {resource}. "
    )


def _of_pod(threshold: Threshold, candidate: Candidate) -> dict[str, str]:
    """The annotations for the same."""
    used = _used_by_pod(threshold, candidate)
    if used is None:
        return {}
    return {"offending_pod": candidate.pod.metadata.name, "offending_pod_usage": _text(used, threshold.resource)}


def _used_by_pod(threshold: Threshold, candidate: Candidate) -> int | None:
    """The memory in use by a pod whose pod-level resources request memory; None for any other pod."""
    own, sample = candidate.pod.spec.resources, candidate.sample
    if threshold.resource != "memory" or own is None or "memory" not in own.requests:
        return None
    return None if sample is None or sample.memory is None else sample.memory.working_set


def _used_by(sample: ContainerSample | None, threshold: Threshold, layout: Layout) -> int | None:
    if sample is None or threshold.resource == "pids":
        return None
    if threshold.resource == "memory":
        return None if sample.memory is None else sample.memory.working_set
    return container_disk(sample, parts_on(threshold.signal, layout), inodes=threshold.resource == "inodes")


def _request_of(container: Container, resource: str) -> int:
    try:
        requests = read_amounts(container.resources.requests if container.resources is not None else {})
    except QuantityError:
        return 0
    return -(-requests.get(resource, 0) // NANOS)


def _text(units: int, resource: str) -> str:
    """A quantity as text in messages."""
    return str(Quantity(units * NANOS, Suffixes.DECIMAL if resource in _COUNTED else Suffixes.BINARY))
