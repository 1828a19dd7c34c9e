"""Devices of the nodes of a scenario: those of plugins, and those of drivers for claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta

from actors.devices.registrar import name_fault
from config.values.name_rules import dns_subdomain
from config.values.nearest import did_you_mean
from simulation.scenarios.words import ScenarioPart

DEVICES_AT_MOST = 512
ENTRY = "claimed-"
"""What the name of an entry in `resourceClaims` of a pod begins with."""
PluginTrouble = Literal["hang", "die", "sick", "other-ids", "lie"]
DriverTrouble = Literal["hang", "die", "fail", "slow"]


class PluginDevices(ScenarioPart, frozen=True):
    """A device plugin of each node."""

    resource: str
    count: Annotated[int, Meta(ge=1, le=DEVICES_AT_MOST)]
    numa_nodes: Annotated[int, Meta(ge=0, le=8)] = 0
    """Over how many NUMA nodes its devices are spread; 0: it does not say."""


class DriverDevices(ScenarioPart, frozen=True):
    """A driver for claims of each node."""

    driver: str
    count: Annotated[int, Meta(ge=1, le=DEVICES_AT_MOST)]


def faults_in_devices(plugins: Iterable[PluginDevices], drivers: Iterable[DriverDevices]) -> Iterator[str]:
    """Names that cannot be, and those that are there twice."""
    seen: set[str] = set()
    for number, plugin in enumerate(plugins):
        path = f"$.node.devices[{number}].resource"
        if fault := name_fault(plugin.resource):
            yield f"{path}: {fault}; write it as vendor.example/gpu"
        elif plugin.resource in seen:
            yield f"{path}: there is another plugin of {plugin.resource}"
        seen.add(plugin.resource)
    for number, driver in enumerate(drivers):
        path = f"$.node.draDrivers[{number}].driver"
        if dns_subdomain(driver.driver) or len(driver.driver) > 63:
            yield f"{path}: {driver.driver!r} is no name of a driver; write it as gpu.vendor.example"
        elif driver.driver in seen:
            yield f"{path}: there is another driver {driver.driver}"
        seen.add(driver.driver)


def unknown(name: str, known: Iterable[str], what: str) -> str:
    """The error for a name that no node has; "" for a known one."""
    there = sorted(known)
    if name in there:
        return ""
    return (
        f"no node has {what} {name!r}; {did_you_mean(name, there, f'there are {there}' if there else 'there is none')}"
    )


def entries_of(claims: Mapping[str, int]) -> dict[str, str]:
    """Driver -> name of the entry in `resourceClaims` of a pod."""
    return {driver: f"{ENTRY}{number}" for number, driver in enumerate(claims)}


def with_devices(spec: dict[str, Any], mix: str, devices: Mapping[str, int], claims: Mapping[str, int]) -> None:
    """Let the first container of a pod ask for devices of plugins, and claim those of drivers."""
    first = spec["containers"][0]
    resources = dict(first.get("resources") or {})
    if devices:
        amounts = {resource: str(count) for resource, count in devices.items()}
        for group in ("requests", "limits"):
            resources[group] = {**(resources.get(group) or {}), **amounts}
    if claims:
        entries = entries_of(claims)
        resources["claims"] = [{"name": entry} for entry in entries.values()]
        spec["resourceClaims"] = [
            {"name": entry, "resourceClaimTemplateName": template_name(mix, entry)} for entry in entries.values()
        ]
    spec["containers"][0] = {**first, "resources": resources}


def template_name(mix: str, entry: str) -> str:
    """The name of the template of one entry of a mix."""
    return f"{mix}-{entry}"


def templates_of(mix: str, claims: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """The ResourceClaimTemplates of a mix, a class of the driver's name in each."""
    for driver, entry in entries_of(claims).items():
        exactly = {"deviceClassName": driver, "allocationMode": "ExactCount", "count": claims[driver]}
        requests = [{"name": "devices", "exactly": exactly}]
        yield {"metadata": {"name": template_name(mix, entry)}, "spec": {"spec": {"devices": {"requests": requests}}}}
