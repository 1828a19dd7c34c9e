"""What the outcomes of a pod's volumes say to its worker, and to people. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from actors.messages.volumes import VolumesPrepared
from actors.volumes.actual import VolumeProblem
from actors.volumes.claims.rules import groups_of
from actors.volumes.orders import VolumeOutcome
from actors.volumes.plan import POD_ITSELF
from actors.volumes.problems import joined
from actors.volumes.wishes.desires import ATTACHING
from config.frozen_map import FrozenMap
from runtime.volumes.pod_volumes import keeps_labels

NO_VOLUMES = VolumesPrepared(FrozenMap())


def answer_of(outcomes: Collection[VolumeOutcome]) -> VolumesPrepared:
    """The answer to the worker at the end of a pass."""
    volumes = [each.volume for each in outcomes if each.volume is not None]
    missing = [each for each in outcomes if not each.usable]
    if not volumes and not missing:
        return NO_VOLUMES
    there = {each.name: each.host_path for each in outcomes if each.usable}
    # A usable volume is no error: it keeps its old content, even if the new one failed.
    errors = [text_of(each.name, each.trouble) for each in missing if each.trouble is not None]
    groups = groups_of(each.spec for each in volumes)
    foreign = [each.name for each in volumes if each.name in there and keeps_labels(each.spec)]
    names = frozenset(foreign) if foreign else NO_VOLUMES.foreign  # an empty set of its own would take 216 bytes
    return VolumesPrepared(FrozenMap(there), joined(errors), groups, names, _refusal(missing))


def _refusal(missing: Collection[VolumeOutcome]) -> str:
    """Why the node refuses the pod, in a kubelet's words; empty when it does not."""
    if not any(each.trouble is not None and each.trouble.full for each in missing):
        return ""
    unattached = {each.name for each in missing if each.trouble is not None and each.trouble.step == ATTACHING}
    unknown = {each.name for each in missing if each.volume is not None and each.volume.at is None}
    lists = [joined(sorted(each), " ") for each in ({each.name for each in missing}, unattached, unknown - unattached)]
    return (
        f"Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[{lists[0]}], "
        f"unattached volumes=[{lists[1]}], failed to process volumes=[{lists[2]}]: context deadline exceeded"
    )


def troubles_of(outcomes: Collection[VolumeOutcome]) -> Iterator[tuple[VolumeOutcome, VolumeProblem]]:
    """The outcomes that are not as they should be, with their troubles."""
    return ((each, each.trouble) for each in outcomes if each.trouble is not None)


def text_of(name: str, trouble: VolumeProblem) -> str:
    """The error of a volume, or of the pod's directory, as text for people."""
    if name == POD_ITSELF:
        return f"the directory of the pod cannot be made: {trouble.text}"
    return f'{trouble.step} failed for volume "{name}" : {trouble.text}'
