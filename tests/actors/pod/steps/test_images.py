"""No container starts before the images of its pod are leased."""

from __future__ import annotations

from typing import Any

import pytest

from actors.kernel import Message
from actors.messages.images import ImagesLeased
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, StartPlace
from runtime.cri.messages import PodSandboxConfig
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import pod

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
