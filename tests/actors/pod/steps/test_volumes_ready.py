"""The containers of a pod wait for its volumes."""

from __future__ import annotations

import pytest

from actors.kernel import Message
from actors.messages.volumes import PrepareVolumes, VolumesPrepared
from actors.pod.one_pass import CONTINUE, Outcome, PassWait
from actors.pod.steps.volumes_ready import VOLUME_ASK_AGAIN_NS
from config.frozen_map import FrozenMap
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import pod

THEN = "they are tried again without an end; its containers are started after that"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param((), PassWait("its directory is being made", THEN), id="no answer"),
        pytest.param((VolumesPrepared(FrozenMap()),), CONTINUE, id="there"),
        pytest.param(
            (VolumesPrepared(FrozenMap(), "disk full"),),
            PassWait("disk full", THEN, "FailedMount", VOLUME_ASK_AGAIN_NS),
            id="not to be made as things are",
        ),
        pytest.param(
            (VolumesPrepared(FrozenMap(), "disk full"), VolumesPrepared(FrozenMap())), CONTINUE, id="made in the end"
        ),
    ],
)
def test_a_pod_waits_for_its_volumes(answers: tuple[Message, ...], expected: Outcome):
    bench = Bench(PrepareVolumes)
    this = bench.passing(pod("app"))
    bench.take(bench.parts.volumes.step, this)
    bench.tell(*answers)
    assert bench.take(bench.parts.volumes.step, this) == expected
    assert len(bench.asked) == 1
