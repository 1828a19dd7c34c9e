"""Which feature gates need others (spec 18).

A kubelet does not start with a gate on while one that it needs is off.

Gates that are locked on are left out: they cannot be off. Gates of other programs count too, as they do upstream.
"""

from collections.abc import Mapping

# A gate, and those that it needs.
_TABLE = """
    ClusterTrustBundleProjection ClusterTrustBundle
    DRADeviceBindingConditions DRAResourceClaimDeviceStatus
    DRADeviceTaintRules DRADeviceTaints
    DRAResourceClaimGranularStatusAuthorization DRAResourceClaimDeviceStatus
    DRAWorkloadResourceClaims GenericWorkload
    ExtendWebSocketsToKubelet NodeDeclaredFeatures
    GangScheduling GenericWorkload
    GracefulNodeShutdownBasedOnPodPriority GracefulNodeShutdown
    InPlacePodLevelResourcesVerticalScaling NodeDeclaredFeatures PodLevelResources
    InPlacePodVerticalScalingInitContainers NodeDeclaredFeatures
    MatchLabelKeysInPodTopologySpreadSelectorMerge MatchLabelKeysInPodTopologySpread
    PodLevelResourceManagers PodLevelResources
    ResourceHealthStatusMessage ResourceHealthStatus
    RestartAllContainersOnContainerExits ContainerRestartRules NodeDeclaredFeatures
    StaleControllerConsistencyDaemonSet AtomicFIFO
    StaleControllerConsistencyJob AtomicFIFO
    StaleControllerConsistencyReplicaSet AtomicFIFO
    StaleControllerConsistencyStatefulSet AtomicFIFO
    StorageVersionAPI APIServerIdentity
    TopologyAwareWorkloadScheduling GenericWorkload
    UnknownVersionInteroperabilityProxy APIServerIdentity
    UserNamespacesHostNetworkSupport NodeDeclaredFeatures
    WindowsGracefulNodeShutdown GracefulNodeShutdown
    WorkloadAwarePreemption GangScheduling
    WorkloadWithJob GenericWorkload
"""

NEEDS: Mapping[str, tuple[str, ...]] = {
    gate: tuple(needed) for gate, *needed in map(str.split, filter(str.strip, _TABLE.split("\n")))
}
"""Gate -> the gates that must be on while it is."""
