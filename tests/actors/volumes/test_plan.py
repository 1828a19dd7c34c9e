"""The next steps for the volumes of a pod, or for a device: tables of worlds and steps."""

from __future__ import annotations

from typing import Any

import pytest

from actors.volumes.actual import ActualWorld, Device, PodDirectory, VolumeProblem, back_off_ns
from actors.volumes.desired import DesiredVolume
from actors.volumes.plan import Do, PodPlan, plan_device, plan_unwanted, plan_wanted
from actors.volumes.state import ABSENT, ThingLife, ThingStage
from config.objects import Volume
from runtime.volumes.capability import LocatedVolume, VolumePlace, VolumeSpec

SECOND_NS = 1_000_000_000
NOW_NS = 1000 * SECOND_NS
DIRECTORY = PodDirectory("u")
MADE = ThingLife(ThingStage.MADE)
UNCERTAIN = ThingLife(ThingStage.UNCERTAIN)
HUNG = ThingLife(ThingStage.UNCERTAIN, 1)
NOT_YET = VolumeProblem("not yet")
BUSY = VolumeProblem("busy")


def place(name: str = "v", uid: str = "u") -> VolumePlace:
    return VolumePlace(uid, "kind", name, False, f"/pods/{uid}/{name}")


def desired(name: str = "v", device: str = "", **fields: Any) -> DesiredVolume:
    waits = fields.pop("waits", None)
    located = fields.pop("located", True)
    spec = VolumeSpec(name=name, volume=Volume(name=name), source="kind", **fields)
    return DesiredVolume(name, spec, LocatedVolume(place(name), device) if located else None, waits)


def world(**lives: ThingLife) -> ActualWorld:
    """`directory`, `v`, `w`: of the pod; `device`; `other`: the same volume v of another pod.

    The rest is absent.
    """
    actual = ActualWorld()
    keys: dict[str, Any] = {"directory": DIRECTORY, "device": Device("d"), "other": place(uid="other")}
    for name, life in lives.items():
        thing = actual.thing(keys.get(name, place(name)))
        thing.life, thing.version, thing.host_path = life, b"", f"/host/{name}"
    return actual


def steps(plan: PodPlan) -> list[tuple[Do, Any]]:
    return [(step.do, step.key) for step in plan.steps]


V = desired()
ON_DEVICE = desired(device="d")
ALONE = desired(access_modes=("ReadWriteOncePod",))
WAITS = desired(waits=NOT_YET)
NOWHERE = desired(waits=NOT_YET, located=False)
NEWER = desired(version=b"new")


@pytest.mark.parametrize(
    ("volumes", "lives", "expected"),
    [
        ((), {}, [(Do.MAKE_DIRECTORY, DIRECTORY)]),
        ((V,), {}, [(Do.MAKE_DIRECTORY, DIRECTORY)]),
        ((V,), {"directory": UNCERTAIN}, [(Do.MAKE_DIRECTORY, DIRECTORY)]),
        ((V,), {"directory": HUNG}, [(Do.SAY_AGAIN, DIRECTORY)]),
        ((), {"directory": MADE}, []),
        ((V,), {"directory": MADE}, [(Do.MAKE, place())]),
        ((V, desired("w")), {"directory": MADE}, [(Do.MAKE, place()), (Do.MAKE, place("w"))]),
        ((V, desired("w")), {"directory": MADE, "v": ThingLife(ThingStage.MAKING)}, [(Do.MAKE, place("w"))]),
        ((V,), {"directory": MADE, "v": MADE}, []),
        ((V,), {"directory": MADE, "v": UNCERTAIN}, [(Do.MAKE, place())]),
        ((V,), {"directory": MADE, "v": HUNG}, [(Do.SAY_AGAIN, place())]),
        ((NEWER,), {"directory": MADE, "v": MADE}, [(Do.MAKE, place())]),
        ((NEWER,), {"directory": MADE, "v": ThingLife(ThingStage.REMAKING)}, []),
        ((NEWER,), {"directory": MADE, "v": ThingLife(ThingStage.MADE, 1)}, [(Do.SAY_AGAIN, place())]),
        ((ON_DEVICE,), {"directory": MADE}, [(Do.STAGE, Device("d"))]),
        ((ON_DEVICE,), {"directory": MADE, "device": UNCERTAIN, "v": UNCERTAIN}, [(Do.STAGE, Device("d"))]),
        ((ON_DEVICE,), {"directory": MADE, "device": ThingLife(ThingStage.UNMAKING)}, []),
        ((ON_DEVICE,), {"directory": MADE, "device": HUNG}, [(Do.SAY_AGAIN, Device("d"))]),
        ((ON_DEVICE,), {"directory": MADE, "device": MADE}, [(Do.MAKE, place())]),
        ((ALONE,), {"directory": MADE, "other": UNCERTAIN}, []),
        ((ALONE,), {"directory": MADE, "other": ABSENT}, [(Do.MAKE, place())]),
        ((V,), {"directory": MADE, "other": MADE}, [(Do.MAKE, place())]),
        ((WAITS,), {"directory": MADE}, [(Do.ADOPT, place())]),
        ((WAITS,), {"directory": MADE, "v": UNCERTAIN}, [(Do.ADOPT, place())]),
        ((WAITS,), {"directory": MADE, "v": MADE}, []),
        ((NOWHERE,), {"directory": MADE}, []),
    ],
)
def test_a_plan_makes_what_is_missing_in_order(
    volumes: tuple[DesiredVolume, ...], lives: dict[str, ThingLife], expected: list[tuple[Do, Any]]
):
    assert steps(plan_wanted("u", volumes, world(**lives), NOW_NS)) == expected


@pytest.mark.parametrize(
    ("volume", "lives", "usable", "trouble", "waiting"),
    [
        (V, {"v": MADE}, True, "", False),
        (NEWER, {"v": MADE}, True, "busy", False),
        (V, {"v": UNCERTAIN}, False, "busy", False),
        (WAITS, {"v": MADE}, True, "not yet", True),
        (WAITS, {"v": UNCERTAIN}, False, "not yet", True),
        (NOWHERE, {}, False, "not yet", True),
        (ALONE, {"other": MADE}, False, "volume uses the ReadWriteOncePod access mode", True),
    ],
)
def test_a_plan_reports_blocked_volumes_and_usable_ones(
    volume: DesiredVolume, lives: dict[str, ThingLife], usable: bool, trouble: str, waiting: bool
):
    actual = world(directory=MADE, **lives)
    if "v" in lives:
        actual.thing(place()).trouble = BUSY
        actual.thing(place()).retry_at_ns = NOW_NS + SECOND_NS
    plan = plan_wanted("u", (volume,), actual, NOW_NS)
    assert (plan.steps, plan.busy) == ((), False)
    assert dict(plan.host_paths) == ({"v": "/host/v"} if usable else {})
    assert [each.text.startswith(trouble) for each in plan.troubles.values()] == [True] * bool(trouble)
    assert plan.waiting == ({"v"} if waiting else set())
    assert plan.wake_ns == (NOW_NS + SECOND_NS if trouble == "busy" else 0)


@pytest.mark.parametrize(
    ("lives", "expected", "busy"),
    [
        ({}, [], False),
        ({"directory": MADE}, [(Do.REMOVE_DIRECTORY, DIRECTORY)], False),
        ({"directory": MADE, "v": MADE, "w": UNCERTAIN}, [(Do.UNMAKE, place()), (Do.UNMAKE, place("w"))], False),
        ({"directory": MADE, "v": ThingLife(ThingStage.MAKING)}, [], True),
        ({"directory": MADE, "v": ThingLife(ThingStage.UNMAKING)}, [], True),
        ({"directory": ThingLife(ThingStage.MAKING)}, [], True),
        ({"directory": MADE, "v": HUNG}, [(Do.UNMAKE, place())], False),
        ({"directory": MADE, "v": ThingLife(ThingStage.UNCERTAIN, 2)}, [(Do.SAY_AGAIN, place())], False),
        ({"directory": MADE, "v": ThingLife(ThingStage.ABSENT, 1)}, [(Do.REMOVE_DIRECTORY, DIRECTORY)], False),
        ({"directory": ABSENT, "v": ThingLife(ThingStage.ABSENT, 1)}, [], False),
    ],
)
def test_volumes_go_first_and_their_directory_last(
    lives: dict[str, ThingLife], expected: list[tuple[Do, Any]], busy: bool
):
    plan = plan_unwanted("u", world(**lives), NOW_NS)
    assert (steps(plan), plan.busy) == (expected, busy)


def test_while_a_volume_cannot_be_taken_down_the_directory_stays():
    actual = world(directory=MADE, v=UNCERTAIN)
    actual.thing(place()).trouble = BUSY
    actual.thing(place()).retry_at_ns = NOW_NS + SECOND_NS
    plan = plan_unwanted("u", actual, NOW_NS)
    assert (steps(plan), dict(plan.troubles), plan.wake_ns) == ([], {"v": BUSY}, NOW_NS + SECOND_NS)
    assert steps(plan_unwanted("u", actual, NOW_NS + SECOND_NS)) == [(Do.UNMAKE, place())]


@pytest.mark.parametrize(
    ("life", "wanted", "used", "expected"),
    [
        (MADE, False, False, [(Do.UNSTAGE, Device("d"))]),
        (UNCERTAIN, False, False, [(Do.UNSTAGE, Device("d"))]),
        (MADE, True, False, []),
        (MADE, False, True, []),
        (ThingLife(ThingStage.MAKING), False, False, []),
        (ThingLife(ThingStage.UNCERTAIN, 2), False, False, [(Do.SAY_AGAIN, Device("d"))]),
    ],
)
def test_a_device_goes_when_no_pod_needs_it(life: ThingLife, wanted: bool, used: bool, expected: list[tuple[Do, Any]]):
    actual = world(device=life)
    if used:
        actual.located(LocatedVolume(place(), "d")).life = UNCERTAIN
    assert steps(plan_device("d", wanted, actual, NOW_NS)) == expected


def test_a_device_that_is_not_known_needs_nothing():
    assert steps(plan_device("d", False, ActualWorld(), NOW_NS)) == []


def test_back_off_doubles_to_its_maximum():
    assert [back_off_ns(n) / SECOND_NS for n in (0, 1, 2, 7, 8, 100)] == [0.5, 1, 2, 64, 122, 122]
