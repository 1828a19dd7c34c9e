"""No container starts before the images of its pod are leased.

While its image cannot be pulled, a container shows the reason.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import Message
from actors.messages.images import ImagePullFailed, ImagesLeased
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, StartPlace
from actors.pod_rules.container_start import PullNeeded, Wanted
from runtime.cri.messages import PodSandboxConfig
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import pod

SECOND_NS = 1_000_000_000
WEB = pod("app")
PLACE = StartPlace(0, "box-0", PodSandboxConfig())
WAITS = PassWait(
    "an image that it names is just being removed, or nobody has said yet that none is",
    "its containers are started then",
)


@pytest.mark.parametrize(
    ("place", "answers", "services", "expected"),
    [
        pytest.param(None, (), {}, CONTINUE, id="nothing is to be started"),
        pytest.param(PLACE, (), {}, WAITS, id="no answer"),
        pytest.param(PLACE, (ImagesLeased(frozenset({"image:1"})),), {}, CONTINUE, id="leased"),
        pytest.param(PLACE, (ImagesLeased(frozenset({"image:2"})),), {}, WAITS, id="an answer to another question"),
        pytest.param(PLACE, (), {"image_gc": None}, CONTINUE, id="nobody removes images"),
    ],
)
def test_containers_wait_for_the_leases(
    place: StartPlace | None, answers: tuple[Message, ...], services: dict[str, Any], expected: Outcome
):
    bench = Bench(**services)
    bench.parts.leases.pod_desired(WEB)
    bench.tell(*answers)
    assert bench.outcome(bench.parts.leases.step, WEB, place=place) == expected


@pytest.mark.parametrize(
    ("asking_s", "retry_s", "shown"),
    [
        pytest.param(0, 10, ["ErrImagePull", "ImagePullBackOff", "ImagePullBackOff"], id="no program is slow"),
        pytest.param(60, 40, ["ErrImagePull"] * 3, id="the program hangs for longer than the back-off lasts"),
        pytest.param(5, 80, ["ErrImagePull", "ErrImagePull", "ImagePullBackOff"], id="and for less long"),
    ],
)
def test_a_failed_pull_shows_its_reason_for_as_long_as_the_credential_programs_took(
    asking_s: int, retry_s: int, shown: list[str]
):
    failed = ImagePullFailed("app:1", "app", "ErrImagePull", "denied", retry_s * SECOND_NS, asking_s * SECOND_NS)
    bench = Bench()
    lives = bench.parts.view.start_lives
    lives.meet("app", Wanted("app:1"))
    lives.meet("app", PullNeeded(0))
    bench.tell(failed)
    found = []
    for at_s in (0, 2, 9):
        lives.meet("app", Wanted("app:1"))
        found.append(lives.meet("app", PullNeeded(at_s * SECOND_NS)).reason)
    assert found == shown
