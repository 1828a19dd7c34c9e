"""Decides whether to accept a plugin, by type, name, versions and holder of the name. Pure.

See spec 8.8.

Texts are for the plugin's operator: they are sent to the plugin and logged.
"""

from __future__ import annotations

import re

import msgspec

from actors.devices.registrar import name_fault
from runtime.device_plugins.capability import API_VERSION
from runtime.dra.capability import DRA_SERVICES
from runtime.plugin_registration.capability import CSI_PLUGIN, DEVICE_PLUGIN, DRA_PLUGIN, PluginInfo

MILLISECOND_NS = 1_000_000
RETRY_INITIAL_NS = 500 * MILLISECOND_NS
RETRY_MAX_NS = 122_000 * MILLISECOND_NS
NAME_MAX = 63

_VERSION = re.compile(r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?:[-+].*)?")
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?")
Version = tuple[int, int, int]


class Taken(msgspec.Struct, frozen=True):
    """Register the plugin as a driver. `version`: the highest that both speak."""

    name: str
    endpoint: str
    version: Version


class DevicesTaken(msgspec.Struct, frozen=True):
    """Hand the plugin over to those who serve device plugins. `name`: of its resource."""

    name: str
    endpoint: str


class DraTaken(msgspec.Struct, frozen=True):
    """Register the plugin as a driver for claims of devices. `service`: the one to call."""

    name: str
    endpoint: str
    service: str


class PluginRefused(msgspec.Struct, frozen=True):
    """Refuse the plugin. `for_good`: do not retry until it comes with another socket."""

    reason: str
    for_good: bool = True


class Holder(msgspec.Struct, frozen=True):
    """The plugin that holds a name: its socket and version."""

    socket: str
    version: Version


def judge(info: PluginInfo, socket: str, holder: Holder | None) -> Taken | DevicesTaken | DraTaken | PluginRefused:
    """Whether to register the plugin at `socket`. `holder`: who is registered under its name now."""
    if info.kind == DEVICE_PLUGIN:
        return _judge_devices(info, socket)
    if info.kind == DRA_PLUGIN:
        return _judge_dra(info, socket)
    if info.kind != CSI_PLUGIN:
        return PluginRefused(f"no handler registered for plugin type: {info.kind or 'none'} at socket {socket}")
    if len(info.name) > NAME_MAX or _NAME.fullmatch(info.name) is None:
        return PluginRefused(
            f"{info.name!r} cannot be the name of a driver: it must be a domain name of up to 63 characters"
        )
    version = highest_supported(info.versions)
    if version is None:
        told = ", ".join(info.versions) or "none"
        return PluginRefused(
            f"driver {info.name} speaks no version of csi.v1 that is understood here (it says: {told})"
        )
    if holder is not None and holder.socket != socket and holder.version >= version:
        return PluginRefused(
            f"a driver of the name {info.name} is registered already at {holder.socket} "
            f"with version {_text(holder.version)}; only a higher one takes its place",
            for_good=False,
        )
    return Taken(info.name, info.endpoint or socket, version)


def _judge_dra(info: PluginInfo, socket: str) -> DraTaken | PluginRefused:
    if len(info.name) > NAME_MAX or _NAME.fullmatch(info.name) is None:
        return PluginRefused(f"{info.name!r} cannot be the name of a driver: it must be a domain name")
    service = next((each for each in info.versions if each in DRA_SERVICES), "")
    if not service:
        told, ours = ", ".join(info.versions) or "none", ", ".join(DRA_SERVICES)
        return PluginRefused(
            f"invalid supported gRPC versions of DRA driver plugin {info.name} at endpoint {info.endpoint or socket}: "
            f"none of services supported by the plugin ({told}) are supported by this agent ({ours})"
        )
    return DraTaken(info.name, info.endpoint or socket, service)


def _judge_devices(info: PluginInfo, socket: str) -> DevicesTaken | PluginRefused:
    if API_VERSION not in info.versions:
        told = ", ".join(info.versions) or "none"
        return PluginRefused(f"manager version, {API_VERSION}, is not among plugin supported versions {told}")
    fault = name_fault(info.name)
    return PluginRefused(fault) if fault else DevicesTaken(info.name, info.endpoint or socket)


def highest_supported(versions: tuple[str, ...]) -> Version | None:
    """The highest csi.v1 version, or None. Text that is no version is ignored."""
    found = [version for text in versions if (version := _version(text)) is not None and version[0] == 1]
    return max(found, default=None)


def retry_ns(failures: int) -> int:
    """How long to wait after this many failures in a row."""
    return min(RETRY_INITIAL_NS << min(max(failures - 1, 0), 20), RETRY_MAX_NS)


def _version(text: str) -> Version | None:
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        return None
    major, minor, patch = (int(part or 0) for part in match.groups())
    return major, minor, patch


def _text(version: Version) -> str:
    return ".".join(str(part) for part in version)
