"""Decides which images are removed, and in which order (spec 6.5). Pure.

An image stays if it is pinned, leased, the sandbox image, or used by a container, dead or alive. Of the others, the
least recently used are removed first, and none before a minimum age. An image counts as used while something needs it.
If an image was never used since the agent started, the time it was first seen counts as its last use.

Needs are texts: ids, and names as pods write them (`busybox`). An image's forms are all the ways to name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

import msgspec

from config.kubelet import KubeletConfiguration
from config.values.image_names import short_form
from runtime.cri.messages import Container, Image
from runtime.stats.readings import FsReading

_ALL = 100


class GcLimits(msgspec.Struct, frozen=True):
    """Images younger than `min_age_ns` stay. Those unused for `max_age_ns` are removed (0: never).

    When the file system is `high_percent` full, images are removed down to `low_percent`; 100 means never.
    """

    min_age_ns: int
    max_age_ns: int
    high_percent: int
    low_percent: int

    @classmethod
    def of(cls, configuration: KubeletConfiguration) -> GcLimits:
        return cls(
            configuration.image_minimum_gc_age,
            configuration.image_maximum_gc_age,
            configuration.image_gc_high_threshold_percent,
            configuration.image_gc_low_threshold_percent,
        )

    @property
    def by_space(self) -> bool:
        """Whether a full file system is a reason to remove images."""
        return self.high_percent < _ALL


class ImageLife(msgspec.Struct, frozen=True):
    """When an image was first seen, and last seen in use (None: never), monotonic ns.

    `was_there`: it is older than the agent, so its age is unknown.
    """

    detected_ns: int
    used_ns: int | None = None
    was_there: bool = False

    @property
    def last_use_ns(self) -> int:
        return self.detected_ns if self.used_ns is None else self.used_ns


def forms(image: Image) -> frozenset[str]:
    """Every way to name the image."""
    return frozenset((image.id, image.id.removeprefix("sha256:"), *_endings(image)))


def _endings(image: Image) -> Iterator[str]:
    for name in (*image.repo_tags, *image.repo_digests):
        parts = name.split("/")
        for first in range(len(parts)):
            yield "/".join(parts[first:])


def needed_by(containers: Iterable[Container]) -> frozenset[str]:
    """Short forms of the images that these containers were made from."""
    names = {
        name
        for container in containers
        for name in (container.image_id, container.image_ref, container.image.image if container.image else "")
    }
    return frozenset(short_form(name) for name in names if name)  # many containers are made from few images


def observed(
    lives: Mapping[str, ImageLife] | None, images: Iterable[Image], needed: Set[str], now_ns: int
) -> dict[str, ImageLife]:
    """The life of each image after a look, by id.

    `needed`: short forms of the images in use now. `lives`: the lives before; None: this is the first look.
    """
    known: dict[str, ImageLife] = {}
    first = ImageLife(now_ns, was_there=lives is None)
    for image in images:
        life = (lives or {}).get(image.id) or first
        in_use = not needed.isdisjoint(forms(image))
        known[image.id] = msgspec.structs.replace(life, used_ns=now_ns) if in_use else life
    return known


def candidates(
    images: Iterable[Image],
    lives: Mapping[str, ImageLife],
    needed: Set[str],
    now_ns: int,
    min_age_ns: int,
    *,
    urgent: bool = False,
) -> list[Image]:
    """The images that may go, in order of removal. `urgent`: an image of unknown age counts as old enough."""
    free = [
        image
        for image in images
        if not image.pinned
        and needed.isdisjoint(forms(image))
        and _is_of_age(lives[image.id], now_ns, min_age_ns, urgent=urgent)
    ]
    return sorted(free, key=lambda image: _turn(image, lives[image.id]))


def _is_of_age(life: ImageLife, now_ns: int, min_age_ns: int, *, urgent: bool) -> bool:
    return now_ns - life.detected_ns >= min_age_ns or (urgent and life.was_there)


def _turn(image: Image, life: ImageLife) -> tuple[int, int, str]:
    """The sort key of removal: images never used go first."""
    return -1 if life.used_ns is None else life.used_ns, life.detected_ns, image.id


def too_old(images: Iterable[Image], lives: Mapping[str, ImageLife], now_ns: int, max_age_ns: int) -> list[Image]:
    """The images that have been unused for longer than `max_age_ns`; none if that is 0."""
    if not max_age_ns:
        return []
    return [image for image in images if now_ns - lives[image.id].last_use_ns > max_age_ns]


def used_percent(whole: FsReading) -> int:
    """How full a file system is for users other than root. Its capacity must not be 0."""
    return _ALL - whole.available * _ALL // whole.capacity


def is_over(whole: FsReading, limits: GcLimits) -> bool:
    """Whether the file system is so full that images have to go."""
    return limits.by_space and used_percent(whole) >= limits.high_percent


def bytes_over(whole: FsReading, low_percent: int) -> int:
    """How many bytes to free to get down to `low_percent`; none if not positive."""
    return whole.capacity * (_ALL - low_percent) // _ALL - whole.available
