"""Feature gates of the kubelet: which exist, their stages, and what choosing them means (spec 18).

The tables below are the whole truth: a name, its stage, the release that stage began in, and whether the value is
locked. Choosing is a pure function: from a map to the gates in force and every fault. Nothing here is global, so two
nodes in one process may run with different gates. It refuses to know what a gate does.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from config.documents.codec import DocumentError, Faults
from config.kubelet import other_gates
from config.kubelet.gate_dependencies import NEEDS
from config.values.nearest import did_you_mean


class FeatureStage(StrEnum):
    ALPHA = "Alpha"
    BETA = "Beta"
    GA = "GA"
    DEPRECATED = "Deprecated"


class FeatureGate(msgspec.Struct, frozen=True):
    name: str
    stage: FeatureStage
    since: str
    default: bool
    locked: bool
    of_nodes: bool = True


# name, stage, release the stage began in, and the word "locked" where the value cannot be changed.
_ON = """
    AuthorizeNodeWithSelectors GA 1.34 locked
    ComponentFlagz Beta 1.36
    ComponentStatusz Beta 1.36
    ContainerCheckpoint Beta 1.30
    ContainerRestartRules Beta 1.35
    CustomCPUCFSQuotaPeriod GA 1.36
    CPUManagerPolicyBetaOptions Beta 1.23
    CPUManagerPolicyOptions GA 1.33 locked
    CSIServiceAccountTokenSecrets GA 1.36 locked
    DisableCPUQuotaWithExclusiveCPUs Deprecated 1.36
    DisableNodeKubeProxyVersion Deprecated 1.36 locked
    DRAAdminAccess GA 1.36 locked
    DRAConsumableCapacity Beta 1.36
    DRADeviceBindingConditions Beta 1.36
    DRADeviceTaints Beta 1.36
    DRAExtendedResource Beta 1.36
    DRAPartitionableDevices Beta 1.36
    DRAPrioritizedList GA 1.36
    DRAResourceClaimDeviceStatus Beta 1.33
    DynamicResourceAllocation GA 1.35 locked
    EnvFiles Beta 1.35
    ExecProbeTimeout GA 1.35 locked
    ExtendWebSocketsToKubelet Beta 1.36
    GracefulNodeShutdown Beta 1.21
    GracefulNodeShutdownBasedOnPodPriority Beta 1.24
    HostnameOverride Beta 1.35
    ImageMaximumGCAge GA 1.35 locked
    ImageVolume GA 1.36 locked
    InPlacePodLevelResourcesVerticalScaling Beta 1.36
    InPlacePodVerticalScaling GA 1.35 locked
    InPlacePodVerticalScalingInitContainers Beta 1.36
    KubeletCgroupDriverFromCRI GA 1.34 locked
    KubeletCrashLoopBackOffMax Beta 1.35
    KubeletEnsureSecretPulledImages Beta 1.35
    KubeletFineGrainedAuthz GA 1.36 locked
    KubeletPodResourcesDynamicResources GA 1.36 locked
    KubeletPodResourcesGet GA 1.36 locked
    KubeletPodResourcesListUseActivePods Deprecated 1.34
    KubeletPSI GA 1.36 locked
    KubeletSeparateDiskGC Beta 1.31
    KubeletServiceAccountTokenForCredentialProviders Beta 1.34
    KubeletTracing GA 1.34 locked
    MutableCSINodeAllocatableCount GA 1.36 locked
    NodeDeclaredFeatures Beta 1.36
    NodeLogQuery GA 1.36 locked
    NodeSwap GA 1.34 locked
    PLEGOnDemandRelist Beta 1.36
    PodLevelResources Beta 1.34
    PodLifecycleSleepAction GA 1.34 locked
    PodLifecycleSleepActionAllowZero GA 1.34 locked
    PodObservedGenerationTracking GA 1.35 locked
    PodReadyToStartContainersCondition Beta 1.29
    PortForwardWebsockets Beta 1.31
    PreventStaticPodAPIReferences Beta 1.34
    ProcMountType GA 1.36 locked
    RecoverVolumeExpansionFailure GA 1.34 locked
    RecursiveReadOnlyMounts GA 1.33 locked
    RelaxedDNSSearchValidation GA 1.34 locked
    RelaxedEnvironmentVariableValidation GA 1.34 locked
    ReloadKubeletClientCAFile Beta 1.36
    ReloadKubeletServerCertificateFile Beta 1.31
    ResourceHealthStatus Beta 1.36
    ResourceHealthStatusMessage Beta 1.36
    RestartAllContainersOnContainerExits Beta 1.36
    RotateKubeletServerCertificate Beta 1.12
    SELinuxChangePolicy GA 1.36 locked
    SELinuxMountReadWriteOncePod GA 1.36 locked
    ServiceAccountNodeAudienceRestriction Beta 1.33
    ServiceAccountTokenNodeBinding GA 1.33 locked
    SidecarContainers GA 1.33 locked
    SupplementalGroupsPolicy GA 1.35 locked
    SystemdWatchdog GA 1.35 locked
    TopologyManagerPolicyBetaOptions Beta 1.28
    TopologyManagerPolicyOptions GA 1.32 locked
    TranslateStreamCloseWebsocketRequests Beta 1.30
    UserNamespacesSupport GA 1.36 locked
    VolumeAttributesClass GA 1.36 locked
    ContextualLogging Beta 1.30
    LoggingBetaOptions Beta 1.24
    WatchListClient Beta 1.35
    InformerResourceVersion GA 1.35
    InOrderInformers GA 1.36 locked
    InOrderInformersBatchProcess Beta 1.35
    AtomicFIFO Beta 1.36
    UnlockWhileProcessingFIFO Beta 1.36
    ClientsAllowCARotation Beta 1.36
    ClientsAllowTLSCacheGC Beta 1.36
"""

_OFF = """
    AllowDNSOnlyNodeCSR Deprecated 1.31
    ChangeContainerStatusOnKubeletRestart Deprecated 1.35
    ClusterTrustBundle Beta 1.33
    ClusterTrustBundleProjection Beta 1.33
    ContainerStopSignals Alpha 1.33
    CPUManagerPolicyAlphaOptions Alpha 1.23
    CRIListStreaming Alpha 1.36
    CSIVolumeHealth Alpha 1.21
    DRAListTypeAttributes Alpha 1.36
    DRANodeAllocatableResources Alpha 1.36
    DRAResourcePoolStatus Alpha 1.36
    DRAWorkloadResourceClaims Alpha 1.36
    EventedPLEG Alpha 1.26
    GitRepoVolumeDriver Deprecated 1.36 locked
    ImageVolumeWithDigest Alpha 1.35
    InPlacePodVerticalScalingExclusiveCPUs Alpha 1.32
    InPlacePodVerticalScalingExclusiveMemory Alpha 1.34
    KubeletInUserNamespace Alpha 1.22
    KubeletRegistrationGetOnExistsOnly Deprecated 1.32
    LocalStorageCapacityIsolationFSQuotaMonitoring Beta 1.31
    MemoryQoS Alpha 1.22
    PodAndContainerStatsFromCRI Alpha 1.23
    PodCertificateRequest Beta 1.35
    PodLevelResourceManagers Alpha 1.36
    PodLogsQuerySplitStreams Alpha 1.32
    PodsAPI Alpha 1.36
    QOSReserved Alpha 1.11
    ReduceDefaultCrashLoopBackOffDecay Alpha 1.33
    RuntimeClassInImageCriApi Alpha 1.29
    SELinuxMount Beta 1.33
    TopologyManagerPolicyAlphaOptions Alpha 1.26
    UserNamespacesHostNetworkSupport Alpha 1.35
    VolumeLimitScaling Alpha 1.35
    LoggingAlphaOptions Alpha 1.24
    NativeHistograms Alpha 1.36
    ClientsAllowCBOR Alpha 1.32
    ClientsPreferCBOR Alpha 1.32
"""

ALL_OF_STAGE: Mapping[str, FeatureStage] = {"AllAlpha": FeatureStage.ALPHA, "AllBeta": FeatureStage.BETA}
"""Names that choose for every unlocked gate of a stage that is not named itself."""


def _rows(table: str, default: bool, of_nodes: bool = True) -> Iterator[FeatureGate]:
    for line in table.split("\n"):
        if words := line.split():
            yield FeatureGate(words[0], FeatureStage(words[1]), words[2], default, "locked" in words[3:], of_nodes)


GATES: Mapping[str, FeatureGate] = {
    gate.name: gate
    for gate in (
        *_rows(_ON, True),
        *_rows(_OFF, False),
        *_rows(other_gates.ON, True, of_nodes=False),
        *_rows(other_gates.OFF, False, of_nodes=False),
    )
}


NOT_BUILT: Mapping[str, tuple[str, str]] = {
    "PodsAPI": ("this agent serves no API of its pods on a socket", "remove it; the node's port lists them at /pods"),
}
"""Alpha gates that cannot be turned on: why, and what to do. Whoever names one needs what it brings."""


class FeatureGates(msgspec.Struct, frozen=True):
    """The gates in force; `chosen` is what the user said, faults excepted."""

    chosen: Mapping[str, bool]

    def enabled(self, name: str) -> bool:
        """Whether the gate is on. A name that is no gate is a mistake in the agent: KeyError."""
        gate = GATES[name]
        if gate.locked:
            return gate.default
        if name in self.chosen:
            return self.chosen[name]
        for every, stage in ALL_OF_STAGE.items():
            if gate.stage is stage and every in self.chosen:
                return self.chosen[every]
        return gate.default


class GateChoice(msgspec.Struct, frozen=True):
    """The result of a choice: the gates in force, faults, and warnings about later releases."""

    gates: FeatureGates
    faults: tuple[DocumentError, ...]
    warnings: tuple[DocumentError, ...]


def choose_gates(chosen: Mapping[str, bool], path: str = "$.featureGates") -> GateChoice:
    """Apply a map of gates to the table (spec 18).

    Faults are unknown names, changes of locked gates, gates that are not built, and a gate that is on without one that
    it needs.
    """
    faults, warnings = Faults(), Faults()
    kept: dict[str, bool] = {}
    for name, value in chosen.items():
        where = f"{path}.{name}"
        gate = GATES.get(name)
        if faults.full:
            break
        if gate is None and name not in ALL_OF_STAGE:
            faults.append(DocumentError(where, f"unknown feature gate {name!r}", _unknown_hint(name)))
        elif gate is not None and gate.locked and value != gate.default:
            state = "true" if gate.default else "false"
            faults.append(
                DocumentError(
                    where, f"{name} is locked to {state} since {gate.since}", "remove it; its effect cannot be changed"
                )
            )
        elif value and name in NOT_BUILT:
            why, hint = NOT_BUILT[name]
            faults.append(DocumentError(where, f"{name} cannot be turned on: {why}", hint))
        else:
            kept[name] = value
            if gate is not None and gate.stage in (FeatureStage.GA, FeatureStage.DEPRECATED):
                warnings.append(
                    DocumentError(where, f"{name} is {gate.stage} and will go in a later release", "remove it")
                )
    gates = FeatureGates(kept)
    for fault in _unmet(gates, path):
        faults.append(fault)
    return GateChoice(gates, tuple(faults), tuple(warnings))


def _unmet(gates: FeatureGates, path: str) -> Iterator[DocumentError]:
    """A fault for each gate that is on while one that it needs is off."""
    for name, needed in NEEDS.items():
        off = [each for each in needed if not gates.enabled(each)]
        if off and gates.enabled(name):
            chosen = name if name in gates.chosen else next((each for each in off if each in gates.chosen), name)
            words = " and ".join(off)
            reason = f"{name} is on, and needs {words}, which {'is' if len(off) == 1 else 'are'} off"
            yield DocumentError(f"{path}.{chosen}", reason, f"turn {words} on, or {name} off")


def parse_gates(text: str, path: str = "--feature-gates") -> tuple[dict[str, bool], tuple[DocumentError, ...]]:
    """Read the command line's form `A=true,B=false`; what cannot be read is a fault and left out."""
    chosen: dict[str, bool] = {}
    faults: list[DocumentError] = []
    for piece in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in piece.partition("="))
        truth = TRUTHS.get(value)
        if not equals or not name or truth is None:
            faults.append(DocumentError(path, f"{piece!r} is not Gate=true or Gate=false", "write A=true,B=false"))
        else:
            chosen[name] = truth
    return chosen, tuple(faults)


TRUTHS: Mapping[str, bool] = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
"""How a command line may write a boolean."""


def _unknown_hint(name: str) -> str:
    otherwise = "remove it; the gates known are those of Kubernetes 1.36"
    return did_you_mean(name, (*GATES, *ALL_OF_STAGE), otherwise)
