"""What a pod says of its volumes (spec 8.7, 17.4)."""

from __future__ import annotations

import pytest

from config.objects import Volume
from runtime.volumes.capability import VolumeSpec
from runtime.volumes.pod_volumes import keeps_labels


@pytest.mark.parametrize(
    ("source", "read_only", "keeps"),
    [
        ("empty_dir", False, False),
        ("config_map", False, False),
        ("secret", False, False),
        ("downward_api", False, False),
        ("projected", False, False),
        ("local", False, False),
        ("local", True, True),
        ("csi", False, False),
        ("csi", True, True),
        ("iscsi", False, False),
        ("fc", True, True),
        ("host_path", False, True),
        ("nfs", False, True),
        ("persistent_volume_claim", False, True),
    ],
)
def test_files_that_are_not_the_pods_keep_their_selinux_labels(source: str, read_only: bool, keeps: bool) -> None:
    spec = VolumeSpec(name="data", volume=Volume(name="data"), source=source, read_only=read_only)
    assert keeps_labels(spec) is keeps
