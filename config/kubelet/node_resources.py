"""Rules for what the node reserves: reservations, cgroups, CPUs, memory, policies (spec 10).

These rules do not read the host: a set of CPUs is parsed, but not compared with the online CPUs.
"""

from collections.abc import Callable, Iterator, Mapping

from config.documents.codec import DocumentError
from config.kubelet.configuration import KubeletConfiguration
from config.kubelet.feature_gates import FeatureGates
from config.kubelet.paths import below
from config.values.cpu_sets import parse_cpu_set
from config.values.quantity import QuantityError, parse_quantity

RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")

ENFORCEABLE = (
    "pods",
    "system-reserved",
    "kube-reserved",
    "system-reserved-compressible",
    "kube-reserved-compressible",
    "none",
)

# Policy options and the feature gate of each; "" for stable ones (spec 10.8, 10.10).
CPU_OPTIONS: Mapping[str, str] = {
    "full-pcpus-only": "",
    "strict-cpu-reservation": "",
    "prefer-align-cpus-by-uncorecache": "",
    "distribute-cpus-across-numa": "CPUManagerPolicyBetaOptions",
    "align-by-socket": "CPUManagerPolicyAlphaOptions",
    "distribute-cpus-across-cores": "CPUManagerPolicyAlphaOptions",
}
TOPOLOGY_OPTIONS: Mapping[str, str] = {"prefer-closest-numa-nodes": "", "max-allowable-numa-nodes": ""}

# Options of the CPU manager that exclude each other.
_CPU_CONFLICTS = (
    ("distribute-cpus-across-cores", "full-pcpus-only"),
    ("distribute-cpus-across-cores", "distribute-cpus-across-numa"),
    ("distribute-cpus-across-cores", "prefer-align-cpus-by-uncorecache"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)


def resource_faults(configuration: KubeletConfiguration, gates: FeatureGates) -> Iterator[DocumentError]:
    """Faults of reservations, enforcement and the CPU, memory and topology managers."""
    yield from _reserved("$.systemReserved", configuration.system_reserved)
    yield from _reserved("$.kubeReserved", configuration.kube_reserved)
    yield from _enforcement(configuration)
    yield from _cpus(configuration)
    yield from _reserved_memory(configuration)
    yield from _qos_reserved(configuration, gates)
    yield from _options(configuration, gates)
    if configuration.system_cgroups and not configuration.cgroup_root:
        yield DocumentError("$.systemCgroups", "needs cgroupRoot", "set cgroupRoot, for example '/'")


def _reserved(path: str, amounts: Mapping[str, str]) -> Iterator[DocumentError]:
    for name, text in amounts.items():
        if name not in RESERVABLE:
            yield DocumentError(below(path, name), "cannot be reserved", f"use one of {', '.join(RESERVABLE)}")
        yield from _quantity(below(path, name), text)


def _quantity(path: str, text: str) -> Iterator[DocumentError]:
    try:
        if parse_quantity(text).nanos < 0:
            yield DocumentError(path, f"{text!r} is negative", "give a quantity of 0 or more")
    except QuantityError as error:
        yield DocumentError(path, f"{text!r} is not a quantity: {error.reason}", "write 500m or 1Gi")


def _enforcement(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    path = "$.enforceNodeAllocatable"
    wanted = configuration.enforce_node_allocatable
    for index, value in enumerate(wanted):
        where = f"{path}[{index}]"
        if value not in ENFORCEABLE:
            yield DocumentError(where, f"{value!r} is not a known value", f"use one of {', '.join(ENFORCEABLE)}")
        elif value in wanted[:index]:
            yield DocumentError(where, f"{value!r} is given twice", "keep one")
        for owner in ("system", "kube"):
            cgroup = getattr(configuration, f"{owner}_reserved_cgroup")
            if value.startswith(f"{owner}-reserved") and not cgroup:
                hint = f"set {owner}ReservedCgroup to an existing cgroup"
                yield DocumentError(where, f"{value!r} needs {owner}ReservedCgroup", hint)
    for owner in ("system", "kube"):
        if {f"{owner}-reserved", f"{owner}-reserved-compressible"} <= set(wanted):
            reason = f"{owner}-reserved and {owner}-reserved-compressible exclude each other"
            yield DocumentError(path, reason, "keep one of the two")
    if "none" in wanted and len(wanted) > 1:
        yield DocumentError(path, "'none' stands alone", "remove 'none' or everything else")
    if not configuration.cgroups_per_qos and set(wanted) - {"none"}:
        yield DocumentError(path, "needs cgroupsPerQOS: true", "set cgroupsPerQOS: true, or enforce [none]")


def _cpus(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    path = "$.reservedSystemCPUs"
    if not configuration.reserved_system_cpus:
        return
    try:
        parse_cpu_set(configuration.reserved_system_cpus)
    except ValueError as error:
        yield DocumentError(path, str(error), "write a list such as 0-1,8")
    if configuration.system_reserved_cgroup or configuration.kube_reserved_cgroup:
        reason = "cannot be together with systemReservedCgroup or kubeReservedCgroup"
        yield DocumentError(path, reason, "keep the CPUs or the cgroups")


def _reserved_memory(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    seen: set[tuple[int, str]] = set()
    for index, reservation in enumerate(configuration.reserved_memory):
        where = f"$.reservedMemory[{index}]"
        if reservation.numa_node < 0:
            yield DocumentError(f"{where}.numaNode", "must not be negative", "give the number of a NUMA node")
        if not reservation.limits:
            yield DocumentError(f"{where}.limits", "is empty", "give memory or hugepages-<size>")
        for name, text in reservation.limits.items():
            path = below(f"{where}.limits", name)
            if name != "memory" and not name.startswith("hugepages-"):
                yield DocumentError(path, "is not a kind of memory", "use memory or hugepages-<size>")
            if (reservation.numa_node, name) in seen:
                yield DocumentError(path, f"given twice for NUMA node {reservation.numa_node}", "keep one")
            seen.add((reservation.numa_node, name))
            yield from _quantity(path, text)


def _qos_reserved(configuration: KubeletConfiguration, gates: FeatureGates) -> Iterator[DocumentError]:
    if configuration.qos_reserved and not gates.enabled("QOSReserved"):
        yield DocumentError("$.qosReserved", "needs the feature gate QOSReserved", "set featureGates.QOSReserved: true")
    for name, text in configuration.qos_reserved.items():
        if name != "memory":
            yield DocumentError(below("$.qosReserved", name), "cannot be reserved by QoS", "only memory can")
        share = text.removesuffix("%")
        if share == text or not (share.isascii() and share.isdigit()) or int(share) > 100:
            yield DocumentError(below("$.qosReserved", name), f"{text!r} is not a percentage", "write 0% to 100%")


def _options(configuration: KubeletConfiguration, gates: FeatureGates) -> Iterator[DocumentError]:
    cpu = configuration.cpu_manager_policy_options
    yield from _known_options("$.cpuManagerPolicyOptions", cpu, CPU_OPTIONS, gates, _truth)
    on = {name for name, value in cpu.items() if value.lower() == "true"}
    for first, second in _CPU_CONFLICTS:
        if {first, second} <= on:
            path = f"$.cpuManagerPolicyOptions.{first}"
            yield DocumentError(path, f"cannot be together with {second}", "keep one of the two")
    if "align-by-socket" in on and configuration.topology_manager_policy == "single-numa-node":
        path = "$.cpuManagerPolicyOptions.align-by-socket"
        yield DocumentError(path, "cannot be together with topologyManagerPolicy single-numa-node", "drop one")
    if cpu and configuration.cpu_manager_policy == "none":
        yield DocumentError("$.cpuManagerPolicyOptions", "needs a CPU manager", "set cpuManagerPolicy: static")
    topology = configuration.topology_manager_policy_options
    yield from _known_options("$.topologyManagerPolicyOptions", topology, TOPOLOGY_OPTIONS, gates, _topology)


def _truth(_name: str, value: str) -> str | None:
    return None if value.lower() in ("true", "false") else "must be the text true or false"


def _topology(name: str, value: str) -> str | None:
    if name != "max-allowable-numa-nodes":
        return _truth(name, value)
    return None if value.isascii() and value.isdigit() and int(value) >= 8 else "must be a number of 8 or more"


def _known_options(
    path: str,
    options: Mapping[str, str],
    known: Mapping[str, str],
    gates: FeatureGates,
    check: Callable[[str, str], str | None],
) -> Iterator[DocumentError]:
    for name, value in options.items():
        gate = known.get(name)
        if gate is None:
            yield DocumentError(below(path, name), "unknown option", f"use one of {', '.join(known)}")
        elif gate and not gates.enabled(gate):
            yield DocumentError(below(path, name), f"needs the feature gate {gate}", f"set featureGates.{gate}: true")
        elif reason := check(name, value):
            yield DocumentError(below(path, name), f"{value!r}: {reason}", "quote the value: it is text")
