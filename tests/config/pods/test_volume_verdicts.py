"""The verdict on a pod whose volumes cannot be made, by the error of the agent."""

from __future__ import annotations

import re

import pytest

from config.pods.verdicts.verdict import Clues, verdicts_of
from tests.config.pods_made import pod, waiting

ERRORS = [
    (
        'MountVolume.SetUp failed for volume "c" : configmap "settings" not found',
        "MissingObject",
        "a volume refers to the ConfigMap settings, which does not exist",
        "create it in the namespace of the pod, or mark the reference optional",
    ),
    (
        'persistentvolumeclaim "data" not found',
        "MissingClaim",
        "a volume refers to the PersistentVolumeClaim data, which does not exist",
        "create it in the namespace of the pod",
    ),
    (
        'persistentvolume "pv-1" not found',
        "MissingObject",
        "a volume refers to the PersistentVolume pv-1, which does not exist",
        "create it",
    ),
    (
        "PVC ns/data is not bound: it waits for a volume of the StorageClass fast",
        "ClaimNotBound",
        "the PersistentVolumeClaim ns/data has no volume yet: it waits for a volume of the StorageClass fast",
        "make a PersistentVolume that fits",
    ),
    (
        "configmap references non-existent config key: mode",
        "MissingKey",
        "its volumes cannot be made: configmap references non-existent config key: mode",
        "add the key",
    ),
    ("PVC ns/data is being deleted", "ClaimDeleted", "its volumes cannot be made: PVC ns/data", "use another claim"),
    (
        "PVC ns/web-data was not created for pod web (pod is not owner)",
        "ClaimOfAnother",
        "its volumes cannot be made: PVC ns/web-data",
        "delete the claim",
    ),
    (
        "PV pv cannot be used on node n: no matching NodeSelectorTerms",
        "VolumeElsewhere",
        "its volumes cannot be made: PV pv",
        "let the pod run",
    ),
    (
        "volume data has volumeMode Block, but is specified in volumeMounts",
        "VolumeMode",
        "its volumes cannot be made: volume data",
        "use volumeMounts",
    ),
    (
        "hostPath type check failed: /data is not a directory",
        "HostPath",
        "its volumes cannot be made: hostPath",
        "make the path",
    ),
    (
        "driver name disk.example not found in the list of registered CSI drivers",
        "NoVolumeDriver",
        "its volumes cannot be made: driver name",
        "install the driver",
    ),
    ("mount.nfs: Connection timed out", "Volume", "its volumes cannot be made: mount.nfs", "mend what"),
]


@pytest.mark.parametrize(("error", "cause", "text", "advice"), ERRORS, ids=[each[1] for each in ERRORS])
def test_an_error_of_volumes_is_told_with_what_to_do(error: str, cause: str, text: str, advice: str):
    waits = pod(waiting("c0", "ContainerCreating", ""))
    (found,) = verdicts_of(waits, 0, Clues(volumes=error))
    assert (found.cause, str(found)[: len(text)], found.advice[: len(advice)]) == (cause, text, advice)


def test_a_name_in_an_error_forges_no_line():
    (found,) = verdicts_of(
        pod(waiting("c0", "ContainerCreating", "")), 0, Clues(volumes='configmap "a\n\x1b[1mb" not found')
    )
    assert re.search(r"[\n\x1b]", found.whole) is None
