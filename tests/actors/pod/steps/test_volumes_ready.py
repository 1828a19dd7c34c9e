"""The containers of a pod wait for its volumes."""

from __future__ import annotations

import pytest

from actors.kernel import Message
from actors.messages.volumes import PrepareVolumes, VolumesPrepared
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, may_take_long
from actors.pod.steps.volumes_ready import MOMENT_NS, VOLUME_ASK_AGAIN_NS, wait_for_answer
from config.frozen_map import FrozenMap
from config.objects import (
    ConfigMapVolumeSource,
    CSIVolumeSource,
    EmptyDirVolumeSource,
    NFSVolumeSource,
    PersistentVolumeClaimVolumeSource,
    Volume,
    VolumeMount,
)
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import container, pod

CLAIM = PersistentVolumeClaimVolumeSource(claim_name="claim")
THEN = "they are tried again without an end; its containers are started after that"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param((), PassWait("its directory is being made", THEN), id="no answer"),
        pytest.param((VolumesPrepared(FrozenMap()),), CONTINUE, id="there"),
        pytest.param(
            (VolumesPrepared(FrozenMap(), "disk full"),),
            PassWait("disk full", THEN, "FailedMount", VOLUME_ASK_AGAIN_NS, long=True),
            id="not to be made as things are",
        ),
        pytest.param(
            (VolumesPrepared(FrozenMap(), "disk full"), VolumesPrepared(FrozenMap())), CONTINUE, id="made in the end"
        ),
    ],
)
# (spec 2.7.6)
def test_a_pod_waits_for_its_volumes(answers: tuple[Message, ...], expected: Outcome):
    bench = Bench(PrepareVolumes)
    this = bench.passing(pod("app"))
    bench.take(bench.parts.volumes.step, this)
    bench.tell(*answers)
    assert bench.take(bench.parts.volumes.step, this) == expected
    assert len(bench.asked) == 1


@pytest.mark.parametrize(
    ("volume", "waited_ns", "expected"),
    [
        (Volume(name="data", empty_dir=EmptyDirVolumeSource()), 10 * MOMENT_NS, False),
        (Volume(name="data", config_map=ConfigMapVolumeSource(name="settings")), 10 * MOMENT_NS, False),
        (Volume(name="data", nfs=NFSVolumeSource(server="s", path="/")), MOMENT_NS - 1, False),
        (Volume(name="data", nfs=NFSVolumeSource(server="s", path="/")), MOMENT_NS, True),
        (Volume(name="data", csi=CSIVolumeSource(driver="d")), MOMENT_NS, True),
        (Volume(name="data", persistent_volume_claim=CLAIM), MOMENT_NS, True),
        (Volume(name="unused", persistent_volume_claim=CLAIM), MOMENT_NS, False),
    ],
)
def test_only_a_volume_that_others_make_may_take_long(volume: Volume, waited_ns: int, expected: bool):
    mounts = (VolumeMount(name="data", mount_path="/data"),)
    assert wait_for_answer(pod(container("app", volume_mounts=mounts), volumes=(volume,)), waited_ns).long is expected


def test_a_pass_looks_after_a_moment_whether_others_have_made_the_volume():
    volume = Volume(name="data", nfs=NFSVolumeSource(server="s", path="/"))
    mounts = (VolumeMount(name="data", mount_path="/data"),)
    bench = Bench(PrepareVolumes)
    this = bench.passing(pod(container("app", volume_mounts=mounts), volumes=(volume,)))
    before = bench.take(bench.parts.volumes.step, this)
    bench.dispatcher.run_for(MOMENT_NS)
    after = bench.take(bench.parts.volumes.step, this)
    assert [may_take_long(before), may_take_long(after)] == [False, True]
