"""The patch of a status: what differs, the UID, and nothing else."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.status.patch import asked_in, status_patch
from config.objects import ContainerStatus, HostIP, PodCondition, PodIP, PodStatus, ResourceRequirements


def condition(kind: str, status: str = "True", **fields: Any) -> PodCondition:
    return PodCondition(type=kind, status=status, **fields)


def as_json(body: dict[str, Any] | None) -> Any:
    """As it is sent."""
    return msgspec.json.decode(msgspec.json.encode(body))


READY = condition("Ready")


@pytest.mark.parametrize(
    ("api", "wanted", "changes"),
    [
        (None, PodStatus(phase="Running"), {"phase": "Running"}),
        (PodStatus(phase="Pending", host_ip="h"), PodStatus(phase="Running", host_ip="h"), {"phase": "Running"}),
        (PodStatus(reason="Evicted"), PodStatus(), {"reason": None}),
        (PodStatus(), PodStatus(pod_ips=(PodIP(ip="a"),)), {"podIPs": [{"ip": "a"}]}),
        (
            PodStatus(pod_ips=(PodIP(ip="a"),), host_ips=(HostIP(ip="n"),)),
            PodStatus(pod_ips=(PodIP(ip="b"),), host_ips=(HostIP(ip="n"),)),
            {"podIPs": [{"$patch": "replace"}, {"ip": "b"}]},
        ),
        (PodStatus(pod_ips=(PodIP(ip="a"),)), PodStatus(), {"podIPs": None}),
        (
            PodStatus(conditions=(READY, condition("Initialized"))),
            PodStatus(conditions=(condition("Ready", "False", reason="ContainersNotReady"), condition("Initialized"))),
            {
                "conditions": [
                    {"type": "Ready", "status": "False", "reason": "ContainersNotReady"},
                ]
            },
        ),
        (
            PodStatus(conditions=(condition("Ready", "False", reason="ContainersNotReady", message="web"),)),
            PodStatus(conditions=(condition("Ready", "False", reason="PodCompleted"),)),
            {"conditions": [{"type": "Ready", "status": "False", "reason": "PodCompleted", "message": None}]},
        ),
        (
            PodStatus(conditions=(READY, condition("PodResizePending"), condition("example.com/theirs"))),
            PodStatus(conditions=(READY,)),
            {"conditions": [{"$patch": "delete", "type": "PodResizePending"}]},
        ),
        (
            PodStatus(resources=ResourceRequirements(limits={"cpu": "1"})),
            PodStatus(resources=ResourceRequirements(limits={"cpu": "2"})),
            {"resources": {"$patch": "replace", "limits": {"cpu": "2"}}},
        ),
    ],
)
# (spec 4.5.5)
def test_a_status_patch_has_only_the_differences(api: PodStatus | None, wanted: PodStatus, changes: dict[str, Any]):
    assert as_json(status_patch("u1", api, wanted)) == {"metadata": {"uid": "u1"}, "status": changes}


def test_statuses_of_containers_are_written_as_a_whole():
    statuses = (ContainerStatus(name="web", image="i", ready=True, restart_count=2),)
    body = status_patch("u1", PodStatus(), PodStatus(container_statuses=statuses))
    assert body is not None
    assert as_json(body)["status"]["containerStatuses"] == [
        {"name": "web", "image": "i", "imageID": "", "ready": True, "restartCount": 2}
    ]


# (spec 4.5.4)
def test_equal_statuses_need_no_write_and_what_others_own_is_not_taken_away():
    api = PodStatus(phase="Running", conditions=(READY, condition("example.com/theirs")))
    assert status_patch("u1", api, api) is None
    assert status_patch("u1", api, PodStatus(phase="Running", conditions=(READY,))) is None


def test_removing_the_reason_of_a_condition_is_requested_separately():
    """This patch does not remove a text that somebody else wrote meanwhile. The next one does."""
    wanted = PodStatus(conditions=(condition("Ready", "False"),))
    sent = asked_in(status_patch("u1", PodStatus(conditions=(READY,)), wanted))
    shown = PodStatus(conditions=(condition("Ready", "False", reason="Theirs"),))
    left = asked_in(status_patch("u1", shown, wanted))
    assert sent == {"condition Ready"}
    assert left == {"condition Ready", "reason of Ready"}
