"""Which pods may be started from memory, and how old it may be."""

from __future__ import annotations

from typing import Any

import pytest

from actors.island.rules import ANNOTATION, age_of, refusal
from config.objects import ObjectMeta, OwnerReference, Pod, PodSpec, PodStatus
from config.pods.identity import CONFIG_MIRROR

SECOND = 10**9
HOUR = 3600 * SECOND


def pod(status: PodStatus | None = None, restart: str = "Always", **meta: Any) -> Pod:
    return Pod(metadata=ObjectMeta(name="web", **meta), spec=PodSpec(restart_policy=restart), status=status)


def owned(kind: str) -> dict[str, Any]:
    return {"owner_references": (OwnerReference(api_version="apps/v1", kind=kind, name="o", controller=True),)}


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (pod(), ""),
        (pod(PodStatus(phase="Running")), ""),
        (pod(restart="OnFailure"), ""),
        (pod(**owned("ReplicaSet")), ""),
        (pod(**owned("DaemonSet")), ""),
        (pod(annotations={ANNOTATION: "always"}), ""),
        (pod(**owned("StatefulSet")), "StatefulSet"),
        (pod(annotations={ANNOTATION: "never"}), ANNOTATION),
        (pod(annotations={ANNOTATION: "Never"}), ANNOTATION),
        (pod(restart="Never"), "restartPolicy"),
        (pod(PodStatus(phase="Succeeded")), "end"),
        (pod(PodStatus(phase="Failed")), "end"),
        (pod(deletion_timestamp="2026-01-01T00:00:00Z"), "deleted"),
        (pod(annotations={CONFIG_MIRROR: "hash"}), "static"),
    ],
)
def test_only_a_pod_whose_second_copy_does_no_harm_is_started_from_memory(found: Pod, why: str) -> None:
    assert (refusal(found) == "") == (why == "")
    assert why in refusal(found)


@pytest.mark.parametrize(
    ("passed_ns", "age_ns", "why"),
    [
        (0, 0, ""),
        (60 * SECOND, 60 * SECOND, ""),
        (HOUR, HOUR, ""),
        (HOUR + 1, HOUR + 1, "old"),
        (365 * 24 * HOUR, 365 * 24 * HOUR, "old"),
        (-60 * SECOND, 0, ""),
        (-HOUR, 0, ""),
        (-HOUR - 1, 0, "the clock stands"),
    ],
)
def test_a_memory_is_of_use_for_an_hour_whichever_way_the_clock_is_wrong(passed_ns: int, age_ns: int, why: str) -> None:
    agreed_ns = 1_800_000_000 * SECOND
    age = age_of(agreed_ns, agreed_ns + passed_ns, HOUR)
    assert (age.ns, age.refusal == "") == (age_ns, why == "")
    assert why in age.refusal
