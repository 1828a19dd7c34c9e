"""The order of writing: ended, not ready any more, ready, trouble, the rest."""

from __future__ import annotations

import pytest

from actors.status.urgency import Urgency, urgency
from config.objects import ContainerState, ContainerStateWaiting, ContainerStatus, PodCondition, PodStatus


def pod(phase: str, ready: bool = False, waits_for: str = "", restarts: int = 0, resize: str = "") -> PodStatus:
    state = ContainerState(waiting=ContainerStateWaiting(reason=waits_for)) if waits_for else None
    return PodStatus(
        phase=phase,
        conditions=(
            PodCondition(type="Ready", status="True" if ready else "False"),
            *((PodCondition(type=resize, status="True"),) if resize else ()),
        ),
        container_statuses=(ContainerStatus(name="web", state=state, restart_count=restarts),),
    )


@pytest.mark.parametrize(
    ("api", "wanted", "expected"),
    [
        (pod("Running", ready=True), pod("Failed"), Urgency.ENDED),
        (None, pod("Succeeded"), Urgency.ENDED),
        (pod("Running", ready=True), pod("Running"), Urgency.UNREADY),
        (pod("Pending"), pod("Running", ready=True), Urgency.READY),
        (pod("Pending"), pod("Running"), Urgency.READY),
        (pod("Pending"), pod("Pending", waits_for="ErrImagePull"), Urgency.TROUBLE),
        (pod("Pending", waits_for="ErrImagePull"), pod("Pending", waits_for="ImagePullBackOff"), Urgency.TROUBLE),
        (pod("Running", restarts=1), pod("Running", restarts=2), Urgency.TROUBLE),
        (None, pod("Pending", waits_for="ContainerCreating"), Urgency.REST),
        (pod("Pending", waits_for="ErrImagePull"), pod("Pending", waits_for="ContainerCreating"), Urgency.REST),
        (pod("Running", ready=True), pod("Running", ready=True), Urgency.REST),
        (pod("Running", ready=True), pod("Running", ready=True, resize="PodResizePending"), Urgency.TROUBLE),
        (pod("Running", resize="PodResizePending"), pod("Running", resize="PodResizeInProgress"), Urgency.TROUBLE),
        (pod("Running", ready=True, resize="PodResizeInProgress"), pod("Running", ready=True), Urgency.TROUBLE),
    ],
)
def test_news_are_sorted_by_how_bad_they_are(api: PodStatus | None, wanted: PodStatus, expected: Urgency):
    assert urgency(api, wanted) is expected


def test_nothing_is_urgent_while_the_final_status_is_about_to_come():
    assert urgency(pod("Running", ready=True), pod("Running"), ending=True) is Urgency.REST
