"""Feature gates of Kubernetes 1.36 that concern no node (spec 18).

Every component of Kubernetes knows the gates of all. A cluster may give one list to all of them, so a kubelet takes
these names, too, and does nothing with them. The rows are those of `config.kubelet.feature_gates`.
"""

ON = """
    APIResponseCompression Beta 1.16
    APIServerIdentity Beta 1.26
    APIServerTracing GA 1.34 locked
    AggregatedDiscoveryRemoveBetaType Deprecated 1.35 locked
    AllowOverwriteTerminationGracePeriodSeconds Deprecated 1.35 locked
    AllowParsingUserUIDFromCertAuth Beta 1.33
    AllowServiceExternalIPs GA 1.0
    AnonymousAuthConfigurableEndpoints GA 1.34 locked
    AnyVolumeDataSource GA 1.33 locked
    AuthorizePodWebsocketUpgradeCreatePermission Beta 1.35
    AuthorizeWithSelectors GA 1.34 locked
    BtreeWatchCache GA 1.33 locked
    CRDObservedGenerationTracking Beta 1.36
    CRDValidationRatcheting GA 1.33 locked
    ClearingNominatedNodeNameAfterBinding Beta 1.35
    ConsistentListFromCache GA 1.34 locked
    ConstrainedImpersonation Beta 1.36
    CustomResourceFieldSelectors GA 1.32 locked
    DRAResourceClaimGranularStatusAuthorization Beta 1.36
    DRASchedulerFilterTimeout Beta 1.34
    DeclarativeValidation GA 1.36 locked
    DeclarativeValidationBeta Beta 1.36
    DeploymentReplicaSetTerminatingReplicas Beta 1.35
    DetectCacheInconsistency Beta 1.34
    DisableAllocatorDualWrite GA 1.35 locked
    ExternalServiceAccountTokenSigner GA 1.36 locked
    HPAConfigurableTolerance Beta 1.35
    JobBackoffLimitPerIndex GA 1.33 locked
    JobManagedBy GA 1.35 locked
    JobPodReplacementPolicy GA 1.34 locked
    JobSuccessPolicy GA 1.33 locked
    ListFromCacheSnapshot Beta 1.34
    LogarithmicScaleDown GA 1.31 locked
    MatchLabelKeysInPodAffinity GA 1.33 locked
    MatchLabelKeysInPodTopologySpread Beta 1.27
    MatchLabelKeysInPodTopologySpreadSelectorMerge Beta 1.34
    MultiCIDRServiceAllocator GA 1.34 locked
    MutablePodResourcesForSuspendedJobs Beta 1.36
    MutableSchedulingDirectivesForSuspendedJobs Beta 1.36
    MutatingAdmissionPolicy GA 1.36
    NFTablesProxyMode GA 1.33 locked
    NodeInclusionPolicyInPodTopologySpread GA 1.33 locked
    NominatedNodeNameForExpectation Beta 1.35
    OpenAPIEnums Beta 1.24
    OpportunisticBatching Beta 1.35
    OrderedNamespaceDeletion GA 1.34 locked
    PodDeletionCost Beta 1.22
    PodSchedulingReadiness GA 1.30 locked
    PodTopologyLabelsAdmission Beta 1.35
    PreferSameTrafficDistribution GA 1.35 locked
    RelaxedServiceNameValidation Beta 1.36
    RemoteRequestHeaderUID Beta 1.33
    ResilientWatchCacheInitialization GA 1.34 locked
    RetryGenerateName GA 1.32 locked
    SchedulerAsyncPreemption Beta 1.33
    SchedulerPopFromBackoffQ Beta 1.33
    SchedulerQueueingHints GA 1.34 locked
    SeparateCacheWatchRPC Deprecated 1.36 locked
    SeparateTaintEvictionController GA 1.34 locked
    ServiceAccountTokenJTI GA 1.32 locked
    ServiceAccountTokenNodeBindingValidation GA 1.32 locked
    ServiceAccountTokenPodNodeInfo GA 1.32 locked
    ServiceCIDRStatusFieldWiping Deprecated 1.36
    SizeBasedListCostEstimate Beta 1.34
    StaleControllerConsistencyDaemonSet Beta 1.36
    StaleControllerConsistencyJob Beta 1.36
    StaleControllerConsistencyReplicaSet Beta 1.36
    StaleControllerConsistencyStatefulSet Beta 1.36
    StatefulSetSemanticRevisionComparison Beta 1.0
    StorageNamespaceIndex Deprecated 1.33
    StorageVersionHash Beta 1.15
    StreamingCollectionEncodingToJSON GA 1.34 locked
    StreamingCollectionEncodingToProtobuf GA 1.34 locked
    StrictIPCIDRValidation Beta 1.36
    StructuredAuthenticationConfiguration GA 1.34 locked
    StructuredAuthenticationConfigurationEgressSelector Beta 1.34
    StructuredAuthenticationConfigurationJWKSMetrics Beta 1.35
    TokenRequestServiceAccountUIDValidation Beta 1.34
    UnauthenticatedHTTP2DOSMitigation Beta 1.29
    UnknownVersionInteroperabilityProxy Beta 1.36
    WatchCacheInitializationPostStartHook Beta 1.36
    WatchList Beta 1.34
    WinDSR GA 1.34 locked
    WinOverlay GA 1.34 locked
    WindowsGracefulNodeShutdown Beta 1.34
"""

OFF = """
    APIServingWithRoutine Alpha 1.30
    AllowInsecureKubeletCertificateSigningRequests Deprecated 1.31
    AllowUnsafeMalformedObjectDeletion Alpha 1.32
    CBORServingAndStorage Alpha 1.32
    CloudControllerManagerWatchBasedRoutesReconciliation Alpha 1.35
    CloudControllerManagerWebhook Alpha 1.27
    ConcurrentWatchObjectDecode Beta 1.31
    ControllerManagerReleaseLeaderElectionLockOnExit Alpha 1.36
    CoordinatedLeaderElection Beta 1.33
    CrossNamespaceVolumeDataSource Alpha 1.26
    DRADeviceTaintRules Beta 1.36
    DeclarativeValidationTakeover Deprecated 1.36
    GangScheduling Alpha 1.35
    GenericWorkload Alpha 1.35
    HPAScaleToZero Alpha 1.16
    KMSv1 Deprecated 1.29
    ManifestBasedAdmissionControlConfig Alpha 1.36
    MaxUnavailableStatefulSet Beta 1.35
    MutablePVNodeAffinity Alpha 1.35
    PersistentVolumeClaimUnusedSinceTime Alpha 1.36
    SchedulerAsyncAPICalls Beta 1.34
    ShardedListAndWatch Alpha 1.36
    StorageCapacityScoring Alpha 1.33
    StorageVersionAPI Alpha 1.20
    StorageVersionMigrator Beta 1.35
    TaintTolerationComparisonOperators Alpha 1.35
    TopologyAwareWorkloadScheduling Alpha 1.36
    WindowsCPUAndMemoryAffinity Alpha 1.32
    WindowsHostNetwork Deprecated 1.33
    WorkloadAwarePreemption Alpha 1.36
    WorkloadWithJob Alpha 1.36
"""
