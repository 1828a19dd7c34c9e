"""Topologies of simulated machines, from one line of text.

For example `2x8x2 nodes=4 caches=2 offline=3 huge=2Mi:512`.

The first word is packages x cores of a package x threads of a core. The other words are optional, in any order:

| word | means |
|---|---|
| `nodes=4` | NUMA nodes with CPUs, a multiple or a divisor of the packages; one per package if absent |
| `memory-only=1` | further nodes, with memory and without CPUs |
| `memory=16Gi` | the memory of each node; or one amount per node, as in `8Gi,16Gi` |
| `huge=2Mi:512` | huge pages of each node: size and number; may be given for several sizes |
| `caches=2` | last-level caches of each node; one, which all of the node share, if absent |
| `offline=3,8-11` | CPUs that are not there |
| `threads=beside` | threads of a core have numbers beside each other; otherwise those of all first threads come first |

A text that cannot be a machine is a `TopologyTextError` with the word at fault.
"""

from __future__ import annotations

from collections.abc import Mapping

from config.values.cpu_sets import parse_cpu_set
from config.values.quantity import QuantityError, parse_quantity
from runtime.host.topology import Cpu, MachineTopology, NumaNode

WORDS = ("nodes", "memory-only", "memory", "huge", "caches", "offline", "threads")
SAME_NODE, SAME_PACKAGE, OTHER_PACKAGE, NO_CPUS = 10, 12, 21, 28
"""Distances as firmware reports them."""
NODE_MEMORY = "16Gi"


class TopologyTextError(ValueError):
    """Says which word is wrong, and what to write."""


def plain_topology(cpus: int, memory_bytes: int) -> MachineTopology:
    """One node whose CPUs are cores of their own, without huge pages."""
    return topology_of(f"1x{cpus}x1 memory={memory_bytes} huge=2Mi:0 huge=1Gi:0")


def topology_of(text: str) -> MachineTopology:
    """The machine of a line of text. Raises TopologyTextError."""
    shape, *rest = text.split() or [""]
    words = _words(rest)
    packages, cores, threads = _shape(shape)
    with_cpus = _count(words, "nodes", packages)
    if (with_cpus % packages and packages % with_cpus) or packages * cores % with_cpus:
        raise TopologyTextError(f"nodes={with_cpus}: {shape} cannot be cut into that many equal nodes")
    cores_of_node = packages * cores // with_cpus
    caches = _count(words, "caches", 1)
    if cores_of_node % caches:
        raise TopologyTextError(f"caches={caches}: a node has {cores_of_node} cores, which is no multiple of it")
    memory_only = _count(words, "memory-only", 0, at_least=0)
    offline = _offline(words)
    beside = _threads_beside(words)
    cpus = []
    for core in range(packages * cores):
        numbers = [core * threads + each if beside else each * packages * cores + core for each in range(threads)]
        online = [number for number in numbers if number not in offline]
        node, package = core // cores_of_node, core // cores
        cache = core // (cores_of_node // caches) if caches > 1 else package
        cpus += [Cpu(number, online[0], package, node, cache) for number in online]
    memory = _memory(words, with_cpus + memory_only)
    pages = _huge_pages(words)
    nodes = tuple(
        NumaNode(number, memory[number], pages, _distances(number, with_cpus, memory_only, packages))
        for number in range(with_cpus + memory_only)
    )
    return MachineTopology(tuple(sorted(cpus, key=lambda cpu: cpu.number)), nodes)


def _shape(text: str) -> tuple[int, int, int]:
    parts = text.split("x")
    if len(parts) != 3 or not all(_is_count(part) for part in parts):
        raise TopologyTextError(f"{text!r} is not packages x cores x threads: write 2x8x2")
    return int(parts[0]), int(parts[1]), int(parts[2])


def _words(texts: list[str]) -> Mapping[str, str]:
    words: dict[str, str] = {}
    for each in texts:
        name, equals, value = each.partition("=")
        if name not in WORDS or not equals:
            raise TopologyTextError(f"{each!r} is not known: use one of {', '.join(f'{word}=' for word in WORDS)}")
        words[name] = f"{words[name]} {value}" if name == "huge" and name in words else value
    return words


def _count(words: Mapping[str, str], name: str, otherwise: int, at_least: int = 1) -> int:
    text = words.get(name, str(otherwise))
    if not (text.isascii() and text.isdigit()) or int(text) < at_least:
        raise TopologyTextError(f"{name}={text}: write a number of {at_least} or more")
    return int(text)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0


def _offline(words: Mapping[str, str]) -> frozenset[int]:
    try:
        return parse_cpu_set(words["offline"]) if "offline" in words else frozenset()
    except ValueError as fault:
        raise TopologyTextError(f"offline={words['offline']}: {fault}") from fault


def _threads_beside(words: Mapping[str, str]) -> bool:
    text = words.get("threads", "apart")
    if text not in ("apart", "beside"):
        raise TopologyTextError(f"threads={text}: write apart or beside")
    return text == "beside"


def _memory(words: Mapping[str, str], nodes: int) -> list[int]:
    texts = words.get("memory", NODE_MEMORY).split(",")
    if len(texts) not in (1, nodes):
        raise TopologyTextError(f"memory={words['memory']}: the machine has {nodes} nodes; give one amount, or {nodes}")
    amounts = [_bytes("memory", text) for text in texts]
    return amounts * nodes if len(amounts) == 1 else amounts


def _huge_pages(words: Mapping[str, str]) -> tuple[tuple[int, int], ...]:
    found = []
    for each in words.get("huge", "").split():
        size, colon, number = each.partition(":")
        if not colon or not (number.isascii() and number.isdigit()):
            raise TopologyTextError(f"huge={each}: write a size and a number of pages, as in 2Mi:512")
        found.append((_bytes("huge", size), int(number)))
    return tuple(sorted(found))


def _bytes(name: str, text: str) -> int:
    try:
        return parse_quantity(text).value()
    except QuantityError as fault:
        raise TopologyTextError(f"{name}={text}: {fault.reason}; write 16Gi") from fault


def _distances(node: int, with_cpus: int, memory_only: int, packages: int) -> tuple[int, ...]:
    def package(number: int) -> int:
        return number * packages // with_cpus

    def distance(other: int) -> int:
        if other == node:
            return SAME_NODE
        if node >= with_cpus or other >= with_cpus:
            return NO_CPUS
        return SAME_PACKAGE if package(other) == package(node) else OTHER_PACKAGE

    return tuple(distance(other) for other in range(with_cpus + memory_only))
