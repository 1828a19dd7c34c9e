"""Names the first difference between the judge's answer to a case and ours.

Differences that are meant have a reason, the first that fits. `docs/explanation/cpus-and-memory.md` has the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from config.values.cpu_sets import parse_cpu_set
from tools.share_cases.cases import Case
from tools.share_cases.ours import machine_of, rules_of

Result = dict[str, Any]
FULL_CORES, DISTRIBUTE = "full-pcpus-only", "distribute-cpus-across-numa"
AFFINITY = "TopologyAffinityError"
VIOLATES = "preferred hint violates NUMA node allocation"
NOT_EXTENDED = "failed to find NUMA nodes to extend the current topology hint"
OVERWRITTEN_FROM = 4
"""From this number of NUMA nodes on, the judge's list of the best set is overwritten by the next one."""


def first_difference(case: Case, theirs: Result, ours: list[Result], *, mended: bool = False) -> tuple[int, str] | None:
    """The operation, and the kind of difference. None if all is the same.

    `mended`: the judge decides as we do in all rows of the table but that of `full-pcpus-only`.
    """
    results = [_tidy(each) for each in theirs.get("results") or ()]
    for index, (one, other) in enumerate(zip(results, ours, strict=False)):
        if one != other:
            reason = _reason_if_mended(case, one, other) if mended else _reason(case, index, one, other)
            return index, f"meant: {reason}" if reason else f"NOT MEANT: {_kind(case, index, one, other)}"
    if len(results) < len(ours):
        what = "hangs" if theirs.get("hang") else f"panics: {theirs.get('panic')}" if theirs.get("panic") else "refuses"
        return len(results), f"the judge {what} {theirs.get('error', '')}".strip()
    return None


def _tidy(result: Result) -> Result:
    """Without empty parts."""
    tidy = {key: value for key, value in result.items() if value not in ({}, [], None) or key == "free"}
    if "memory" in tidy:
        tidy["memory"] = {name: blocks for name, blocks in tidy["memory"].items() if blocks}
        if not tidy["memory"]:
            del tidy["memory"]
    if "podMemory" in tidy:
        tidy["podMemory"] = sorted(tidy["podMemory"], key=lambda each: each["type"])
    return tidy


def _reason(case: Case, index: int, theirs: Result, ours: Result) -> str:
    """Why the difference is meant, or empty."""
    options = case["cpuOptions"]
    if case["cpuPolicy"] == "static" and _is_uneven(case):
        return "cores, packages or nodes differ in size"
    if FULL_CORES in options and (_splits_a_core(case, theirs) or _is_reserved_in_part(case)):
        return "a core is split in spite of full-pcpus-only"
    if any(VIOLATES in each.get("message", "") for each in (theirs, ours)) or _mixes_groups(theirs):
        return "memory on some nodes of a group"
    if NOT_EXTENDED in theirs.get("message", "") and _has_groups(ours):
        return "memory on some nodes of a group"
    if case["topologyScope"] == "pod" and ours.get("reason") == AFFINITY and case["memoryPolicy"] == "Static":
        return "memory of a pod that fits nowhere as a whole"
    if case["memoryPolicy"] == "Static" and _has_part_without_own(case, index):
        return "pod-level resources, and a container without its own"
    if DISTRIBUTE in options and len(machine_of(case).by_node) > OVERWRITTEN_FROM:
        return "the best set of nodes is overwritten"
    return ""


def _reason_if_mended(case: Case, theirs: Result, ours: Result) -> str:
    """The reason, or empty. Where both refuse the pod, the judge may have split a core before, unseen."""
    refused = not theirs["admit"] and not ours["admit"]
    if FULL_CORES in case["cpuOptions"] and (_splits_a_core(case, theirs) or (refused and _is_reserved_in_part(case))):
        return "a core is split in spite of full-pcpus-only"
    return ""


def _is_uneven(case: Case) -> bool:
    machine = machine_of(case)
    return any(len(set(map(len, groups.values()))) > 1 for groups in (machine.by_core, machine.by_package))


def _splits_a_core(case: Case, theirs: Result) -> bool:
    machine = machine_of(case)
    for text in (*theirs.get("cpus", {}).values(), *filter(None, [theirs.get("podCpus")])):
        cpus = parse_cpu_set(text)
        if any(not machine.by_core[machine.by_number[cpu].core] <= cpus for cpu in cpus):
            return True
    return False


def _is_reserved_in_part(case: Case) -> bool:
    """Whether a reserved CPU has a sibling that is not reserved."""
    machine = machine_of(case)
    cpus = rules_of(case, machine, pod_level=False).cpus
    reserved = cpus.reserved if cpus is not None else frozenset()
    return any(not machine.by_core[machine.by_number[cpu].core] <= reserved for cpu in reserved)


def _mixes_groups(theirs: Result) -> bool:
    """Whether a node is in two groups, of which one is larger."""
    seen: list[set[str]] = [set(key.strip("[]").split()) for key in theirs.get("free", {})]
    seen += [set(map(str, block["numaAffinity"])) for block in _blocks(theirs)]
    return any(one & other and one != other for one in seen for other in seen)


def _has_groups(ours: Result) -> bool:
    return any(len(block["numaAffinity"]) > 1 for block in _blocks(ours))


def _blocks(theirs: Result) -> Iterator[Result]:
    for blocks in theirs.get("memory", {}).values():
        yield from blocks


def _has_part_without_own(case: Case, index: int) -> bool:
    """Whether a container of a pod with resources of its own is served alone, and has none of its own."""
    spec = case["ops"][index].get("pod", {}).get("spec", {})
    as_whole = case["topologyScope"] == "pod" and case["topologyPolicy"] != "none"
    if "resources" not in spec or as_whole:
        return False
    own = [each["resources"] for each in (*spec.get("initContainers", ()), *spec["containers"])]
    return any(not each or each["requests"] != each["limits"] for each in own)


def _kind(case: Case, index: int, theirs: Result, ours: Result) -> str:
    what = case["ops"][index]["op"]
    if theirs["admit"] != ours["admit"]:
        refusal = ours if theirs["admit"] else theirs
        who = "we refuse" if theirs["admit"] else "they refuse"
        return f"{what}: {who}: {refusal.get('reason')}: {_words(refusal.get('message', ''))}"
    if theirs.get("reason") != ours.get("reason"):
        return f"{what}: reason {theirs.get('reason')} against {ours.get('reason')}"
    if theirs.get("message") != ours.get("message"):
        return f"{what}: words {_words(theirs['message'])!r} against {_words(ours['message'])!r}"
    keys = ("cpus", "podCpus", "memory", "podMemory", "shared", "free")
    parts = [key for key in keys if theirs.get(key) != ours.get(key)]
    options = ",".join(sorted(case["cpuOptions"])) if parts[0].endswith(("cpus", "Cpus")) else ""
    return f"{what}: {parts[0]} {options}".strip()


def _words(message: str) -> str:
    return "".join("#" if char.isdigit() else char for char in message)
