"""The life of a claim: a table of events, and properties of any order of them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.resources.claims.life import (
    Called,
    ClaimLife,
    ClaimStage,
    Event,
    Held,
    Left,
    PreparedBy,
    UnpreparedBy,
    advance,
)
from config.frozen_map import FrozenMap
from runtime.dra.capability import ClaimDevice, ClaimRef

REF = ClaimRef("default", "a", "uid-a")
NEW = ClaimLife(REF, ("one", "two"))
DEVICE = (ClaimDevice("pool", "gpu-0"),)
ONE, BOTH = FrozenMap({"one": DEVICE}), FrozenMap({"one": DEVICE, "two": ()})
READY = (Held("p"), Called(), PreparedBy(BOTH))
ALL = frozenset({"one", "two"})


def after(*events: Event, life: ClaimLife = NEW) -> ClaimLife:
    for event in events:
        life = advance(life, event)
    return life


@pytest.mark.parametrize(
    ("events", "stage"),
    [
        ((Held("p"),), ClaimStage.WANTED),
        ((Held("p"), Left("p")), ClaimStage.GONE),
        ((Held("p"), Called()), ClaimStage.PREPARING),
        (READY, ClaimStage.PREPARED),
        # One of two drivers fails: it is tried again while a pod wants it, else both are to undo it.
        ((Held("p"), Called(), PreparedBy(ONE, "no")), ClaimStage.WANTED),
        ((Held("p"), Called(), PreparedBy(ONE, "no"), Left("p")), ClaimStage.ENDING),
        # A claim that is being prepared waits for the answer.
        ((Held("p"), Called(), Left("p")), ClaimStage.PREPARING),
        ((Held("p"), Called(), Left("p"), PreparedBy(BOTH)), ClaimStage.ENDING),
        ((Held("p"), Called(), Left("p"), Held("q"), PreparedBy(BOTH)), ClaimStage.PREPARED),
        # Two pods share it.
        ((*READY, Held("q"), Left("p")), ClaimStage.PREPARED),
        ((*READY, Held("q"), Left("p"), Left("q")), ClaimStage.ENDING),
        ((*READY, Left("p"), Called()), ClaimStage.UNPREPARING),
        ((*READY, Left("p"), Called(), UnpreparedBy(ALL)), ClaimStage.GONE),
        ((*READY, Left("p"), Called(), UnpreparedBy(frozenset({"one"}), "no")), ClaimStage.ENDING),
        # A pod that comes meanwhile has it prepared anew.
        ((*READY, Left("p"), Held("q")), ClaimStage.WANTED),
        ((*READY, Left("p"), Called(), Held("q")), ClaimStage.UNPREPARING),
        ((*READY, Left("p"), Called(), Held("q"), UnpreparedBy(ALL)), ClaimStage.WANTED),
        # What cannot be now changes nothing.
        ((*READY, Called()), ClaimStage.PREPARED),
        ((*READY, UnpreparedBy(ALL)), ClaimStage.PREPARED),
        ((Held("p"), PreparedBy(BOTH)), ClaimStage.WANTED),
    ],
)
# (spec 10.12.1, 10.12.2)
def test_the_table(events: tuple[Event, ...], stage: ClaimStage) -> None:
    assert after(*events).stage is stage


def test_a_driver_that_has_answered_is_not_asked_again_and_its_devices_stay() -> None:
    life = after(Held("p"), Called(), PreparedBy(ONE, "no"))
    assert (life.missing, life.error) == (("two",), "no")
    assert after(Called(), PreparedBy(FrozenMap({"two": ()})), life=life).devices == BOTH


def test_a_pod_that_comes_while_the_claim_ends_finds_no_devices_of_before() -> None:
    life = after(*READY, Left("p"), Called(), UnpreparedBy(frozenset({"one"}), "no"), Held("q"))
    assert (life.devices, life.missing, life.error) == (FrozenMap(), ("one", "two"), "")


EVENTS = st.lists(
    st.sampled_from(
        (
            *(Held("p"), Held("q"), Left("p"), Left("q"), Called()),
            *(PreparedBy(BOTH), PreparedBy(ONE, "no"), UnpreparedBy(ALL), UnpreparedBy(frozenset(), "no")),
        )
    )
)


@given(EVENTS)
def test_in_any_order_a_claim_is_prepared_or_ends_exactly_as_pods_need_it(events: list[Event]) -> None:
    life = advance(NEW, Held("p"))
    for event in events:
        if life.stage is ClaimStage.GONE:
            return
        before, life = life, advance(life, event)
        if life.stage is ClaimStage.GONE:
            assert not life.pods
        if life.stage is ClaimStage.PREPARED:
            assert not life.missing
        if not life.pods and not life.calls:
            assert life.stage in (ClaimStage.ENDING, ClaimStage.GONE)
        if life.pods:
            assert life.stage is not ClaimStage.ENDING
        if before.calls and isinstance(event, Held | Left | Called):
            assert life.stage is before.stage, "nothing begins while drivers are being called"
    assert life == msgspec.structs.replace(life)
