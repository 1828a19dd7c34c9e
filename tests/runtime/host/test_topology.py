"""The topology of a machine from its files."""

from pathlib import Path

from runtime.host.topology import Cpu, MachineTopology, NumaNode
from runtime.host.topology_files import read_topology

GIB = 2**30
SYSTEM = "sys/devices/system"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def cpu(number: int, package: int, core: int, caches: dict[int, tuple[int, str]] | None = None) -> dict[str, str]:
    """Files of a CPU. `caches`: level -> id, and the CPUs that share it."""
    folder = f"{SYSTEM}/cpu/cpu{number}"
    files = {
        f"{folder}/topology/physical_package_id": f"{package}\n",
        f"{folder}/topology/core_id": f"{core}\n",
    }
    for index, (level, (name, shared)) in enumerate((caches or {}).items()):
        files[f"{folder}/cache/index{index}/level"] = f"{level}\n"
        files[f"{folder}/cache/index{index}/id"] = f"{name}\n"
        files[f"{folder}/cache/index{index}/shared_cpu_list"] = f"{shared}\n"
    return files


def node(number: int, cpus: str, distances: str, memory_kib: int = 2**20, pages: int = 0) -> dict[str, str]:
    folder = f"{SYSTEM}/node/node{number}"
    return {
        f"{folder}/cpulist": f"{cpus}\n",
        f"{folder}/distance": f"{distances}\n",
        f"{folder}/meminfo": f"Node {number} MemTotal:       {memory_kib} kB\nNode {number} MemFree:  1 kB\n",
        f"{folder}/hugepages/hugepages-2048kB/nr_hugepages": f"{pages}\n",
    }


def test_threads_of_a_core_share_the_number_of_the_lowest_one(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {f"{SYSTEM}/cpu/online": "0-7\n"}
        # The kernel's numbers of cores begin anew in each package.
        | cpu(0, 0, 0) | cpu(1, 0, 1) | cpu(2, 1, 0) | cpu(3, 1, 1)
        | cpu(4, 0, 0) | cpu(5, 0, 1) | cpu(6, 1, 0) | cpu(7, 1, 1)
        | node(0, "0-1,4-5", "10 21", pages=512)
        | node(1, "2-3,6-7", "21 10"),
    )  # fmt: skip
    assert read_topology(str(root)) == MachineTopology(
        tuple(
            Cpu(number, core, package, package, package)
            for number, core, package in [
                (0, 0, 0), (1, 1, 0), (2, 2, 1), (3, 3, 1), (4, 0, 0), (5, 1, 0), (6, 2, 1), (7, 3, 1)
            ]
        ),
        (NumaNode(0, GIB, ((2 * 2**20, 512),), (10, 21)), NumaNode(1, GIB, ((2 * 2**20, 0),), (21, 10))),
    )  # fmt: skip


def test_an_offline_cpu_is_not_in_the_topology(tmp_path: Path) -> None:
    files = {f"{SYSTEM}/cpu/online": "0,2-3\n"} | cpu(0, 0, 0) | cpu(2, 0, 0) | cpu(3, 0, 1) | node(0, "0-3", "10")
    found = read_topology(str(write(tmp_path, files)))
    assert found.online == {0, 2, 3}
    assert found.by_core == {0: frozenset({0, 2}), 3: frozenset({3})}


def test_a_cache_counts_if_only_a_part_of_the_node_shares_it(tmp_path: Path) -> None:
    files = {f"{SYSTEM}/cpu/online": "0-7\n"} | node(0, "0-3", "10 12") | node(1, "4-7", "12 10")
    for number in range(8):
        shared = f"{number // 2 * 2}-{number // 2 * 2 + 1}" if number < 4 else "4-7"
        files |= cpu(number, 9, number, {1: (90 + number, str(number)), 3: (50 + number // 2, shared)})
    found = read_topology(str(write(tmp_path, files)))
    assert found.by_cache == {9: frozenset({4, 5, 6, 7}), 50: frozenset({0, 1}), 51: frozenset({2, 3})}


def test_a_node_without_cpus_has_its_memory(tmp_path: Path) -> None:
    files = {f"{SYSTEM}/cpu/online": "0\n"} | cpu(0, 0, 0) | node(0, "0", "10 28") | node(1, "", "28 10", 2**21)
    found = read_topology(str(write(tmp_path, files)))
    assert [each.memory_bytes for each in found.nodes] == [GIB, 2 * GIB]
    assert found.by_node == {0: frozenset({0})}


def test_a_kernel_without_numa_nodes_is_one_node(tmp_path: Path) -> None:
    files = {
        f"{SYSTEM}/cpu/online": "0-1\n",
        "proc/meminfo": "MemTotal:        2097152 kB\n",
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "3\n",
    }
    found = read_topology(str(write(tmp_path, files | cpu(0, 0, 0) | cpu(1, 0, 1))))
    assert found.nodes == (NumaNode(0, 2 * GIB, ((2 * 2**20, 3),), (10,)),)
    assert found.by_node == {0: frozenset({0, 1})}


def test_a_machine_without_files_is_an_empty_topology(tmp_path: Path) -> None:
    assert read_topology(str(tmp_path)).cpus == ()


def test_this_machine_has_cpus_in_nodes() -> None:
    found = read_topology()
    assert found.online
    assert found.by_node.keys() <= {each.number for each in found.nodes}
