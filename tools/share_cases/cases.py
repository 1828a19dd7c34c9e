"""Random cases: a machine, settings, and pods that come and go. The same seed gives the same case.

A case is JSON, as the judge reads it. `nodes`: NUMA nodes with CPUs as [number, core, package, last-level cache or -1].
"""

from __future__ import annotations

import random as seeded
from typing import Any, TypeAlias

from config.values.cpu_sets import format_cpu_set
from runtime.host.topology import MachineTopology
from simulation.host.topologies import topology_of

Case: TypeAlias = dict[str, Any]
MIB = 2**20
KINDS = {"2Mi": 2048, "1Gi": 2**20}
"""Sizes of huge pages in KiB."""
OPTIONS = (
    ("full-pcpus-only",),
    ("distribute-cpus-across-numa",),
    ("full-pcpus-only", "distribute-cpus-across-numa"),
    ("align-by-socket",),
    ("align-by-socket", "full-pcpus-only"),
    ("distribute-cpus-across-cores",),
    ("prefer-align-cpus-by-uncorecache",),
    ("prefer-align-cpus-by-uncorecache", "full-pcpus-only"),
    ("prefer-align-cpus-by-uncorecache", "align-by-socket"),
)


def case_of(seed: int, *, pod_level: bool) -> Case:
    """The case of a seed. `pod_level`: some pods have resources of their own."""
    random = seeded.Random(f"{seed} {pod_level}")
    text = _machine(random)
    machine = topology_of(text)
    policy = random.choice(("none", "best-effort", "restricted", "single-numa-node"))
    case: Case = {
        "text": text,
        "nodes": nodes_of_case(machine),
        "cpuPolicy": "none" if random.random() < 0.08 else "static",
        "cpuOptions": _options(random, machine, policy),
        "memoryPolicy": "Static" if random.random() < 0.7 else "None",
        "topologyPolicy": policy,
        "topologyScope": random.choice(("container", "pod")),
        "topologyOptions": {"prefer-closest-numa-nodes": "true"} if random.random() < 0.3 else {},
    }
    _reserve(random, machine, case)
    case["ops"] = _operations(random, machine, pod_level)
    return case


def nodes_of_case(machine: MachineTopology) -> list[Any]:
    """The machine as a case has it."""
    return [
        {
            "id": node.number,
            "memory": node.memory_bytes,
            "huge": [[size // 1024, pages] for size, pages in node.huge_pages],
            "distances": list(node.distances),
            "cpus": [
                [cpu.number, cpu.core, cpu.package, -1 if cpu.cache == cpu.package else cpu.cache + 100]
                for cpu in machine.cpus
                if cpu.node == node.number
            ],
        }
        for node in machine.nodes
    ]


def _machine(random: seeded.Random) -> str:
    packages, threads = random.choice((1, 1, 2, 2, 2, 4)), random.choice((1, 2, 2, 2, 4))
    cores = random.choice((2, 4, 4, 6, 8, 8, 12) if packages < 4 else (2, 4))
    per_package = random.choice([each for each in (1, 1, 2, 4) if not cores % each and each * packages <= 8])
    nodes = packages * per_package
    if packages > 1 and random.random() < 0.1:
        nodes = packages // 2
    words = [f"{packages}x{cores}x{threads}", f"nodes={nodes}"]
    cores_of_node = packages * cores // nodes
    if random.random() < 0.4:
        words.append(f"caches={random.choice([each for each in (1, 2, 4) if not cores_of_node % each])}")
    cpus = packages * cores * threads
    if random.random() < 0.12 and cpus > 4:
        words.append(f"offline={format_cpu_set(random.sample(range(1, cpus), random.choice((1, 1, 2, 3))))}")
    memory_only = 1 if random.random() < 0.1 and nodes < 8 else 0
    words.append(f"memory-only={memory_only}")
    amounts = [f"{random.choice((1024, 2048, 2048, 3000, 4096))}Mi" for _ in range(nodes + memory_only)]
    words.append(f"memory={','.join(amounts)}")
    if nodes + memory_only <= 4 and random.random() < 0.4:
        words.append(f"huge=2Mi:{random.choice((16, 64))}")
        if random.random() < 0.3 and nodes + memory_only <= 2:
            words.append("huge=1Gi:0")
    if random.random() < 0.3:
        words.append("threads=beside")
    return " ".join(words)


def _options(random: seeded.Random, machine: MachineTopology, policy: str) -> dict[str, str]:
    names = random.choice(OPTIONS) if random.random() < 0.7 else ()
    if "align-by-socket" in names and (policy == "single-numa-node" or len(machine.by_package) > len(machine.by_node)):
        names = ()
    if random.random() < 0.15:
        names = (*names, "strict-cpu-reservation")
    return dict.fromkeys(names, "true")


def _reserve(random: seeded.Random, machine: MachineTopology, case: Case) -> None:
    cpus = sorted(machine.online)
    count = random.choice((1, 1, 2, 2, 3))
    case["reserved"] = min(count, len(cpus) - 1)
    case["reservedSet"] = ""
    if random.random() < 0.4:
        case["reservedSet"] = format_cpu_set(random.sample(cpus, case["reserved"]))
    case["reservedMemory"] = {}
    for node in machine.nodes:
        amounts = {"memory": random.choice((0, 0, 64, 100)) * MIB}
        if node.huge_pages and random.random() < 0.2:
            amounts["hugepages-2Mi"] = 4 * MIB
        case["reservedMemory"][str(node.number)] = amounts
    case["reservedMemory"]["0"]["memory"] = 128 * MIB


def _operations(random: seeded.Random, machine: MachineTopology, pod_level: bool) -> list[Any]:
    operations: list[Any] = []
    uids: list[str] = []
    containers: dict[str, list[str]] = {}
    for index in range(random.choice((4, 8, 12))):
        draw = random.random()
        if uids and draw < 0.2:
            operations.append({"op": "release", "uid": random.choice(uids)})
        elif uids and draw < 0.27:
            uid = random.choice(uids)
            operations.append({"op": "begin", "uid": uid, "container": random.choice(containers[uid])})
        elif uids and draw < 0.32 and not pod_level:
            uid = random.choice(uids)
            operations.append({"op": "remove", "uid": uid, "container": random.choice(containers[uid])})
        else:
            uid = f"u{index}"
            pod = _pod(random, machine, pod_level)
            uids.append(uid)
            spec = pod["spec"]
            containers[uid] = [each["name"] for each in (*spec.get("initContainers", ()), *spec["containers"])]
            operations.append({"op": "admit", "uid": uid, "pod": pod})
    return operations


def _pod(random: seeded.Random, machine: MachineTopology, pod_level: bool) -> dict[str, Any]:
    size = random.choice((1, 1, 2, 3, len(machine.cpus) // 4 or 1, len(machine.cpus) // 2))
    huge = bool(machine.nodes[0].huge_pages) and random.random() < 0.4
    inits, regular = [], []
    for index in range(random.choice((0, 0, 0, 1, 1, 2, 3))):
        container = _container(random, f"i{index}", size, huge)
        if random.random() < 0.4:
            container["restartPolicy"] = "Always"
        inits.append(container)
    for index in range(random.choice((1, 1, 1, 2, 2, 3))):
        regular.append(_container(random, f"c{index}", size, huge))
    spec: dict[str, Any] = {"containers": regular}
    if inits:
        spec["initContainers"] = inits
    if pod_level and random.random() < 0.6:
        spec["resources"] = _whole(random, inits, regular)
    elif random.random() < 0.12:
        del random.choice((*inits, *regular))["resources"]["limits"]["memory"]  # the pod is Burstable
    return {"spec": spec}


def _container(random: seeded.Random, name: str, size: int, huge: bool) -> dict[str, Any]:
    cpu = f"{random.choice((500, 1500, 999))}m" if random.random() < 0.12 else str(random.randint(1, max(1, size)))
    amounts = {"cpu": cpu, "memory": f"{random.choice((32, 64, 64, 100, 256, 256, 700, 1024, 2000))}Mi"}
    if huge:
        amounts["hugepages-2Mi"] = f"{random.choice((0, 2, 8, 8, 32))}Mi"
    return {"name": name, "resources": {"requests": dict(amounts), "limits": dict(amounts)}}


def _whole(random: seeded.Random, inits: list[Any], regular: list[Any]) -> dict[str, Any]:
    """Resources for the whole pod that its containers fit into. Some of these lose their own."""
    everyone = [*inits, *regular]
    cpus = sum(_milli(each) for each in everyone) // 1000 + random.choice((0, 0, 1, 2))
    memory = sum(int(each["resources"]["requests"]["memory"][:-2]) for each in everyone)
    amounts = {"cpu": str(cpus + 1), "memory": f"{memory + random.choice((0, 64, 256))}Mi"}
    if any("hugepages-2Mi" in each["resources"]["requests"] for each in everyone):
        pages = sum(int(each["resources"]["requests"].get("hugepages-2Mi", "0Mi")[:-2]) for each in everyone)
        amounts["hugepages-2Mi"] = f"{pages + random.choice((0, 0, 4))}Mi"
    for each in everyone:
        draw = random.random()
        if draw < 0.25:
            each["resources"] = {}
        elif draw < 0.35:
            del each["resources"]["limits"]["cpu"]
    if random.random() < 0.2:
        amounts["cpu"] = str(max(1, cpus))
    return {"requests": dict(amounts), "limits": dict(amounts)}


def _milli(container: dict[str, Any]) -> int:
    text: str = container["resources"]["requests"]["cpu"]
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000
