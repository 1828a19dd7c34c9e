"""Which images may go, in which order, and when a file system is too full: as tables (spec 6.5)."""

from __future__ import annotations

import pytest

from actors.images.gc_rules import (
    GcLimits,
    ImageLife,
    bytes_over,
    candidates,
    forms,
    is_over,
    needed_by,
    observed,
    too_old,
    used_percent,
)
from config.kubelet import KubeletConfiguration
from config.values.image_names import short_form
from runtime.cri.messages import Container, Image, ImageSpec
from runtime.stats.readings import FsReading

DIGEST = f"sha256:{'d' * 64}"
ID = f"sha256:{'a' * 64}"
NOBODY: frozenset[str] = frozenset()


def image(name: str, *tags: str, pinned: bool = False, size: int = 100) -> Image:
    return Image(id=name, repo_tags=tags, pinned=pinned, size=size)


def whole(capacity: int, available: int) -> FsReading:
    return FsReading(0, capacity, available, capacity - available, 0, 0, 0)


BUSYBOX = Image(
    id=ID,
    repo_tags=("docker.io/library/busybox:latest", "registry.test:5000/tools/box:1"),
    repo_digests=(f"docker.io/library/busybox@{DIGEST}",),
)


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("busybox", True),
        ("busybox:latest", True),
        ("library/busybox", True),
        ("docker.io/busybox", True),
        ("docker.io/library/busybox:latest", True),
        ("index.docker.io/library/busybox", True),
        (f"busybox@{DIGEST}", True),
        (f"busybox:whatever@{DIGEST}", True),
        ("registry.test:5000/tools/box:1", True),
        ("tools/box:1", True),
        (ID, True),
        ("a" * 64, True),
        ("busybox:1.36", False),
        ("otherbusybox", False),
        ("registry.test:5000/tools/box", False),
        ("registry.test:5000/busybox", False),
        (f"busybox@sha256:{'e' * 64}", False),
        ("b" * 64, False),
        ("", False),
        ("No Name At All!", False),
    ],
)
def test_an_image_is_known_by_every_name_that_a_pod_may_write(named: str, meant: bool) -> None:
    assert (short_form(named) in forms(BUSYBOX)) is meant


def test_a_container_needs_its_image_however_the_runtime_names_it() -> None:
    by_id = Container(id="1", image_id=ID)
    by_reference = Container(id="2", image_ref=ID)
    by_name = Container(id="3", image=ImageSpec(image="docker.io/library/busybox:latest"))
    for container in (by_id, by_reference, by_name):
        assert not needed_by([container]).isdisjoint(forms(BUSYBOX))
    assert needed_by([Container(id="4")]) == NOBODY


def test_an_image_in_use_is_marked_used_now_and_others_keep_their_last_use() -> None:
    images = [image("new"), image("used"), image("idle")]
    lives = observed({"idle": ImageLife(1, 5), "gone": ImageLife(1)}, images, {"used:latest", "used"}, 10)
    assert lives == {"new": ImageLife(10), "used": ImageLife(10, 10), "idle": ImageLife(1, 5)}


def test_an_image_found_at_the_first_look_may_be_of_any_age() -> None:
    assert observed(None, [image("a")], {"a:1"}, 10) == {"a": ImageLife(10, was_there=True)}
    lives = observed({"a": ImageLife(10, was_there=True)}, [image("a"), image("b")], {"a"}, 20)
    assert lives == {"a": ImageLife(10, 20, was_there=True), "b": ImageLife(20)}
    both = [image("a"), image("b")]
    assert candidates(both, lives, NOBODY, 25, 20) == []
    assert candidates(both, lives, NOBODY, 25, 20, urgent=True) == [image("a")]
    assert candidates(both, lives, NOBODY, 40, 20) == both[::-1]


@pytest.mark.parametrize(
    ("lives", "order"),
    [
        ({"a": ImageLife(1, 30), "b": ImageLife(1, 20), "c": ImageLife(1, 10)}, "cba"),
        ({"a": ImageLife(1, 10), "b": ImageLife(5), "c": ImageLife(4)}, "cba"),
        ({"a": ImageLife(3, 10), "b": ImageLife(2, 10), "c": ImageLife(1, 10)}, "cba"),
        ({"a": ImageLife(1), "b": ImageLife(1), "c": ImageLife(1)}, "abc"),
    ],
    ids=["oldest use first", "never used before used", "then first seen", "then by id"],
)
# (spec 6.5.2)
def test_the_order_in_which_images_go(lives: dict[str, ImageLife], order: str) -> None:
    found = candidates([image("b"), image("a"), image("c")], lives, NOBODY, 100, 0)
    assert "".join(each.id for each in found) == order


@pytest.mark.parametrize(
    ("one", "life", "needed", "goes"),
    [
        (image("x", "r/x:1"), ImageLife(0, 50), NOBODY, True),
        (image("x", "r/x:1"), ImageLife(80), NOBODY, True),
        (image("x", "r/x:1"), ImageLife(81), NOBODY, False),
        (image("x", "r/x:1", pinned=True), ImageLife(0), NOBODY, False),
        (image("x", "r/x:1"), ImageLife(0), frozenset({"r/x:1"}), False),
        (image("x", "r/x:1"), ImageLife(0), frozenset({"x:1"}), False),
        (image("x", "r/x:1"), ImageLife(0), frozenset({"x"}), False),
        (image("x", "r/x:1"), ImageLife(0), frozenset({"x:2", "y"}), True),
    ],
    ids=["used before", "just old enough", "too young", "pinned", "by name", "by short name", "by id", "others"],
)
# (spec 6.5.3)
def test_an_image_may_be_removed(one: Image, life: ImageLife, needed: frozenset[str], goes: bool) -> None:
    assert bool(candidates([one], {"x": life}, needed, 100, 20)) is goes


@pytest.mark.parametrize(
    ("life", "max_age_ns", "goes"),
    [
        (ImageLife(0, 39), 60, True),
        (ImageLife(0, 40), 60, False),
        (ImageLife(39), 60, True),
        (ImageLife(40), 60, False),
        (ImageLife(0), 0, False),
    ],
    ids=["not used for long", "used lately", "never used", "not here for long", "no maximum"],
)
# (spec 6.5.4)
def test_an_image_is_too_old(life: ImageLife, max_age_ns: int, goes: bool) -> None:
    assert bool(too_old([image("x")], {"x": life}, 100, max_age_ns)) is goes


@pytest.mark.parametrize(
    ("available", "percent", "over", "to_free"),
    [(160, 84, False, 40), (150, 85, True, 50), (0, 100, True, 200), (200, 80, False, 0), (1000, 0, False, -800)],
)
def test_when_a_file_system_is_too_full_and_by_how_much(available: int, percent: int, over: bool, to_free: int) -> None:
    limits = GcLimits.of(KubeletConfiguration())
    full = whole(1000, available)
    assert (used_percent(full), is_over(full, limits), bytes_over(full, limits.low_percent)) == (percent, over, to_free)


# (spec 6.5.1)
def test_a_high_threshold_of_100_is_none() -> None:
    limits = GcLimits.of(KubeletConfiguration(image_gc_high_threshold_percent=100))
    assert not limits.by_space
    assert not is_over(whole(1000, 0), limits)
