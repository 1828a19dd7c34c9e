"""Disks of clouds as their drivers know them."""

from __future__ import annotations

from typing import Any

import pytest

from config.documents.codec import from_builtins
from config.objects import PersistentVolume, Volume
from config.pods.in_tree_volumes import MIGRATED_PLUGINS, driven_volume, is_in_tree, translated

ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("source", "labels", "driver", "handle"),
    [
        ({"gcePersistentDisk": {"pdName": "disk"}}, {}, "pd.csi.storage.gke.io", "zones/UNSPECIFIED/disks/disk"),
        (
            {"gcePersistentDisk": {"pdName": "disk"}},
            {ZONE: "a-b1-c"},
            "pd.csi.storage.gke.io",
            "zones/a-b1-c/disks/disk",
        ),
        (
            {"gcePersistentDisk": {"pdName": "disk"}},
            {ZONE: "a-b1-c__a-b1-d"},
            "pd.csi.storage.gke.io",
            "regions/a-b1/disks/disk",
        ),
        ({"awsElasticBlockStore": {"volumeID": "aws://eu-1a/vol-1"}}, {}, "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, {}, "ebs.csi.aws.com", "vol-1"),
        ({"cinder": {"volumeID": "id"}}, {}, "cinder.csi.openstack.org", "id"),
        ({"azureDisk": {"diskName": "d", "diskURI": "/uri"}}, {}, "disk.csi.azure.com", "/uri"),
        (
            {"azureFile": {"secretName": "azure-storage-account-acc-secret", "shareName": "s", "secretNamespace": "n"}},
            {},
            "file.csi.azure.com",
            "#acc#s#pv#n",
        ),
        ({"vsphereVolume": {"volumePath": "[ds] x.vmdk"}}, {}, "csi.vsphere.vmware.com", "[ds] x.vmdk"),
        ({"portworxVolume": {"volumeID": "id"}}, {}, "pxd.portworx.com", "id"),
    ],
)
# (spec 8.2.2)
def test_a_persistent_volume_gets_a_driver_and_a_handle(
    source: dict[str, Any], labels: dict[str, str], driver: str, handle: str
):
    old = from_builtins({"metadata": {"name": "pv", "labels": labels}, "spec": source}, PersistentVolume)
    new = translated(old).spec
    assert new.csi is not None
    assert new.csi.driver == driver
    assert new.csi.volume_handle.endswith(handle)
    assert translated(translated(old)) == translated(old)
    (kind,) = source
    inline = {name: value for name, value in source[kind].items() if name != "secretNamespace"}
    volume = from_builtins({"name": "v", kind: inline}, Volume)
    assert is_in_tree(volume)
    found = driven_volume(volume, "ns")
    assert found is not None
    assert found.spec.csi is not None
    assert found.spec.csi.driver == driver


def test_all_else_is_left_as_it_is():
    other = from_builtins({"metadata": {"name": "pv"}, "spec": {"nfs": {"server": "s", "path": "/"}}}, PersistentVolume)
    assert translated(other) is other
    volume = from_builtins({"name": "v", "emptyDir": {}}, Volume)
    assert not is_in_tree(volume)
    assert driven_volume(volume, "ns") is None


def test_the_kinds_that_are_left_to_drivers():
    assert "kubernetes.io/aws-ebs" in MIGRATED_PLUGINS
    assert len(MIGRATED_PLUGINS) == 7
