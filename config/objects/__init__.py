"""Objects of the Kubernetes API that a node has to do with, as frozen structs.

The package exports every kind, and of their parts what users need by name; the others stay in their modules.
"""

from config.objects.authentication import (
    BoundObjectReference,
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
    CertificateSigningRequestSpec,
    CertificateSigningRequestStatus,
    ServiceAccount,
    TokenRequest,
    TokenRequestSpec,
    TokenRequestStatus,
    TokenReview,
    TokenReviewSpec,
    TokenReviewStatus,
    UserInfo,
)
from config.objects.authorization import (
    ResourceAttributes,
    SubjectAccessReview,
    SubjectAccessReviewSpec,
    SubjectAccessReviewStatus,
)
from config.objects.base import ApiObject, ApiStruct, UnknownFields
from config.objects.certificates import (
    ClusterTrustBundle,
    ClusterTrustBundleSpec,
    PodCertificateRequest,
    PodCertificateRequestSpec,
    PodCertificateRequestStatus,
)
from config.objects.config_data import ConfigMap, Secret
from config.objects.config_volumes import (
    ClusterTrustBundleProjection,
    ConfigMapProjection,
    ConfigMapVolumeSource,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    KeyToPath,
    PodCertificateProjection,
    ProjectedVolumeSource,
    SecretProjection,
    SecretVolumeSource,
    ServiceAccountTokenProjection,
    VolumeProjection,
)
from config.objects.containers import (
    Container,
    ContainerPort,
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    EphemeralContainer,
    VolumeDevice,
    VolumeMount,
)
from config.objects.environment import (
    ConfigMapEnvSource,
    ConfigMapKeySelector,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    FileKeySelector,
    ObjectFieldSelector,
    ResourceFieldSelector,
    SecretEnvSource,
    SecretKeySelector,
)
from config.objects.event import Event
from config.objects.handlers import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Lifecycle,
    LifecycleHandler,
    Probe,
    SleepAction,
    TCPSocketAction,
)
from config.objects.meta import ObjectMeta, OwnerReference
from config.objects.namespace import Namespace
from config.objects.node import (
    ContainerImage,
    DaemonEndpoint,
    Lease,
    LeaseSpec,
    Node,
    NodeAddress,
    NodeCondition,
    NodeDaemonEndpoints,
    NodeFeatures,
    NodeRuntimeHandler,
    NodeRuntimeHandlerFeatures,
    NodeSpec,
    NodeStatus,
    NodeSwapStatus,
    NodeSystemInfo,
    Taint,
)
from config.objects.pod import HostAlias, Pod, PodDNSConfig, PodDNSConfigOption, PodList, PodSpec
from config.objects.pod_status import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ContainerUser,
    HostIP,
    ImageVolumeStatus,
    LinuxContainerUser,
    PodCondition,
    PodIP,
    PodResourceClaimStatus,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
    VolumeMountStatus,
    VolumeStatus,
)
from config.objects.requests import Binding, DeleteOptions, Eviction, Status
from config.objects.resource_claims import ResourceClaim, ResourceClaimStatus, ResourceSlice
from config.objects.resources import ContainerResizePolicy, PodResourceClaim, ResourceRequirements
from config.objects.scheduling import Affinity, NodeAffinity, PodOS, PodReadinessGate, RuntimeClass, Toleration
from config.objects.security import (
    AppArmorProfile,
    Capabilities,
    PodSecurityContext,
    SeccompProfile,
    SecurityContext,
    SELinuxOptions,
    Sysctl,
)
from config.objects.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, SecretReference
from config.objects.service import Service, ServicePort, ServiceSpec
from config.objects.storage import (
    CSIDriver,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIPersistentVolumeSource,
    CSIServiceAccountTokenRequest,
    LocalVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    VolumeAttachment,
    VolumeNodeResources,
)
from config.objects.volumes import (
    CSIVolumeSource,
    EmptyDirVolumeSource,
    EphemeralVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    GitRepoVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    PersistentVolumeClaimVolumeSource,
    Volume,
)
