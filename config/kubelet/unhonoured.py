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
from config.kubelet.feature_gates import ALL_OF_STAGE, GATES, FeatureGate, FeatureGates

NO_EFFECT = "has no effect in this agent"


class Unhonoured(msgspec.Struct, frozen=True):
    """Why a field has no effect, and what to do. `kept`: values beside the default that hold all the same."""

    why: str
    hint: str = "remove it"
    kept: tuple[object, ...] = ()


_UNBUFFERED = Unhonoured("each line is written at once")

FIELDS: Mapping[str, Unhonoured] = {
    "content_type": Unhonoured("the agent talks JSON to the API server", "set application/json", ("application/json",)),
    "enable_contention_profiling": Unhonoured("there is no profile of lock contention"),
    "logging.options.text.info_buffer_size": _UNBUFFERED,
    "logging.options.json.info_buffer_size": _UNBUFFERED,
    "show_hidden_metrics_for_version": Unhonoured("there are no hidden metrics"),
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
        "CRIListStreaming",
        "CSIVolumeHealth",
        "CustomCPUCFSQuotaPeriod",
        "DisableCPUQuotaWithExclusiveCPUs",
        "EnvFiles",
        "ExtendWebSocketsToKubelet",
        "GracefulNodeShutdown",
        "GracefulNodeShutdownBasedOnPodPriority",
        "ImageVolumeWithDigest",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingExclusiveCPUs",
        "InPlacePodVerticalScalingInitContainers",
        "KubeletCrashLoopBackOffMax",
        "KubeletEnsureSecretPulledImages",
        "KubeletPodResourcesListUseActivePods",
        "KubeletServiceAccountTokenForCredentialProviders",
        "LoggingAlphaOptions",
        "LoggingBetaOptions",
        "MemoryQoS",
        "NodeDeclaredFeatures",
        "PodCertificateRequest",
        "PodLevelResourceManagers",
        "PodLogsQuerySplitStreams",
        "PreventStaticPodAPIReferences",
        "QOSReserved",
        "ReduceDefaultCrashLoopBackOffDecay",
        "ResourceHealthStatus",
        "ResourceHealthStatusMessage",
        "RestartAllContainersOnContainerExits",
        "RotateKubeletServerCertificate",
        "SELinuxMount",
        "UserNamespacesHostNetworkSupport",
    }
)
"""Gates whose choice changes what the agent does. The locked ones are refused (`choose_gates`)."""

_SCHEDULER = "the scheduler and the API server act on it, not the node"
_CLIENT_GO = "it is about client-go; the agent has a client, watches and a log of its own"
_API_SERVER = "the API server acts on it, not the node"
ABSENT_GATES: Mapping[str, str] = {
    "DRADeviceBindingConditions": _SCHEDULER,
    "DRADeviceTaints": _SCHEDULER,
    "DRAListTypeAttributes": _SCHEDULER,
    "DRAPartitionableDevices": _SCHEDULER,
    "DRAPrioritizedList": _SCHEDULER,
    "DRAResourceClaimDeviceStatus": _SCHEDULER,
    "DRAResourcePoolStatus": _SCHEDULER,
    "AtomicFIFO": _CLIENT_GO,
    "ClientsAllowCARotation": _CLIENT_GO,
    "ClientsAllowCBOR": _CLIENT_GO,
    "ClientsAllowTLSCacheGC": _CLIENT_GO,
    "ClientsPreferCBOR": _CLIENT_GO,
    "ContextualLogging": _CLIENT_GO,
    "InformerResourceVersion": _CLIENT_GO,
    "InOrderInformersBatchProcess": _CLIENT_GO,
    "UnlockWhileProcessingFIFO": _CLIENT_GO,
    "WatchListClient": "the agent lists in pages and then watches",
    "PortForwardWebsockets": _API_SERVER,
    "ServiceAccountNodeAudienceRestriction": _API_SERVER,
    "TranslateStreamCloseWebsocketRequests": _API_SERVER,
}
"""Gates of which the agent has neither the one behaviour nor the other, and why."""

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
        yield DocumentError(path, f"{NO_EFFECT}: {_why(gate)}", "remove it")


def _why(gate: FeatureGate) -> str:
    if not gate.of_nodes:
        return "the gate concerns no node"
    return ABSENT_GATES.get(gate.name) or f"it behaves as with {str(gate.default).lower()}"


def _of_stage(name: str, value: bool) -> list[str]:
    """The gates of nodes that a choice for a whole stage would change, and does not."""
    return [
        gate.name
        for gate in GATES.values()
        if gate.stage is ALL_OF_STAGE[name] and gate.of_nodes and not gate.locked and gate.default != value
        if gate.name not in HONOURED_GATES
    ]
