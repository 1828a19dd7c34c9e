"""What the API is to show of a pod: our part as computed, the part of others as they left it."""

from __future__ import annotations

import msgspec
import pytest

from actors.status.merge import status_to_write, with_plain_status
from actors.status.published import Published
from config.objects import (
    ContainerState,
    ContainerStatus,
    ObjectMeta,
    Pod,
    PodCondition,
    PodResourceClaimStatus,
    PodStatus,
)


def condition(kind: str, status: str = "True", reason: str | None = None) -> PodCondition:
    return PodCondition(type=kind, status=status, reason=reason)


def types(status: PodStatus) -> dict[str, str]:
    return {each.type: each.status for each in status.conditions}


def test_conditions_of_others_are_kept_and_ours_come_from_the_worker():
    api = PodStatus(phase="Pending", conditions=(condition("Ready", "False"), condition("example.com/gate", "True")))
    computed = PodStatus(phase="Running", conditions=(condition("Ready"), condition("example.com/gate", "False")))
    written = status_to_write(computed, api, nothing_runs=False)
    assert types(written) == {"Ready": "True", "example.com/gate": "True"}


def test_a_disruption_is_kept_from_the_api_and_taken_from_the_worker_where_it_says_one():
    api = PodStatus(conditions=(condition("DisruptionTarget", reason="PreemptionByScheduler"),))
    kept = status_to_write(PodStatus(phase="Running"), api, nothing_runs=False)
    assert [each.reason for each in kept.conditions] == ["PreemptionByScheduler"]
    own = PodStatus(phase="Failed", conditions=(condition("DisruptionTarget", reason="TerminationByKubelet"),))
    ended = status_to_write(own, api, nothing_runs=True)
    assert [each.reason for each in ended.conditions] == ["TerminationByKubelet"]


# (spec 4.5.11)
def test_a_pod_is_called_disrupted_once_nothing_of_it_runs():
    own = PodStatus(phase="Failed", conditions=(condition("Ready"), condition("DisruptionTarget")))
    assert types(status_to_write(own, PodStatus(phase="Running"), nothing_runs=False)) == {"Ready": "True"}
    ended = status_to_write(own, PodStatus(phase="Running"), nothing_runs=True)
    assert types(ended) == {"Ready": "False", "DisruptionTarget": "True"}


def test_fields_of_the_scheduler_and_of_claims_are_never_ours():
    claims = (PodResourceClaimStatus(name="gpu", resource_claim_name="gpu-x1"),)
    api = PodStatus(nominated_node_name="other", resource_claim_statuses=claims, start_time="1", qos_class="Burstable")
    written = status_to_write(PodStatus(phase="Running", start_time="2"), api, nothing_runs=False)
    assert (written.nominated_node_name, written.resource_claim_statuses) == ("other", claims)
    assert (written.start_time, written.qos_class) == ("1", "Burstable")


# (spec 4.5.6)
def test_a_pod_has_not_ended_before_the_last_of_its_containers():
    api = PodStatus(phase="Running", message="m")
    computed = PodStatus(phase="Failed", reason="Evicted", conditions=(condition("Ready", "False"),))
    early = status_to_write(computed, api, nothing_runs=False)
    assert (early.phase, early.reason, early.message) == ("Running", None, "m")
    late = status_to_write(computed, api, nothing_runs=True)
    assert (late.phase, late.reason) == ("Failed", "Evicted")


def test_a_phase_that_the_api_shows_as_terminal_stays_terminal():
    computed = PodStatus(phase="Failed")
    assert status_to_write(computed, PodStatus(phase="Failed"), nothing_runs=False).phase == "Failed"


# (spec 4.5.6)
def test_a_pod_that_has_ended_is_not_ready():
    computed = PodStatus(phase="Succeeded", conditions=(condition("Ready"), condition("ContainersReady")))
    written = status_to_write(computed, PodStatus(phase="Running"), nothing_runs=True)
    assert [(each.status, each.reason) for each in written.conditions] == [("False", "PodCompleted")] * 2
    failed = status_to_write(PodStatus(phase="Failed", conditions=(condition("Ready"),)), None, nothing_runs=True)
    assert failed.conditions[0].reason == "PodFailed"


def test_a_pod_that_ended_before_it_was_ready_keeps_the_reason_why():
    unready = (condition("Ready", "False", "ContainersNotReady"), condition("ContainersReady", "False", "x"))
    written = status_to_write(PodStatus(phase="Failed", conditions=unready), None, nothing_runs=True)
    assert written.conditions == unready


def test_an_empty_last_state_is_no_difference():
    plain = ContainerStatus(name="a", image="i")
    shown = ContainerStatus(name="a", image="i", last_state=ContainerState())
    pod = Pod(status=PodStatus(container_statuses=(shown,), init_container_statuses=(plain,)))
    status = with_plain_status(pod).status
    assert status == PodStatus(container_statuses=(plain,), init_container_statuses=(plain,))
    untouched = Pod(status=PodStatus(container_statuses=(plain,)))
    assert with_plain_status(untouched) is untouched


@pytest.mark.parametrize("nothing_runs", [False, True])
@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed"])
@pytest.mark.parametrize(
    "api",
    [
        PodStatus(phase="Pending", qos_class="Burstable", start_time="2026-01-01T00:00:00Z"),
        PodStatus(phase="Running", conditions=(condition("example.com/gate"), condition("Ready"))),
        PodStatus(phase="Failed", conditions=(condition("Ready", "False"), condition("DisruptionTarget"))),
    ],
)
# (spec 4.5.4)
def test_nothing_is_wanted_once_the_api_shows_the_wanted_status(api: PodStatus, phase: str, nothing_runs: bool):
    mine = (condition("Ready"), condition("DisruptionTarget", reason="TerminationByKubelet"))
    computed = PodStatus(phase=phase, qos_class="Guaranteed", start_time="2026-01-02T00:00:00Z", conditions=mine)
    wanted = status_to_write(computed, api, nothing_runs=nothing_runs)
    assert status_to_write(computed, wanted, nothing_runs=nothing_runs) == wanted


def test_conditions_of_others_written_later_are_kept_in_the_wanted_status():
    def shown(version: str, *conditions: PodCondition) -> Pod:
        return Pod(
            metadata=ObjectMeta(uid="u", resource_version=version),
            status=PodStatus(phase="Running", conditions=conditions),
        )

    computed = PodStatus(phase="Running", conditions=(condition("Ready"),))
    known = Published(shown("1"), computed)
    known.seen = True
    known.note(shown("1"))
    known.want()
    known.begin_write()
    known.wrote(shown("2", condition("Ready")))
    known.want()
    assert known.is_shown()
    known.note(shown("3", condition("Ready", "False"), condition("example.com/gate")))
    known.want()
    assert types(known.wanted) == {"Ready": "True", "example.com/gate": "True"}
    assert not known.is_shown()
    known.status = msgspec.structs.replace(computed, phase="Succeeded")
    known.want()
    known.final = True
    known.want()
    assert known.wanted.phase == "Succeeded"
    assert types(known.wanted)["Ready"] == "False"
