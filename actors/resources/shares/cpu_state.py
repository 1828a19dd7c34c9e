"""`cpu_manager_state`, as a kubelet 1.36 writes it, so that either can take the node over. Pure.

JSON (spec 10.8) with the policy, the shared pool, and the CPUs of each container. With the gate
PodLevelResourceManagers it has those of each pod as a whole, too. The checksum is an FNV-1a over Go's dump of the
object. A kubelet refuses to start on a file whose checksum does not fit, or whose policy is not its own. It also
refuses one whose CPUs are not those of the machine; this agent instead keeps what still fits (`restoring.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.resources.shares.file_faults import StateFileError, check_policy
from config.values.cpu_sets import format_cpu_set, parse_cpu_set
from config.values.fnv import fnv1a_32

FILE = "cpu_manager_state"
MANAGER = "CPU"


class CpuState(msgspec.Struct, frozen=True):
    """`containers`: UID -> name -> CPUs. `pods`: UID -> the CPUs of the pod as a whole."""

    policy: str
    shared: frozenset[int] = frozenset()
    containers: Mapping[str, Mapping[str, frozenset[int]]] = {}
    pods: Mapping[str, frozenset[int]] = {}


class _PodEntry(msgspec.Struct, rename="camel", omit_defaults=True):
    cpu_set: str = ""


class _Document(msgspec.Struct, rename="camel"):
    policy_name: str = ""
    default_cpu_set: str = ""
    entries: dict[str, dict[str, str]] = {}
    pod_entries: dict[str, _PodEntry] = {}
    checksum: int = 0


def write_cpu_state(state: CpuState, *, pod_level: bool) -> bytes:
    """The content of the file. `pod_level`: the gate PodLevelResourceManagers, which changes the format."""
    entries = {
        uid: {name: format_cpu_set(cpus) for name, cpus in sorted(containers.items())}
        for uid, containers in sorted(state.containers.items())
    }
    pods = {uid: _PodEntry(format_cpu_set(cpus)) for uid, cpus in sorted(state.pods.items())} if pod_level else {}
    document = _Document(state.policy, format_cpu_set(state.shared), entries, pods)
    written: dict[str, object] = {"policyName": document.policy_name, "defaultCpuSet": document.default_cpu_set}
    if entries:
        written["entries"] = entries
    if pods:
        written["podEntries"] = pods
    return msgspec.json.encode({**written, "checksum": _checksum(document, pod_level=pod_level)})


_decode_document = msgspec.json.Decoder(_Document).decode


def read_cpu_state(content: bytes, path: str, policy: str) -> CpuState:
    """The state in the file at `path`. Raises StateFileError."""
    try:
        document = _decode_document(content)
        containers = {
            uid: {name: _cpus(text) for name, text in containers.items()}
            for uid, containers in document.entries.items()
        }
        pods = {uid: _cpus(entry.cpu_set) for uid, entry in document.pod_entries.items()}
        state = CpuState(document.policy_name, _cpus(document.default_cpu_set), containers, pods)
    except (msgspec.MsgspecError, RecursionError, ValueError) as fault:
        raise StateFileError(MANAGER, path, f"the file cannot be read: {fault}") from fault
    fitting = {0, *(_checksum(document, pod_level=each) for each in (True, False))}
    if document.checksum not in fitting:
        raise StateFileError(MANAGER, path, "checkpoint is corrupted")
    check_policy(MANAGER, path, policy, document.policy_name)
    return state


def _cpus(text: str) -> frozenset[int]:
    return parse_cpu_set(text) if text else frozenset()


def _checksum(document: _Document, *, pod_level: bool) -> int:
    """Of Go's dump of the object, whose checksum is 0. Both formats have the same name there."""
    pods = f" PodEntries:(state.PodCPUAssignments)map[{_pods(document)}]" if pod_level else ""
    dump = (
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){document.policy_name} "
        f"DefaultCPUSet:(string){document.default_cpu_set} "
        f"Entries:(map[string]map[string]string)map[{_entries(document)}]{pods} Checksum:(checksum.Checksum)0}}"
    )
    return fnv1a_32(dump.encode())


def _entries(document: _Document) -> str:
    return " ".join(
        f"{uid}:map[{' '.join(f'{name}:{cpus}' for name, cpus in sorted(containers.items()))}]"
        for uid, containers in sorted(document.entries.items())
    )


def _pods(document: _Document) -> str:
    def elements(text: str) -> str:
        return " ".join(f"{cpu}:{{}}" for cpu in sorted(_cpus(text)))

    return " ".join(
        f"{uid}:{{CPUSet:(cpuset.CPUSet){{elems:(map[int]struct {{}})map[{elements(entry.cpu_set)}]}}}}"
        for uid, entry in sorted(document.pod_entries.items())
    )
