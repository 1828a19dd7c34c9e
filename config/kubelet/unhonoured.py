"""Settings that a kubelet acts on and this agent does not.

A warning names each one that is not at its default.

So nobody has to discover on a running node that a setting does nothing. Remove a row when its setting is honoured, and
name the test in `docs/reference/settings.md`. Refused settings are in `config.kubelet.validation`.
"""

from collections.abc import Iterator, Mapping
from functools import reduce

import msgspec

from config.documents.codec import DocumentError
from config.kubelet.configuration import KubeletConfiguration, document_path
from config.kubelet.feature_gates import ALL_OF_STAGE, GATES, FeatureGates

NO_EFFECT = "has no effect in this agent"


class Unhonoured(msgspec.Struct, frozen=True):
    """Why a field has no effect, and what to do. `kept`: values beside the default that hold all the same."""

    why: str
    hint: str = "remove it"
    kept: tuple[object, ...] = ()


_NO_CPU = Unhonoured("containers share all CPUs", "set cpuManagerPolicy: none")
_NO_NUMA = Unhonoured("resources are not aligned to NUMA nodes", "set topologyManagerPolicy: none")
_NO_MEMORY = Unhonoured("memory is not pinned to NUMA nodes", "set memoryManagerPolicy: None")
_UNBUFFERED = Unhonoured("each line is written at once")

FIELDS: Mapping[str, Unhonoured] = {
    "content_type": Unhonoured("the agent talks JSON to the API server", "set application/json", ("application/json",)),
    "cpu_manager_policy": _NO_CPU,
    "cpu_manager_policy_options": _NO_CPU,
    "cpu_manager_reconcile_period": _NO_CPU,
    "enable_contention_profiling": Unhonoured("there is no profile of lock contention"),
    "logging.options.text.info_buffer_size": _UNBUFFERED,
    "logging.options.json.info_buffer_size": _UNBUFFERED,
    "memory_manager_policy": _NO_MEMORY,
    "reserved_memory": _NO_MEMORY,
    "show_hidden_metrics_for_version": Unhonoured("there are no hidden metrics"),
    "topology_manager_policy": _NO_NUMA,
    "topology_manager_policy_options": _NO_NUMA,
    "topology_manager_scope": _NO_NUMA,
}
"""By the path of the attribute in KubeletConfiguration."""

HONOURED_GATES = frozenset(
    {
        "ClusterTrustBundle",  # all that it does on a node is to be needed by the next one
        "ClusterTrustBundleProjection",
        "ComponentFlagz",
        "ComponentStatusz",
        "ContainerCheckpoint",
        "ContainerStopSignals",
        "CPUManagerPolicyAlphaOptions",
        "CPUManagerPolicyBetaOptions",
        "CSIVolumeHealth",
        "CustomCPUCFSQuotaPeriod",
        "EnvFiles",
        "ExtendWebSocketsToKubelet",
        "GracefulNodeShutdown",
        "GracefulNodeShutdownBasedOnPodPriority",
        "KubeletCrashLoopBackOffMax",
        "KubeletEnsureSecretPulledImages",
        "KubeletServiceAccountTokenForCredentialProviders",
        "LoggingAlphaOptions",
        "LoggingBetaOptions",
        "MemoryQoS",
        "NodeDeclaredFeatures",
        "PodCertificateRequest",
        "PreventStaticPodAPIReferences",
        "QOSReserved",
        "ReduceDefaultCrashLoopBackOffDecay",
        "RestartAllContainersOnContainerExits",
        "RotateKubeletServerCertificate",
        "SELinuxMount",
    }
)
"""Gates whose choice changes what the agent does. The locked ones are refused (`choose_gates`)."""

_DEFAULTS = KubeletConfiguration()


def unhonoured_fields(configuration: KubeletConfiguration) -> Iterator[DocumentError]:
    """A warning for each field that is set and not honoured."""
    for attribute, row in FIELDS.items():
        path = attribute.split(".")
        value = reduce(getattr, path, configuration)
        if value != reduce(getattr, path, _DEFAULTS) and value not in row.kept:
            yield DocumentError(f"$.{document_path(attribute)}", f"{NO_EFFECT}: {row.why}", row.hint)


def unhonoured_gates(gates: FeatureGates) -> Iterator[DocumentError]:
    """A warning for each gate that is chosen and not honoured; one for all gates of a stage."""
    for name, value in gates.chosen.items():
        path = f"$.featureGates.{name}"
        if name in ALL_OF_STAGE:
            if left := _of_stage(name, value):
                yield DocumentError(path, f"{NO_EFFECT} on {', '.join(left)}", "name the gates that you need")
            continue
        gate = GATES[name]
        if value == gate.default or name in HONOURED_GATES:
            continue
        why = f"it behaves as with {str(gate.default).lower()}" if gate.of_nodes else "the gate concerns no node"
        yield DocumentError(path, f"{NO_EFFECT}: {why}", "remove it")


def _of_stage(name: str, value: bool) -> list[str]:
    """The gates of nodes that a choice for a whole stage would change, and does not."""
    return [
        gate.name
        for gate in GATES.values()
        if gate.stage is ALL_OF_STAGE[name] and gate.of_nodes and not gate.locked and gate.default != value
        if gate.name not in HONOURED_GATES
    ]
