"""Devices in plays: wrong agents are found out, and names that no node has are refused."""

from __future__ import annotations

import pytest
from msgspec import structs

import actors.resources.devices.choosing as choosing
from actors.model.devices import DeviceBook
from actors.resources.claims import book
from actors.resources.claims.life import ClaimLife, ClaimStage, Event, PreparedBy, advance
from simulation.play.devices import GIVEN_ONCE
from simulation.play.play import HOUR_NS, Play
from simulation.scenarios.scenario import ScenarioError, read_scenario

SMALL = """
about: devices
node:
  devices: [{resource: vendor.example/gpu, count: 4}]
  draDrivers: [{driver: gpu.vendor.example, count: 2}]
pods:
  - {name: plugged, count: 2, arrives: [0s, 1s], lives: [20s, 30s], devices: {vendor.example/gpu: 2}}
  - {name: claimed, count: 2, arrives: [0s, 1s], lives: [5s, 6s], hopeless: true, claims: {gpu.vendor.example: 1}}
faults: [{fault: dra-drivers, times: 4, lasts: [4s, 10s], what: [slow]}]
lasts: 40s
convergesWithin: 3m
"""


def broken(seed: int = 1, text: str = SMALL) -> set[str]:
    """The invariants that a play breaks."""
    play = Play(read_scenario(text.encode()), seed)
    while not play.done:
        play.advance(HOUR_NS)
    return {each["invariant"] for each in play.outcome().violations}


def test_a_node_with_devices_keeps_all_rules() -> None:
    assert broken() == set()


def test_an_agent_that_gives_a_device_twice_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody_has_one(devices: DeviceBook, resource: str) -> frozenset[str]:
        return frozenset()

    monkeypatch.setattr(choosing, "held_ids", nobody_has_one)
    assert GIVEN_ONCE in broken()


def test_a_claim_that_is_forgotten_while_it_is_prepared_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """kubernetes/kubernetes#140527: the pod goes while its claim is being prepared."""

    def forgotten(life: ClaimLife, event: Event) -> ClaimLife:
        after = advance(life, event)
        return (
            structs.replace(after, stage=ClaimStage.GONE) if isinstance(event, PreparedBy) and not after.pods else after
        )

    monkeypatch.setattr(book, "advance", forgotten)
    assert any("prepared-in-vain" in broken(seed) for seed in range(1, 9))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (
            ("plugged, count: 2", "plugged, count: 2, claims: {nic.vendor.example: 1}"),
            "$.pods[0].claims.nic.vendor.example: no",
        ),
        (
            ("vendor.example/gpu: 2", "vendor.example/gpus: 2"),
            "$.pods[0].devices.vendor.example/gpus: no node has a plugin of",
        ),
        (("resource: vendor.example/gpu", "resource: gpu"), "$.node.devices[0].resource: the ResourceName"),
        (("driver: gpu.vendor.example", "driver: GPU"), "$.node.draDrivers[0].driver: 'GPU' is no name of a driver"),
        (("what: [slow]", "what: []"), "$.faults[0].what: nothing goes wrong"),
        (("what: [slow]", "driver: other"), "$.faults[0].driver: no node has the driver 'other'"),
    ],
)
def test_devices_that_no_node_has_are_refused(change: tuple[str, str], error: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read_scenario(SMALL.replace(*change).encode())
    assert any(error in each for each in refused.value.faults), refused.value.faults
