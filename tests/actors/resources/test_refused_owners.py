"""Owners whose pods are refused again and again: when they are told, and what is remembered of them."""

from __future__ import annotations

import pytest

from actors.resources.refused_owners import CALM_NS, OWNERS_MAX, TOO_MANY, RefusedOwners
from actors.resources.verdict import Rejected
from config.objects import ObjectMeta, OwnerReference, Pod

FULL = Rejected("OutOfcpu", "no CPU is left")


def pod(number: int = 0, owner: str = "web", *, controller: bool = True) -> Pod:
    owners = (OwnerReference(kind="ReplicaSet", name=owner, uid=f"uid-{owner}", controller=controller),)
    name = f"{owner}-{number}"
    return Pod(metadata=ObjectMeta(name=name, namespace="shop", uid=name, owner_references=owners))


def refuse(owners: RefusedOwners, count: int, owner: str = "web", now_ns: int = 0) -> None:
    for number in range(count):
        owners.refuse(pod(number, owner), FULL, now_ns)


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (0, []),
        (TOO_MANY - 1, []),
        (TOO_MANY, [TOO_MANY]),
        (2 * TOO_MANY - 1, [TOO_MANY]),
        (2 * TOO_MANY, [2 * TOO_MANY]),
        (7 * TOO_MANY, [4 * TOO_MANY]),
    ],
)
def test_an_owner_is_told_from_too_many_on_and_its_number_doubles(refused: int, told: list[int]) -> None:
    owners = RefusedOwners()
    refuse(owners, refused)
    assert [each.at_least for each in owners.told(0)] == told


def test_what_is_told_names_the_owner_a_pod_and_why() -> None:
    owners = RefusedOwners()
    refuse(owners, TOO_MANY)
    (told,) = owners.told(0)
    assert (told.kind, told.name, told.pod) == ("ReplicaSet", "shop/web", f"web-{TOO_MANY - 1}")
    assert (told.reason, told.message) == ("OutOfcpu", "no CPU is left")


def test_an_admitted_pod_ends_the_row_of_its_owner_alone() -> None:
    owners = RefusedOwners()
    refuse(owners, TOO_MANY)
    refuse(owners, TOO_MANY, "shop")
    owners.admit(pod())
    assert [each.name for each in owners.told(0)] == ["shop/shop"]


@pytest.mark.parametrize(("later_ns", "told"), [(CALM_NS - 1, 1), (CALM_NS, 0)])
def test_an_owner_without_refused_pods_for_a_while_is_forgotten(later_ns: int, told: int) -> None:
    owners = RefusedOwners()
    refuse(owners, TOO_MANY)
    assert owners.calm_in_ns(later_ns) == CALM_NS - later_ns
    assert len(owners.told(later_ns)) == told
    owners.refuse(pod(), FULL, later_ns)
    assert len(owners.told(later_ns)) == told


@pytest.mark.parametrize("controller", [True, False])
def test_only_the_controller_of_a_pod_counts(controller: bool) -> None:
    owners = RefusedOwners()
    for number in range(TOO_MANY):
        owners.refuse(pod(number, controller=controller), FULL, 0)
        owners.refuse(Pod(metadata=ObjectMeta(name="alone", uid="alone")), FULL, 0)
    assert len(owners.told(0)) == controller


def test_owners_beyond_the_bound_are_forgotten_those_without_refusals_for_longest_first() -> None:
    owners = RefusedOwners()
    refuse(owners, TOO_MANY, "first")
    refuse(owners, TOO_MANY, "second")
    owners.refuse(pod(owner="first"), FULL, 0)
    for number in range(OWNERS_MAX - 1):
        refuse(owners, 1, f"other-{number}")
    assert [each.name for each in owners.told(0)] == ["shop/first"]
