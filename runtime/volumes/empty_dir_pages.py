"""Huge pages as the medium of an emptyDir: which size of pages, and how they are mounted (spec 8.7).

Pure.

The medium is `HugePages`, which means the one size that the pod or its containers request, or `HugePages-<size>`. Pages
are taken from what they request, so a size that none of them requests is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from config.objects import Pod, PodSpec
from config.pods.once_per_spec import once_per_spec
from config.values.quantity import QuantityError, parse_quantity
from runtime.volumes.capability import VolumeFailedError

HUGE_PAGES = "HugePages"
_RESOURCE = "hugepages-"


def page_bytes(pod: Pod, medium: str) -> int:
    """The size of the pages for a medium. Raises VolumeFailedError."""
    requested = _requested(pod.spec)
    if not requested:
        raise VolumeFailedError(f"an emptyDir of medium {medium} needs huge pages that the pod or a container requests")
    if medium == HUGE_PAGES:
        if len(requested) > 1:
            sizes = ", ".join(sorted(requested.values()))
            raise VolumeFailedError(f"medium {medium} does not say which pages, as the pod requests {sizes}")
        return next(iter(requested))
    size = medium.removeprefix(f"{HUGE_PAGES}-")
    try:
        wanted = parse_quantity(size).value()
    except QuantityError:
        raise VolumeFailedError(f"medium {medium} names no size of pages; write it like {HUGE_PAGES}-2Mi") from None
    if wanted not in requested:
        raise VolumeFailedError(f"medium {medium} needs {_RESOURCE}{size}, which neither pod nor container requests")
    return wanted


def mount_options(size_bytes: int, limit_bytes: int) -> str:
    """Mount options of hugetlbfs. `limit_bytes`: the size limit of the volume, 0 for none."""
    return f"pagesize={size_bytes}" + (f",size={limit_bytes}" if limit_bytes else "")


@once_per_spec
def _requested(spec: PodSpec) -> Mapping[int, str]:
    """Sizes of huge pages that the pod and its containers request: bytes -> as it is written.

    Limits count as requests.
    """
    found: dict[int, str] = {}
    for resources in (spec.resources, *(each.resources for each in (*spec.init_containers, *spec.containers))):
        names = () if resources is None else (*resources.requests, *resources.limits)
        for name in names:
            if name.startswith(_RESOURCE):
                size = name.removeprefix(_RESOURCE)
                found[parse_quantity(size).value()] = size
    return found
