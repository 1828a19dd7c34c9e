"""The texts of an eviction: the status message, the event and its annotations (spec 7.5). Pure."""

from __future__ import annotations

from actors.eviction.ranking import requested
from actors.eviction.signals import SignalReading
from actors.eviction.thresholds import Layout, Threshold
from actors.eviction.usage import Candidate, container_disk, parts_on
from config.objects import Container
from config.pods.identity import is_sidecar
from config.pods.requests import read_amounts
from config.values.quantity import NANOS, Quantity, QuantityError, Suffixes
from runtime.stats.samples import ContainerSample

REASON = "Evicted"
THRESHOLD_MET = "EvictionThresholdMet"
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
    names, usages = [], []
    spec = candidate.pod.spec
    for container in (*spec.containers, *filter(is_sidecar, spec.init_containers)):
        used, wanted = _used_by(container, threshold, candidate, layout), _request_of(container, resource)
        if used is not None and used > wanted:
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


def _of_pod(threshold: Threshold, candidate: Candidate) -> dict[str, str]:
    """The annotations for a pod with pod-level resources: its usage as a whole."""
    pod, sample = candidate.pod, candidate.sample
    resource = threshold.resource
    if resource != "memory" or sample is None or sample.memory is None or pod.spec.resources is None:
        return {}
    if sample.memory.working_set <= requested(candidate, resource):
        return {}
    return {"offending_pod": pod.metadata.name, "offending_pod_usage": _text(sample.memory.working_set, resource)}


def _used_by(container: Container, threshold: Threshold, candidate: Candidate, layout: Layout) -> int | None:
    sample = _sample_of(container.name, candidate)
    if sample is None or threshold.resource == "pids":
        return None
    if threshold.resource == "memory":
        return None if sample.memory is None else sample.memory.working_set
    return container_disk(sample, parts_on(threshold.signal, layout), inodes=threshold.resource == "inodes")


def _sample_of(name: str, candidate: Candidate) -> ContainerSample | None:
    samples = () if candidate.sample is None else candidate.sample.containers
    return next((each for each in samples if each.name == name), None)


def _request_of(container: Container, resource: str) -> int:
    try:
        requests = read_amounts(container.resources.requests if container.resources is not None else {})
    except QuantityError:
        return 0
    return -(-requests.get(resource, 0) // NANOS)


def _text(units: int, resource: str) -> str:
    """In the notation of quantities in messages."""
    return str(Quantity(units * NANOS, Suffixes.DECIMAL if resource in _COUNTED else Suffixes.BINARY))
