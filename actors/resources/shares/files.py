"""The book of shares in the two state files of a kubelet, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from actors.model.shares import ShareBook
from actors.resources.memory.amounts import memory_left
from actors.resources.shares.book import shared_cpus
from actors.resources.shares.cpu_state import FILE as CPU_FILE
from actors.resources.shares.cpu_state import CpuState, read_cpu_state, write_cpu_state
from actors.resources.shares.memory_state import FILE as MEMORY_FILE
from actors.resources.shares.memory_state import MemoryState, read_memory_state, write_memory_state
from actors.resources.shares.restoring import book_of, states_of
from actors.resources.shares.rules import ShareRules
from config.kubelet import KubeletConfiguration
from runtime.host.topology import MachineTopology


def read_book(contents: Mapping[str, bytes], directory: str, configuration: KubeletConfiguration) -> ShareBook:
    """The book in the files of `directory`, by name; a file that is not there is an empty one.

    Raises StateFileError, as when a file was written under another policy.
    """
    cpus: CpuState | None = None
    memory: MemoryState | None = None
    if CPU_FILE in contents:
        path, policy = f"{directory}/{CPU_FILE}", configuration.cpu_manager_policy
        cpus = read_cpu_state(contents[CPU_FILE], path, policy)
    if MEMORY_FILE in contents:
        path, policy = f"{directory}/{MEMORY_FILE}", configuration.memory_manager_policy
        memory = read_memory_state(contents[MEMORY_FILE], path, policy)
    return book_of(cpus, memory)


def written_book(machine: MachineTopology, rules: ShareRules, book: ShareBook) -> dict[str, bytes]:
    """The content of both files, by name. A policy `none` has a file, too, as with a kubelet."""
    shared = shared_cpus(machine, rules, book) if rules.cpus is not None else frozenset()
    cpus, memory = states_of(rules, book, shared)
    nodes = memory_left(machine, rules.memory, book) if rules.memory is not None else {}
    return {
        CPU_FILE: write_cpu_state(cpus, pod_level=rules.pod_level),
        MEMORY_FILE: write_memory_state(memory, nodes, pod_level=rules.pod_level),
    }
