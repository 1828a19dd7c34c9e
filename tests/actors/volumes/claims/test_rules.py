"""Claims: what each refusal is for, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from actors.volumes.claims.growth import growth_patch
from actors.volumes.claims.rules import (
    claim_name,
    claim_refusal,
    groups_of,
    mode_refusal,
    options_refusal,
    persistent_source_of,
    place_refusal,
    spec_of,
    volume_refusal,
    wanted_growth,
)
from config.documents.codec import from_builtins
from config.objects import PersistentVolume, PersistentVolumeClaim, Pod, Volume
from runtime.volumes.csi_material import Expansion

CSI = {"driver": "d", "volumeHandle": "h"}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "pod-uid", "controller": True}
BY_NAME = from_builtins({"name": "data", "persistentVolumeClaim": {"claimName": "claim"}}, Volume)
OWN = from_builtins({"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}, Volume)


def pod(*mounts: str, devices: tuple[str, ...] = ()) -> Pod:
    container = {
        "name": "c",
        "volumeMounts": [{"name": name, "mountPath": f"/{name}"} for name in mounts],
        "volumeDevices": [{"name": name, "devicePath": f"/dev/{name}"} for name in devices],
    }
    meta = {"name": "web", "namespace": "ns", "uid": "pod-uid"}
    return from_builtins({"metadata": meta, "spec": {"containers": [container]}}, Pod)


def claim(
    phase: str = "Bound",
    volume: str = "pv",
    *,
    storage: str | None = None,
    status: dict[str, Any] | None = None,
    **meta: Any,
) -> Any:
    document = {
        "metadata": {"name": "claim", "namespace": "ns", "uid": "claim-uid", "resourceVersion": "7", **meta},
        "spec": {"volumeName": volume, **({"storageClassName": storage} if storage else {})},
        "status": {"phase": phase, **(status or {})},
    }
    return from_builtins(document, PersistentVolumeClaim)


def volume(annotations: dict[str, str] | None = None, **spec: Any) -> PersistentVolume:
    held = {"namespace": "ns", "name": "claim", "uid": "claim-uid"}
    document = {"metadata": {"name": "pv", "annotations": annotations or {}}, "spec": {"claimRef": held, **spec}}
    return from_builtins(document, PersistentVolume)


# (spec 8.3.3)
def test_an_ephemeral_claim_is_called_after_pod_and_volume():
    assert (claim_name(pod(), BY_NAME), claim_name(pod(), OWN)) == ("claim", "web-data")


@pytest.mark.parametrize(
    ("asked", "found", "text"),
    [
        (BY_NAME, claim(), ""),
        (
            BY_NAME,
            claim("Pending"),
            "PVC ns/claim is not bound: it waits for the PersistentVolume pv, which it names",
        ),
        (
            BY_NAME,
            claim(volume=""),
            "PVC ns/claim is not bound: it names no StorageClass, so it waits for a PersistentVolume that fits",
        ),
        (
            BY_NAME,
            claim("Pending", volume="", storage="fast"),
            "PVC ns/claim is not bound: it waits for a volume of the StorageClass fast",
        ),
        (BY_NAME, claim("Lost"), "PVC ns/claim is not bound: its PersistentVolume pv is gone"),
        (BY_NAME, claim(deletionTimestamp="2026-01-01T00:00:00Z"), "PVC ns/claim is being deleted"),
        (
            BY_NAME,
            claim(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["kubernetes.io/pvc-protection"]),
            "",
        ),
        (OWN, claim(ownerReferences=[OWNER]), ""),
        (OWN, claim(), "PVC ns/claim was not created for pod web (pod is not owner)"),
        (OWN, claim(ownerReferences=[{**OWNER, "uid": "other"}]), "PVC ns/claim was not created for pod web"),
        (OWN, claim(ownerReferences=[{**OWNER, "controller": False}]), "PVC ns/claim was not created for pod web"),
    ],
)
# (spec 8.3.2)
def test_an_unusable_claim_is_refused_with_a_reason(asked: Volume, found: PersistentVolumeClaim, text: str):
    refusal = claim_refusal(pod(), asked, found)
    assert refusal.startswith(text)
    assert bool(refusal) is bool(text)


@pytest.mark.parametrize(
    ("holder", "text"),
    [
        ({"uid": "claim-uid"}, ""),
        ({"uid": "other"}, "its claimRef has the UID other, PVC ns/claim has claim-uid"),
        (None, "claimRef is empty"),
    ],
)
# (spec 8.3.2)
def test_a_volume_must_be_the_claims(holder: dict[str, str] | None, text: str):
    refusal = volume_refusal(claim(), volume(claimRef=holder))
    assert text in refusal
    assert bool(refusal) is bool(text)


@pytest.mark.parametrize(
    ("user", "block", "text"),
    [
        (pod("data"), False, ""),
        (pod("data"), True, "volume data has volumeMode Block, but is specified in volumeMounts"),
        (pod(devices=("data",)), True, ""),
        (pod(devices=("data",)), False, "volume data has volumeMode Filesystem, but is specified in volumeDevices"),
    ],
)
# (spec 8.3.4)
def test_devices_are_no_mounts(user: Pod, block: bool, text: str):
    assert mode_refusal(user, BY_NAME, block=block) == text


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}], True),
        ([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}], False),
        (
            [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
            ],
            True,
        ),
        ([], False),
    ],
)
# (spec 8.4.6)
def test_where_a_volume_can_be_had(terms: list[Any], fits: bool):
    refusal = place_refusal(volume(nodeAffinity={"required": {"nodeSelectorTerms": terms}}), "n1", {"zone": "a"})
    assert refusal == ("" if fits else "PV pv cannot be used on node n1: no matching NodeSelectorTerms")


# (spec 8.4.6)
def test_a_volume_that_asks_for_no_place_can_be_had_everywhere():
    assert place_refusal(volume(), "n1", {}) == ""


@pytest.mark.parametrize(
    ("source", "refused"),
    [({"csi": CSI}, False), ({"nfs": {"server": "s", "path": "/"}}, False), ({"hostPath": {"path": "/x"}}, True)],
)
def test_options_for_mounting_need_something_that_is_mounted(source: dict[str, Any], refused: bool):
    persistent = volume(mountOptions=["noatime"], **source)
    assert bool(options_refusal(persistent, persistent_source_of(persistent))) is refused


def test_a_bound_claim_becomes_a_volume_spec():
    persistent = volume(
        csi={**CSI, "readOnly": True},
        volumeMode="Block",
        accessModes=["ReadWriteOncePod"],
        mountOptions=["noatime"],
    )
    spec = spec_of(BY_NAME, "spec.volumes[0]", claim(), persistent)
    assert (spec.name, spec.source, spec.block, spec.read_only) == ("pv", "csi", True, True)
    assert (spec.access_modes, spec.mount_options) == (("ReadWriteOncePod",), ("noatime",))


# (spec 8.2.2)
def test_the_disk_of_a_cloud_is_its_drivers():
    persistent = volume(gcePersistentDisk={"pdName": "disk"})
    assert spec_of(BY_NAME, "", claim(), persistent).source == "csi"
    assert persistent_source_of(volume(cephfs={"monitors": ["m"]})) == ""


@pytest.mark.parametrize(("text", "groups"), [("4711", (4711,)), ("", ()), ("-1", ()), ("many", ())])
# (spec 8.3.7)
def test_the_group_of_a_volume(text: str, groups: tuple[int, ...]):
    persistent = volume({"pv.beta.kubernetes.io/gid": text}, csi=CSI)
    assert groups_of([spec_of(BY_NAME, "", claim(), persistent)]) == groups


@pytest.mark.parametrize(
    ("has", "wanted", "state", "grows"),
    [
        ("1Gi", "2Gi", "", 2 * 2**30),
        ("2Gi", "2Gi", "", 0),
        ("3Gi", "2Gi", "", 0),
        ("", "2Gi", "", 0),
        ("1Gi", "2Gi", "NodeResizePending", 2 * 2**30),
        ("1Gi", "2Gi", "NodeResizeInfeasible", 0),
    ],
)
def test_when_a_file_system_is_to_grow(has: str, wanted: str, state: str, grows: int):
    status = {"capacity": {"storage": has} if has else {}}
    status["allocatedResourceStatuses"] = {"storage": state} if state else {}
    assert wanted_growth(claim(status=status), volume(capacity={"storage": wanted})) == grows


def test_a_grown_claim_gets_its_capacity_written():
    pending = {"type": "FileSystemResizePending", "status": "True"}
    other = {"type": "ModifyVolumeError", "status": "True"}
    status = {
        "capacity": {"storage": "1Gi"},
        "allocatedResourceStatuses": {"storage": "NodeResizePending"},
        "conditions": [pending, other],
    }
    patch = growth_patch(claim(status=status), "2Gi", Expansion(size_bytes=2 * 2**30))
    assert patch is not None
    assert patch["metadata"] == {"uid": "claim-uid", "resourceVersion": "7"}
    assert patch["status"]["capacity"] == {"storage": "2Gi"}
    assert patch["status"]["allocatedResourceStatuses"] == {"storage": None}
    assert [each["type"] for each in patch["status"]["conditions"]] == ["ModifyVolumeError"]


def test_a_claim_that_cannot_grow_is_marked_infeasible():
    found = claim(status={"capacity": {"storage": "1Gi"}})
    assert growth_patch(found, "2Gi", Expansion(error="busy")) is None
    patch = growth_patch(found, "2Gi", Expansion(error="too large", infeasible=True))
    assert patch is not None
    assert patch["status"] == {"allocatedResourceStatuses": {"storage": "NodeResizeInfeasible"}}
