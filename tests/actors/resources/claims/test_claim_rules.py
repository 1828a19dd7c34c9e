"""Which claims a pod needs and may use, what its containers get, and the book in a file."""

from __future__ import annotations

from typing import Any

import pytest

from actors.model.resource_claims import ClaimedDevices, DeviceKey, ReadyClaim
from actors.pod_status.claim_health import health_statuses
from actors.resources.claims.allowed import AllocatedClaim, may_use
from actors.resources.claims.life import ClaimLife, ClaimStage
from actors.resources.claims.written import read_claims, written_claims
from actors.start.claims import cdi_names
from config.documents.codec import from_builtins
from config.frozen_map import FrozenMap
from config.objects import Pod, ResourceClaim
from config.pods.resource_claims import NeededClaim, PodWithClaims, needed_claims
from runtime.dra.capability import ClaimDevice, ClaimRef, DeviceHealth, Health

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "p", "controller": True}


def pod(*claims: dict[str, Any], containers: Any = (), status: dict[str, Any] | None = None) -> Pod:
    spec = {"containers": list(containers) or [{"name": "main"}], "resourceClaims": list(claims)}
    metadata = {"name": "web", "namespace": "default", "uid": "p"}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status or {}}
    return from_builtins(document, Pod)


def claim(name: str = "gpu", *, user: str = "p", drivers: tuple[str, ...] | None = ("one",), **more: Any) -> Any:
    results = [{"request": "r", "driver": each, "pool": "p", "device": "d"} for each in drivers or ()]
    status: dict[str, Any] = {"reservedFor": [{"resource": "pods", "name": "web", "uid": user}]}
    if drivers is not None:
        status["allocation"] = {"devices": {"results": results}}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", **more}
    document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "status": status}
    return from_builtins(document, ResourceClaim)


BY_NAME = {"name": "a", "resourceClaimName": "gpu"}
BY_TEMPLATE = {"name": "b", "resourceClaimTemplateName": "gpus"}
MADE = {"resourceClaimStatuses": [{"name": "b", "resourceClaimName": "web-b-x"}]}
EXTENDED = {
    "extendedResourceClaimStatus": {
        "resourceClaimName": "web-extended",
        "requestMappings": [{"containerName": "main", "resourceName": "vendor/gpu", "requestName": "container-0"}],
    }
}


@pytest.mark.parametrize(
    ("the_pod", "needed", "wait"),
    [
        (pod(), (), ""),
        (pod(BY_NAME), (NeededClaim("gpu", own=False),), ""),
        (pod(BY_TEMPLATE), (), 'no claim has been made for "b" from its template yet'),
        (pod(BY_TEMPLATE, status=MADE), (NeededClaim("web-b-x", own=True),), ""),
        (pod(BY_TEMPLATE, status={"resourceClaimStatuses": [{"name": "b"}]}), (), ""),
        (pod(status=EXTENDED), (NeededClaim("web-extended", own=True),), ""),
        (pod(BY_NAME, {**BY_NAME, "name": "c"}), (NeededClaim("gpu", own=False),), ""),
    ],
)
# (spec 10.12.1)
def test_the_claims_of_a_pod(the_pod: Pod, needed: tuple[NeededClaim, ...], wait: str) -> None:
    assert needed_claims(the_pod) == (needed, wait)


SHARED, OWN = NeededClaim("gpu", own=False), NeededClaim("gpu", own=True)
REF = ClaimRef("default", "gpu", "uid-gpu")


@pytest.mark.parametrize(
    ("needed", "found", "expected"),
    [
        (SHARED, claim(drivers=("two", "one", "two")), AllocatedClaim(REF, ("one", "two"))),
        (SHARED, claim(drivers=()), AllocatedClaim(REF, ())),
        (OWN, claim(ownerReferences=[OWNER]), AllocatedClaim(REF, ("one",))),
        (OWN, claim(), "not created for this pod"),
        (OWN, claim(ownerReferences=[{**OWNER, "uid": "q"}]), "not created for this pod"),
        (SHARED, claim(user="q"), "pod web (p) is not allowed to use ResourceClaim gpu (uid-gpu)"),
        (SHARED, claim(drivers=None), "ResourceClaim gpu: not allocated"),
        (SHARED, claim(drivers=tuple(f"d{n}" for n in range(33))), "it has 33 drivers, 32 is the most"),
    ],
)
# (spec 10.12.1)
def test_who_may_use_a_claim(needed: NeededClaim, found: ResourceClaim, expected: AllocatedClaim | str) -> None:
    answer = may_use(PodWithClaims("p", "default", "web", (needed,)), needed, found)
    assert expected in answer if isinstance(expected, str) and isinstance(answer, str) else answer == expected


DEVICES = FrozenMap(
    {
        "one": (ClaimDevice("pool", "0", ("r",), ("one/gpu=0",)), ClaimDevice("pool", "1", ("s",), ("one/gpu=1",))),
        "two": (ClaimDevice("pool", "2", (), ("two/nic=2", "two/nic=all")), ClaimDevice("pool", "3", ("r",))),
    }
)
READY = FrozenMap({"gpu": ReadyClaim(REF, DEVICES)})


@pytest.mark.parametrize(
    ("claims", "names"),
    [
        ([], ()),
        ([{"name": "a"}], ("one/gpu=0", "one/gpu=1", "two/nic=2", "two/nic=all")),
        ([{"name": "a", "request": "r"}], ("one/gpu=0", "two/nic=2", "two/nic=all")),
        (
            [{"name": "a", "request": "s"}, {"name": "a", "request": "r"}],
            ("one/gpu=1", "two/nic=2", "two/nic=all", "one/gpu=0"),
        ),
        ([{"name": "none"}], ()),
    ],
)
# (spec 10.12.1)
def test_a_container_gets_the_devices_of_its_requests(claims: list[Any], names: tuple[str, ...]) -> None:
    the_pod = pod(BY_NAME, containers=[{"name": "main", "resources": {"claims": claims}}])
    assert cdi_names(the_pod, the_pod.spec.containers[0], READY) == names


def test_a_container_gets_what_stands_for_its_extended_resources() -> None:
    the_pod = pod(containers=[{"name": "main"}, {"name": "other"}], status=EXTENDED)
    ready = FrozenMap(
        {
            "web-extended": ReadyClaim(
                REF, FrozenMap({"one": (ClaimDevice("p", "0", ("container-0",), ("one/gpu=0",)),)})
            )
        }
    )
    assert [cdi_names(the_pod, each, ready) for each in the_pod.spec.containers] == [("one/gpu=0",), ()]


# (spec 10.12.4)
def test_the_health_of_devices_is_told_by_claim_and_request() -> None:
    the_pod = pod(BY_NAME, containers=[{"name": "main", "resources": {"claims": [{"name": "a", "request": "r/sub"}]}}])

    sick = DeviceHealth("pool", "0", Health.UNHEALTHY, message="too hot")
    claimed = ClaimedDevices(READY, FrozenMap({DeviceKey("one", "pool", "0"): sick}))
    (status,) = health_statuses(the_pod, the_pod.spec.containers[0], claimed, messages=True)
    assert status.name == "claim:a/r/sub"
    assert [(each.resource_id, each.health, each.message) for each in status.resources] == [
        ("one/gpu=0", "Unhealthy", "too hot"),
        ("two/nic=2", "Unknown", None),
        ("two/pool/3", "Unknown", None),
    ]
    (quiet,) = health_statuses(the_pod, the_pod.spec.containers[0], claimed, messages=False)
    assert quiet.resources[0].message is None


LIFE = ClaimLife(REF, ("one", "two"), frozenset({"p", "q"}), ClaimStage.PREPARED, DEVICES, touched=True)


def test_a_book_that_is_written_is_read_again() -> None:
    ending = ClaimLife(ClaimRef("default", "x", "uid-x"), ("one",), stage=ClaimStage.ENDING, touched=True)
    first, second = read_claims(written_claims([ending, LIFE]))
    assert (first.ref, first.drivers, first.pods, first.devices) == (REF, LIFE.drivers, LIFE.pods, DEVICES)
    assert (first.stage, first.touched) == (ClaimStage.WANTED, True)
    assert second == ending


KUBELET = (
    rb'{"Data":"{\"kind\":\"DRACheckpoint\",\"apiVersion\":\"checkpoint.dra.kubelet.k8s.io/v1\",'
    rb"\"ClaimInfoStateList\":[{\"ClaimUID\":\"uid-gpu\",\"ClaimName\":\"gpu\",\"Namespace\":\"default\","
    rb"\"PodUIDs\":{\"p\":{}},\"DriverState\":{\"one\":{\"Devices\":[{\"PoolName\":\"pool\",\"DeviceName\":\"0\","
    rb'\"ShareID\":null,\"RequestNames\":[\"r\"],\"CDIDeviceIDs\":[\"one/gpu=0\"]}]}}}]}","Checksum":%d}'
)
"""As a kubelet 1.36 writes it."""


# (spec 10.12.2)
def test_the_file_of_a_kubelet_is_read_and_written_byte_for_byte() -> None:
    import json
    import zlib

    content = KUBELET.replace(b"%d", b"0")
    data = json.loads(content)["Data"]
    content = KUBELET.replace(b"%d", str(zlib.crc32(data.encode())).encode())
    (life,) = read_claims(content)
    assert life.devices == FrozenMap({"one": (ClaimDevice("pool", "0", ("r",), ("one/gpu=0",)),)})
    assert written_claims([life]) == content


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"Data":"{}","Checksum":7}', b'{"Data":"[","Checksum":1}', b"[" * 9999]
)
def test_a_file_that_is_of_no_use_is_an_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"corrupted|cannot be read"):
        read_claims(content)
