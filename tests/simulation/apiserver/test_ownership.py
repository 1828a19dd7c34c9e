"""What happens to owned objects: the table of policies, finalizers and verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.rules.engine import OfMetadata
from simulation.apiserver.rules.metadata import causes_of_new
from simulation.apiserver.status import StatusError
from simulation.apiserver.strategies.ownership import (
    ORPHANS,
    WAITS,
    DependentVerdict,
    Owner,
    State,
    check_policy,
    finalizers_for,
    policy_of,
    verdict,
    without_owners,
)

DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("finalizers", "options", "left"),
    [
        ((), {}, []),
        (("mine",), {"propagationPolicy": "Background"}, ["mine"]),
        ((), {"propagationPolicy": "Foreground"}, [WAITS]),
        (("mine",), {"propagationPolicy": "Orphan"}, ["mine", ORPHANS]),
        ((), {"orphanDependents": True}, [ORPHANS]),
        ((ORPHANS,), {"orphanDependents": False}, []),
        # What the object says itself counts where the options say nothing, and only there.
        ((WAITS,), {}, [WAITS]),
        ((ORPHANS,), {"gracePeriodSeconds": 0}, [ORPHANS]),
        ((WAITS,), {"propagationPolicy": "Background"}, []),
        ((ORPHANS, "mine"), {"propagationPolicy": "Foreground"}, ["mine", WAITS]),
    ],
)
def test_the_deletion_policy_decides_the_finalizers(finalizers: tuple[str, ...], options: Any, left: list[str]):
    assert finalizers_for(policy_of(finalizers, options), finalizers) == left


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"propagationPolicy": "Sideways"}, 'Unsupported value: "Sideways"'),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, "cannot be both set"),
    ],
)
def test_a_policy_that_is_none_is_refused(options: Any, told: str):
    with pytest.raises(StatusError) as refused:
        check_policy(options)
    assert refused.value.code == 422
    assert told in refused.value.message
    assert 'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy' in refused.value.message


SOLID, GONE, WAITING = State.SOLID, State.GONE, State.WAITING


@pytest.mark.parametrize(
    ("states", "finalizers", "dependents", "found"),
    [
        ((SOLID,), (), (), DependentVerdict()),
        ((GONE,), (), (), DependentVerdict(delete="Background")),
        ((GONE, GONE), (), ({},), DependentVerdict(delete="Background")),
        ((GONE, SOLID), (), (), DependentVerdict(forget=("0",))),
        ((WAITING, SOLID), (), (), DependentVerdict(forget=("0",))),
        ((WAITING,), (), (), DependentVerdict(delete="Background")),
        ((WAITING, GONE), (), ({},), DependentVerdict(delete="Foreground")),
        (
            (WAITING,),
            (),
            ({}, {**DELETING, "finalizers": [WAITS]}),
            DependentVerdict(delete="Foreground", unblock=True),
        ),
        ((GONE,), (ORPHANS,), (), DependentVerdict(delete="Orphan")),
        ((GONE,), (WAITS,), (), DependentVerdict(delete="Foreground")),
    ],
)
def test_the_owners_decide_what_happens_to_a_dependent(
    states: tuple[State, ...], finalizers: tuple[str, ...], dependents: tuple[Any, ...], found: DependentVerdict
):
    owners = [Owner("v1", "ConfigMap", f"o{number}", str(number), False) for number in range(len(states))]
    assert verdict(owners, lambda owner: states[int(owner.uid)], finalizers, dependents) == found


def reference(**changes: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1", **changes}


@pytest.mark.parametrize(
    ("named", "field"),
    [
        ([reference(uid="")], "metadata.ownerReferences.uid"),
        ([reference(), {"kind": "Pod"}], "metadata.ownerReferences.apiVersion"),
        ([reference(kind="Event")], "metadata.ownerReferences"),
        ([reference(controller=True), reference(controller=True)], "metadata.ownerReferences"),
    ],
)
def test_owners_that_cannot_be_are_refused(named: Any, field: str):
    causes = causes_of_new(OfMetadata(), {"name": "c", "ownerReferences": named})
    assert causes[0][2] == field


def test_an_owner_that_is_forgotten_leaves_the_others():
    one, other = reference(), reference(uid="2")
    assert without_owners({"ownerReferences": [one, other]}, ["1"]) == {"ownerReferences": [other]}
    assert without_owners({"name": "c", "ownerReferences": [one]}, ["1"]) == {"name": "c"}
