"""Which devices claims get, by table."""

from __future__ import annotations

import re
from typing import Any

import pytest

from simulation.allocation.offered import OfNode, pools_of
from simulation.allocation.results import allocation, in_use
from simulation.allocation.search import InUse, allocate
from simulation.allocation.selectors import NO_CEL, Selectors
from simulation.allocation.wanted import UnmetError, wanted
from simulation.validations.program import the_program

DRIVER = "gpu.example.com"
NODE = OfNode("n1", {"zone": "a"})
GI = {"value": "40Gi"}
needs_cel = pytest.mark.skipif(the_program() is None, reason="actorlet[cel] is not installed")


def a_slice(*devices: dict[str, Any], name: str = "s", pool: str = "p", driver: str = DRIVER, **spec: Any) -> Any:
    about = {"name": pool, "generation": spec.pop("generation", 1), "resourceSliceCount": spec.pop("slices", 1)}
    where = (
        spec
        if {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"} & spec.keys()
        else spec | {"nodeName": "n1"}
    )
    return {"metadata": {"name": name}, "spec": {"driver": driver, "pool": about, "devices": devices, **where}}


def gpu(number: int, model: str = "a100", **more: Any) -> dict[str, Any]:
    attributes = {"model": {"string": model}, "size": {"int": number}}
    return {"name": f"gpu-{number}", "attributes": attributes, "capacity": {"memory": GI}, **more}


def exactly(name: str = "r", **more: Any) -> dict[str, Any]:
    return {"name": name, "exactly": {"deviceClassName": "any", **more}}


def cel(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


CLASSES: dict[str, Any] = {
    "any": {"metadata": {"name": "any"}, "spec": {}},
    "gpus": {"metadata": {"name": "gpus"}, "spec": cel(f'device.driver == "{DRIVER}"')},
    "wrong": {"metadata": {"name": "wrong"}, "spec": cel("device.attributes['x'].y == 1")},
}


def given(
    slices: Any, *specs: dict[str, Any], used: InUse | None = None, constraints: Any = (), node: OfNode = NODE
) -> list[str] | None:
    """REQUEST=DEVICE of each, for claims of these requests."""
    claims = [
        wanted(f"default/c{number}", {"devices": {"requests": [spec], "constraints": constraints}}, CLASSES)
        if "name" in spec
        else wanted(f"default/c{number}", {"devices": spec}, CLASSES)
        for number, spec in enumerate(specs)
    ]
    found = allocate(claims, pools_of(slices, node), used or InUse(), Selectors(the_program()))
    return None if found is None else [f"{each.request.name}={each.device.id.device}" for each in found]


def claims(*requests: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"requests": list(requests), **more}


TWO = [a_slice(gpu(0), gpu(1))]
FOUR = [a_slice(gpu(0), gpu(1, "h100"), gpu(2, "h100"), gpu(3))]
MODEL = f"{DRIVER}/model"


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (exactly(), ["r=gpu-0"]),
        (exactly(count=2), ["r=gpu-0", "r=gpu-1"]),
        (exactly(count=3), None),
        (exactly(allocationMode="All"), ["r=gpu-0", "r=gpu-1"]),
        (
            {
                "name": "r",
                "firstAvailable": [
                    {"name": "a", "deviceClassName": "any", "count": 3},
                    {"name": "b", "deviceClassName": "any"},
                ],
            },
            ["r/b=gpu-0"],
        ),
    ],
)
def test_counts_and_alternatives(request_: Any, expected: Any) -> None:
    assert given(TWO, request_) == expected


def test_devices_in_use_are_given_to_nobody_but_an_admin() -> None:
    result = {"driver": DRIVER, "pool": "p", "device": "gpu-0", "request": "r"}
    used = in_use([{"status": {"allocation": {"devices": {"results": [result]}}}}])
    assert given(TWO, exactly(), used=used) == ["r=gpu-1"]
    assert given(TWO, exactly(allocationMode="All"), used=used) is None
    assert given(TWO, exactly(allocationMode="All", adminAccess=True), used=used) == ["r=gpu-0", "r=gpu-1"]
    assert given(TWO, exactly(count=2), exactly()) is None, "two claims of one pod"
    assert in_use([{"status": {"allocation": {"devices": {"results": [result | {"adminAccess": True}]}}}}]) == InUse(
        set(), {}
    )


@needs_cel
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('device.attributes["gpu.example.com"].model == "h100"', ["r=gpu-1"]),
        ('device.attributes["gpu.example.com"].size > 2', ["r=gpu-3"]),
        ('device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("80Gi"))', None),
        ('device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) == 0', ["r=gpu-0"]),
        ('"model" in device.attributes["other.example.com"]', None),
        ('device.driver == "other"', None),
    ],
)
def test_selectors(expression: str, expected: Any) -> None:
    assert given(FOUR, exactly(**cel(expression))) == expected


@needs_cel
def test_a_version_is_compared_by_its_parts() -> None:
    one = {"name": "d", "attributes": {"driverVersion": {"version": "1.10.0"}}}
    newer = 'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.9.3"))'
    assert given([a_slice(one)], exactly(**cel(newer))) == ["r=d"]


@needs_cel
@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (exactly(**cel('device.attributes["x.y"].z == 1')), "claim default/c0, request r: selector #0: no such key: z"),
        (exactly(deviceClassName="wrong"), "class wrong: selector #0: no such key: y"),
        (
            exactly(**cel("device.driver")),
            "claim default/c0, request r: selector #0: the expression must evaluate to a bool",
        ),
        (exactly(deviceClassName="none"), "request r: device class none does not exist"),
        (
            exactly(count=33),
            "claim default/c0: number of requested devices at least 33 exceeds the claim limit of 32 devices",
        ),
    ],
)
def test_what_no_node_can_meet(request_: Any, why: str) -> None:
    with pytest.raises(UnmetError) as told:
        given(TWO, request_)
    assert str(told.value) == why


def test_without_the_library_only_the_driver_can_be_asked_for() -> None:
    pools = pools_of([*TWO, a_slice({"name": "nic"}, name="t", driver="nic.example.com")], NODE)

    def found(**more: Any) -> Any:
        claim = wanted("default/c", {"devices": claims(exactly(**more))}, CLASSES)
        return allocate([claim], pools, InUse(), Selectors(None))

    assert [each.device.id.driver for each in found(deviceClassName="gpus", allocationMode="All")] == [DRIVER] * 2
    with pytest.raises(UnmetError, match=re.escape(NO_CEL)):
        found(**cel('device.attributes["a"].b == "c"'))


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ({"matchAttribute": MODEL}, ["r=gpu-0", "r=gpu-3"]),
        ({"distinctAttribute": MODEL}, ["r=gpu-0", "r=gpu-1"]),
        ({"matchAttribute": MODEL, "requests": ["other"]}, ["r=gpu-0", "r=gpu-1"]),
        ({"matchAttribute": f"{DRIVER}/none"}, None),
    ],
)
def test_constraints(constraint: Any, expected: Any) -> None:
    assert given(FOUR, exactly(count=2), constraints=[constraint]) == expected


def test_an_earlier_request_takes_another_device_when_a_later_one_needs_it() -> None:
    both = claims(exactly("a"), exactly("b", count=2), constraints=[{"matchAttribute": MODEL, "requests": ["a", "b"]}])
    assert given([a_slice(gpu(0), gpu(1, "h100"), gpu(2, "h100"), gpu(3, "h100"))], both) == [
        "a=gpu-1",
        "b=gpu-2",
        "b=gpu-3",
    ]


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (None, ["r=gpu-1"]),
        ({"key": "bad", "operator": "Exists"}, ["r=gpu-0"]),
        ({"key": "bad", "value": "no", "operator": "Equal"}, ["r=gpu-1"]),
    ],
)
def test_taints_of_devices(toleration: Any, expected: Any) -> None:
    taints = [{"key": "bad", "value": "yes", "effect": "NoSchedule"}]
    asks = exactly(tolerations=[toleration]) if toleration else exactly()
    assert given([a_slice(gpu(0, taints=taints), gpu(1, taints=[{"key": "x", "effect": "None"}]))], asks) == expected


ZONE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}


@pytest.mark.parametrize(
    ("where", "reaches"),
    [
        ({"nodeName": "n1"}, True),
        ({"nodeName": "n2"}, False),
        ({"allNodes": True}, True),
        ({"nodeSelector": ZONE}, True),
        (
            {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gone", "operator": "Exists"}]}]}},
            False,
        ),
    ],
)
def test_which_node_reaches_a_device(where: Any, reaches: bool) -> None:
    assert bool(given([a_slice(gpu(0), **where)], exactly())) is reaches
    per_device = a_slice(gpu(0, **where), perDeviceNodeSelection=True)
    assert bool(given([per_device], exactly())) is reaches


def test_only_whole_pools_of_the_newest_generation_count() -> None:
    old = a_slice(gpu(0), generation=1)
    half = a_slice(gpu(1), name="t", generation=2, slices=2)
    assert given([old, half], exactly()) is None
    with pytest.raises(UnmetError, match=r"asks for all devices, but resource pool .* is currently being updated"):
        given([half], exactly(allocationMode="All"))
    assert given([old, half, a_slice(gpu(2), name="u", generation=2, slices=2)], exactly(count=2)) == [
        "r=gpu-1",
        "r=gpu-2",
    ]
    with pytest.raises(UnmetError, match=r"pool .* is invalid: duplicate device name gpu-0"):
        given([a_slice(gpu(0), gpu(0))], exactly())


def shared(**policy: Any) -> Any:
    memory = {"memory": {"value": "40Gi", **({"requestPolicy": policy} if policy else {})}}
    return [a_slice({"name": "big", "allowMultipleAllocations": True, "capacity": memory})]


def asks(amount: str) -> dict[str, Any]:
    return exactly(capacity={"requests": {"memory": amount}})


@pytest.mark.parametrize(
    ("slices", "amounts", "fits"),
    [
        (shared(), ("20Gi", "20Gi"), True),
        (shared(), ("20Gi", "21Gi"), False),
        (shared(validValues=["15Gi", "30Gi"]), ("10Gi", "20Gi"), False),
        (shared(validValues=["15Gi", "20Gi"]), ("10Gi", "16Gi"), True),
        (shared(validRange={"min": "10Gi", "step": "4Gi"}), ("1Gi", "26Gi"), True),
        (shared(validRange={"min": "10Gi", "step": "4Gi"}), ("1Gi", "31Gi"), False),
        (shared(validRange={"min": "10Gi", "max": "30Gi"}), ("31Gi",), False),
        ([a_slice(gpu(0))], ("20Gi",), True),
        ([a_slice(gpu(0))], ("20Gi", "1Gi"), False),
        ([a_slice(gpu(0))], ("41Gi",), False),
    ],
)
def test_shares_of_a_device(slices: Any, amounts: tuple[str, ...], fits: bool) -> None:
    assert (given(slices, *map(asks, amounts)) is not None) is fits


def test_a_request_without_an_amount_takes_the_default_or_all() -> None:
    assert given(shared(), exactly(), exactly()) is None
    assert given(shared(default="20Gi"), exactly(), exactly()) == ["r=big", "r=big"]


def test_partitions_of_a_device_share_its_counters() -> None:
    def part(name: str, amount: str) -> dict[str, Any]:
        return {"name": name, "consumesCounters": [{"counterSet": "whole", "counters": {"memory": {"value": amount}}}]}

    counters = a_slice(name="t", slices=2) | {}
    counters["spec"]["sharedCounters"] = [{"name": "whole", "counters": {"memory": GI}}]
    slices = [a_slice(part("all", "40Gi"), part("half-0", "20Gi"), part("half-1", "20Gi"), slices=2), counters]
    assert given(slices, exactly(count=2)) == ["r=half-0", "r=half-1"]
    assert given(slices, exactly(count=3)) is None
    result = {"driver": DRIVER, "pool": "p", "device": "half-0", "request": "r"}
    used = in_use([{"status": {"allocation": {"devices": {"results": [result]}}}}])
    assert given(slices, exactly(), used=used) == ["r=half-1"]


def test_what_is_written_into_the_claim() -> None:
    toleration = {"key": "bad", "operator": "Exists"}
    spec = {
        "devices": {
            "requests": [exactly(tolerations=[toleration]), exactly("whole", deviceClassName="set")],
            "config": [{"opaque": {"driver": DRIVER}}, {"requests": ["other"], "opaque": {"driver": DRIVER}}],
        }
    }
    classes = {**CLASSES, "set": {"spec": {"config": [{"opaque": {"driver": "of-class"}}]}}}
    found = allocate([wanted("default/c", spec, classes)], pools_of(TWO, NODE), InUse(), Selectors(None))
    assert found is not None
    result = {"driver": DRIVER, "pool": "p"}
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    assert allocation(found, spec, classes, "n1", lambda: "uid") == {
        "devices": {
            "results": [
                {"request": "r", **result, "device": "gpu-0", "tolerations": [toleration]},
                {"request": "whole", **result, "device": "gpu-1"},
            ],
            "config": [
                {"source": "FromClass", "requests": ["whole"], "opaque": {"driver": "of-class"}},
                {"source": "FromClaim", "opaque": {"driver": DRIVER}},
            ],
        },
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def test_a_search_without_an_end_is_given_up() -> None:
    many = [a_slice(*(gpu(number, model=f"m{number % 2}") for number in range(40)))]
    same = [{"matchAttribute": MODEL}]
    with pytest.raises(UnmetError, match="timed out trying to allocate devices"):
        given(many, claims(exactly("a", count=10), exactly("b", count=11), constraints=same))
