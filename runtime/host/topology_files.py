"""The topology of a machine from the kernel's files below `/sys/devices/system`.

Reading never fails. A machine whose kernel knows no NUMA nodes is one node. A CPU without facts of its own is a core
and a package for itself. The root of the file system is a parameter, so any tree of files can be a machine.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping

from config.values.cpu_sets import parse_cpu_set
from runtime.files.text_file import text_or_empty
from runtime.host.machine import KIB, huge_pages, memory_sizes
from runtime.host.topology import Cpu, MachineTopology, NumaNode

SYSTEM = "sys/devices/system"
LEAST_SHARED_LEVEL = 3
"""Caches of lower levels belong to a core."""
_NODE = re.compile(r"node([0-9]+)")
_PAGES = re.compile(r"hugepages-([0-9]+)kB")
_TOTAL = re.compile(r"MemTotal:\s+([0-9]+) kB")


def read_topology(root: str = "/") -> MachineTopology:
    """The machine whose files are under `root`."""
    online = _numbers(root, f"{SYSTEM}/cpu/online")
    nodes = tuple(_node(root, number) for number in _nodes(root))
    cpus_of = {node.number: _numbers(root, f"{SYSTEM}/node/node{node.number}/cpulist") & online for node in nodes}
    if not nodes:
        nodes = (NumaNode(0, memory_sizes(root).get("MemTotal", 0), huge_pages(root), (10,)),)
        cpus_of = {0: online}
    cpus = [cpu for node, numbers in cpus_of.items() for cpu in _cpus(root, node, numbers)]
    return MachineTopology(tuple(sorted(cpus, key=lambda cpu: cpu.number)), nodes)


def _nodes(root: str) -> list[int]:
    folders = glob.glob(os.path.join(glob.escape(root), SYSTEM, "node", "node[0-9]*"))
    return sorted(int(found[1]) for each in folders if (found := _NODE.fullmatch(os.path.basename(each))))


def _node(root: str, number: int) -> NumaNode:
    folder = f"{SYSTEM}/node/node{number}"
    total = _TOTAL.search(_text(root, f"{folder}/meminfo"))
    sizes = []
    for each in glob.glob(os.path.join(glob.escape(root), folder, "hugepages", "hugepages-*kB")):
        if found := _PAGES.fullmatch(os.path.basename(each)):
            sizes.append(
                (int(found[1]) * KIB, _number(root, f"{folder}/hugepages/{os.path.basename(each)}/nr_hugepages"))
            )
    distances = tuple(int(word) for word in _text(root, f"{folder}/distance").split() if word.isdigit())
    return NumaNode(number, int(total[1]) * KIB if total else 0, tuple(sorted(sizes)), distances)


def _cpus(root: str, node: int, numbers: frozenset[int]) -> list[Cpu]:
    places = {number: _place(root, number) for number in sorted(numbers)}
    lowest: dict[tuple[int, int], int] = {}
    for number, place in places.items():
        lowest.setdefault(place, number)
    caches = _split_caches(root, numbers)
    return [
        Cpu(number, lowest[package, core], package, node, caches.get(number, package))
        for number, (package, core) in places.items()
    ]


def _place(root: str, number: int) -> tuple[int, int]:
    """The package of a CPU, and its core there."""
    folder = f"{SYSTEM}/cpu/cpu{number}/topology"
    return _number(root, f"{folder}/physical_package_id"), _number(root, f"{folder}/core_id", number)


def _split_caches(root: str, numbers: frozenset[int]) -> Mapping[int, int]:
    """CPU -> its last-level cache. Without the CPUs that share it with their whole node."""
    found: dict[int, int] = {}
    for number in sorted(numbers):
        folder = f"{SYSTEM}/cpu/cpu{number}/cache"
        for index in _indices(root, folder):
            if _number(root, f"{index}/level") < LEAST_SHARED_LEVEL:
                continue
            shared = _numbers(root, f"{index}/shared_cpu_list")
            if shared and shared != numbers:
                found.setdefault(number, _number(root, f"{index}/id", min(shared)))
    return found


def _indices(root: str, folder: str) -> Iterable[str]:
    found = glob.glob(os.path.join(glob.escape(root), folder, "index[0-9]*"))
    return sorted(os.path.join(folder, os.path.basename(each)) for each in found)


def _numbers(root: str, path: str) -> frozenset[int]:
    text = _text(root, path).strip()
    try:
        return parse_cpu_set(text) if text else frozenset()
    except ValueError:
        return frozenset()


def _number(root: str, path: str, otherwise: int = 0) -> int:
    """A file with one number; some kernels write -1 for what they do not know."""
    text = _text(root, path).strip()
    return int(text) if text.isascii() and text.isdigit() else otherwise


def _text(root: str, path: str) -> str:
    return text_or_empty(os.path.join(root, path))
