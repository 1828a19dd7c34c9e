"""The next step for a volume of a pod, its directory, or a device: tables of worlds and steps."""

from __future__ import annotations

from typing import Any

import pytest

from actors.volumes.actual import ActualWorld, Device, PodDirectory, Thing, VolumeProblem, back_off_ns
from actors.volumes.desired import DesiredVolume
from actors.volumes.plan import DONE, Do, Plan, plan_device, plan_directory, plan_removal, plan_volume
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


def step(plan: Plan) -> tuple[Do, Any] | None:
    return (plan.step.do, plan.step.key) if plan.step is not None else None


V = desired()
ON_DEVICE = desired(device="d")
ALONE = desired(access_modes=("ReadWriteOncePod",))
WAITS = desired(waits=NOT_YET)
NOWHERE = desired(waits=NOT_YET, located=False)
NEWER = desired(version=b"new")


MAKING, UNMAKING = ThingLife(ThingStage.MAKING), ThingLife(ThingStage.UNMAKING)
MAKE, MAKE_DIRECTORY = (Do.MAKE, place()), (Do.MAKE_DIRECTORY, DIRECTORY)
STAGE, DEVICE = (Do.STAGE, Device("d")), Device("d")


@pytest.mark.parametrize(
    ("volume", "lives", "expected", "busy"),
    [
        (V, {}, MAKE_DIRECTORY, None),
        (V, {"directory": UNCERTAIN}, MAKE_DIRECTORY, None),
        (V, {"directory": MAKING}, None, DIRECTORY),
        (V, {"directory": UNMAKING}, None, DIRECTORY),
        (V, {"directory": HUNG}, (Do.SAY_AGAIN, DIRECTORY), None),
        (WAITS, {}, MAKE_DIRECTORY, None),
        (V, {"directory": MADE}, MAKE, None),
        (V, {"directory": MADE, "w": ThingLife(ThingStage.MAKING)}, MAKE, None),
        (V, {"directory": MADE, "v": MAKING}, None, place()),
        (V, {"directory": MADE, "v": UNMAKING}, None, place()),
        (V, {"directory": MADE, "v": MADE}, None, None),
        (V, {"directory": MADE, "v": UNCERTAIN}, MAKE, None),
        (V, {"directory": MADE, "v": HUNG}, (Do.SAY_AGAIN, place()), None),
        (NEWER, {"directory": MADE, "v": MADE}, MAKE, None),
        (NEWER, {"directory": MADE, "v": ThingLife(ThingStage.REMAKING)}, None, place()),
        (NEWER, {"directory": MADE, "v": ThingLife(ThingStage.MADE, 1)}, (Do.SAY_AGAIN, place()), None),
        (ON_DEVICE, {"directory": MADE}, STAGE, None),
        (ON_DEVICE, {"directory": MADE, "device": UNCERTAIN, "v": UNCERTAIN}, STAGE, None),
        (ON_DEVICE, {"directory": MADE, "device": MAKING}, None, DEVICE),
        (ON_DEVICE, {"directory": MADE, "device": UNMAKING}, None, DEVICE),
        (ON_DEVICE, {"directory": MADE, "device": HUNG}, (Do.SAY_AGAIN, DEVICE), None),
        (ON_DEVICE, {"directory": MADE, "device": MADE}, MAKE, None),
        (ALONE, {"directory": MADE, "other": UNCERTAIN}, None, None),
        (ALONE, {"directory": MADE, "other": ABSENT}, MAKE, None),
        (V, {"directory": MADE, "other": MADE}, MAKE, None),
        (WAITS, {"directory": MADE}, (Do.ADOPT, place()), None),
        (WAITS, {"directory": MADE, "v": UNCERTAIN}, (Do.ADOPT, place()), None),
        (WAITS, {"directory": MADE, "v": MAKING}, None, place()),
        (WAITS, {"directory": MADE, "v": MADE}, None, None),
        (NOWHERE, {"directory": MADE}, None, None),
    ],
)
# (spec 8.4.1)
def test_a_volume_is_made_after_its_directory_and_its_device(
    volume: DesiredVolume, lives: dict[str, ThingLife], expected: tuple[Do, Any] | None, busy: Any
):
    plan = plan_volume("u", volume, world(**lives), NOW_NS)
    assert (step(plan), plan.busy) == (expected, busy)


@pytest.mark.parametrize(
    ("volume", "lives", "usable", "trouble", "waiting", "frees"),
    [
        (V, {"v": MADE}, True, "", False, None),
        (NEWER, {"v": MADE}, True, "busy", False, None),
        (V, {"v": UNCERTAIN}, False, "busy", False, None),
        (WAITS, {"v": MADE}, True, "not yet", True, None),
        (WAITS, {"v": UNCERTAIN}, False, "not yet", True, None),
        (NOWHERE, {}, False, "not yet", True, None),
        (ALONE, {"other": MADE}, False, "volume uses the ReadWriteOncePod access mode", True, ("kind", "v")),
        (
            desired(device="d", context="label"),
            {"device": MADE, "other": MADE},
            False,
            'conflicting SELinux labels of volume v: "another" and "label"; it is in use by pod other',
            True,
            DEVICE,
        ),
    ],
)
def test_a_final_plan_says_what_is_usable_and_what_is_in_the_way(
    volume: DesiredVolume, lives: dict[str, ThingLife], usable: bool, trouble: str, waiting: bool, frees: Any
):
    actual = world(directory=MADE, **lives)
    if "v" in lives:
        actual.thing(place()).trouble = BUSY
        actual.thing(place()).failed_ns, actual.thing(place()).retry_at_ns = NOW_NS, NOW_NS + SECOND_NS
    if "device" in lives:
        actual.thing(DEVICE).context = "another"
        actual.located(LocatedVolume(place(uid="other"), "d"))
    plan = plan_volume("u", volume, actual, NOW_NS)
    assert (plan.step, plan.busy) == (None, None)
    assert (plan.usable, plan.host_path) == ((True, "/host/v") if usable else (False, ""))
    assert (plan.trouble.text if plan.trouble is not None else "").startswith(trouble)
    assert (plan.waits, plan.frees) == (waiting, frees)
    after_failure = (NOW_NS + SECOND_NS, NOW_NS) if trouble == "busy" else (0, -1)
    assert (plan.retry_at_ns, plan.failed_ns) == after_failure


def test_a_device_with_another_label_is_taken_down_once_nobody_is_on_it():
    actual = world(directory=MADE, device=MADE)
    actual.thing(DEVICE).context = "another"
    plan = plan_volume("u", desired(device="d", context="label"), actual, NOW_NS)
    assert step(plan) == (Do.UNSTAGE, DEVICE)


def test_the_trouble_of_the_directory_is_that_of_every_volume():
    actual = world(directory=UNCERTAIN, v=MADE)
    actual.thing(DIRECTORY).failed(BUSY, NOW_NS)
    for plan in (plan_volume("u", V, actual, NOW_NS), plan_directory("u", actual, NOW_NS)):
        assert (plan.step, plan.trouble, plan.usable, plan.failed_ns) == (None, BUSY, False, NOW_NS)
    assert step(plan_volume("u", V, actual, NOW_NS + SECOND_NS)) == MAKE_DIRECTORY


@pytest.mark.parametrize(
    ("lives", "expected", "busy"),
    [
        ({}, MAKE_DIRECTORY, None),
        ({"directory": UNCERTAIN}, MAKE_DIRECTORY, None),
        ({"directory": MAKING}, None, DIRECTORY),
        ({"directory": HUNG}, (Do.SAY_AGAIN, DIRECTORY), None),
        ({"directory": MADE}, None, None),
    ],
)
def test_a_pod_without_volumes_has_its_directory(
    lives: dict[str, ThingLife], expected: tuple[Do, Any] | None, busy: Any
):
    plan = plan_directory("u", world(**lives), NOW_NS)
    assert (step(plan), plan.busy) == (expected, busy)


@pytest.mark.parametrize(
    ("key", "do"),
    [(place(), Do.UNMAKE), (DIRECTORY, Do.REMOVE_DIRECTORY), (DEVICE, Do.UNSTAGE)],
    ids=["a volume", "a directory", "a device"],
)
@pytest.mark.parametrize(
    ("life", "does", "busy"),
    [
        (MADE, True, False),
        (UNCERTAIN, True, False),
        (HUNG, True, False),
        (MAKING, False, True),
        (ThingLife(ThingStage.REMAKING), False, True),
        (UNMAKING, False, True),
        (ThingLife(ThingStage.UNCERTAIN, 2), None, False),
        (ThingLife(ThingStage.ABSENT, 1), False, False),
        (ABSENT, False, False),
    ],
)
def test_what_nobody_wants_goes_even_while_a_call_of_its_making_hangs(
    key: Any, do: Do, life: ThingLife, does: bool | None, busy: bool
):
    plan = plan_removal(key, Thing(life), NOW_NS)
    expected = None if does is False else (do if does else Do.SAY_AGAIN, key)
    assert (step(plan), plan.busy) == (expected, key if busy else None)


def test_what_cannot_be_taken_down_is_tried_again_after_its_back_off():
    thing = Thing(UNCERTAIN, trouble=BUSY, retry_at_ns=NOW_NS + SECOND_NS)
    plan = plan_removal(place(), thing, NOW_NS)
    assert (plan.step, plan.trouble, plan.retry_at_ns) == (None, BUSY, NOW_NS + SECOND_NS)
    assert step(plan_removal(place(), thing, NOW_NS + SECOND_NS)) == (Do.UNMAKE, place())


@pytest.mark.parametrize(
    ("life", "wanted", "used", "expected"),
    [
        (MADE, False, False, (Do.UNSTAGE, DEVICE)),
        (UNCERTAIN, False, False, (Do.UNSTAGE, DEVICE)),
        (MADE, True, False, None),
        (MADE, False, True, None),
        (MAKING, False, False, None),
        (ThingLife(ThingStage.UNCERTAIN, 2), False, False, (Do.SAY_AGAIN, DEVICE)),
    ],
)
def test_a_device_goes_when_no_pod_needs_it(life: ThingLife, wanted: bool, used: bool, expected: tuple[Do, Any] | None):
    actual = world(device=life)
    if used:
        actual.located(LocatedVolume(place(), "d")).life = UNCERTAIN
    assert step(plan_device("d", wanted, actual, NOW_NS)) == expected


def test_a_device_that_is_not_known_needs_nothing():
    assert plan_device("d", False, ActualWorld(), NOW_NS) == DONE


# (spec 8.1.1)
def test_back_off_doubles_to_its_maximum():
    assert [back_off_ns(n) / SECOND_NS for n in (0, 1, 2, 7, 8, 100)] == [0.5, 1, 2, 64, 122, 122]
