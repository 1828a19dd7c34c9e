"""The room rule: inside a floor, imports between packages run one way (design, "Rooms").

A room is a package of a floor, or a loose module of it. A room imports itself and rooms that stand before it in
`ROOMS`. A sub-package belongs to its room: `actors/volumes/claims` is part of `volumes`. A new room takes its place in
the list. A room that is a house of its own, as `simulation/apiserver` is, has an order of its own rooms there, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tests.lint.rules import Finding, Module, imported_modules

ROOMS: Mapping[str, tuple[str, ...]] = {
    "config": (
        "frozen_map",
        "caches",
        "objects",
        "documents",
        "values",
        "patches",
        "api",
        "credentials",
        "kubelet",
        "flags",
        "island",
        "pods",
        "validation",
        "manifests",
        "examples",
        "start_configuration",
    ),
    "runtime": (
        "io",
        "files",
        "traces",
        "http_client",
        "cri",
        "plugins",
        "csi",
        "plugin_registration",
        "device_plugins",
        "dra",
        "api",
        "cgroups",
        "host",
        "logs",
        "stats",
        "volumes",
        "metrics",
        "pod_resources",
        "state",
        "image_providers",
        "hooks",
        "probes",
        "manifests",
        "memory_notices",
        "node_shutdown",
        "oom",
        "records",
        "http_server",
    ),
    "actors": (
        "machines",
        "kernel",
        "model",
        "messages",
        "start",
        "pod_rules",
        "pod_status",
        "events",
        "node_object",
        "cluster",
        "sources",
        "images",
        "containers",
        "status",
        "pleg",
        "resources",
        "devices",
        "eviction",
        "volumes",
        "island",
        "probes",
        "pod",
        "sync",
        "records",
        "node",
        "replays",
    ),
    "simulation": (
        "chance",
        "rbac",
        "webhooks",
        "quotas",
        "pod_security",
        "validations",
        "allocation",
        "apiserver",
        "controllers",
        "planes",
        "cri",
        "host",
        "greedy",
        "scenarios",
        "relived",
        "faults",
        "node",
        "world",
        "play",
        "operators",
        "sweep",
        "cluster",
        "pytest_plugin",
    ),
    "cli": (
        "version",
        "printing",
        "styling",
        "main",
        "argument_kinds",
        "blocked_signals",
        "command_parser",
        "file_errors",
        "moments",
        "recorded_runs",
        "silence",
        "check",
        "inspect",
        "run",
        "simulate",
        "replay",
        "rehearse",
        "simulated",
        "sweep",
        "up",
    ),
    "simulation.apiserver": (
        "status",
        "rules",
        "schemas",
        "kinds",
        "versions",
        "fields",
        "documents",
        "store",
        "requests",
        "core",
        "access",
        "strategies",
        "admission",
        "pipeline",
        "verbs",
        "controllers",
        "server",
        "front",
    ),
}
"""By floor, or room that is a house of its own, from the ground up."""

RULE = "room"


def check(module: Module) -> Iterator[Finding]:
    for house, rooms in ROOMS.items():
        here = _room(module.name, house)
        if here not in rooms:
            continue
        below = rooms[: rooms.index(here) + 1]
        for node, name in imported_modules(module):
            there = _room(name, house)
            if there in rooms and there not in below:
                whole = f"{house.replace('.', '/')}/{here}"
                why = f"{whole} stands below {there} and may not know {name}; turn it round, or move the name"
                yield module.finding(node, RULE, why)


def check_all_have_a_place(modules: Iterable[Module]) -> Iterator[Finding]:
    """One finding for each room that is missing in `ROOMS`."""
    seen = set()
    for module in modules:
        for house, rooms in ROOMS.items():
            room = _room(module.name, house)
            if room and room not in rooms and (house, room) not in seen:
                seen.add((house, room))
                whole = f"{house.replace('.', '/')}/{room}"
                why = f"{whole} has no place in the order of rooms (tests/lint/rules/rooms.py); give it one"
                yield module.finding(module.tree, RULE, why)


def _room(name: str, house: str) -> str:
    """The room of a dotted module name in that house; empty outside of it."""
    return name.removeprefix(f"{house}.").split(".")[0] if name.startswith(f"{house}.") else ""
