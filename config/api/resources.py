"""The resources of the API that a node uses: group, version, plural name, kind, and their paths.

One constant per resource. Pure data; `runtime.api.calls` has the requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec

from config.api.large_objects import LARGE_BYTES, read_large
from config.documents.codec import decode
from config.objects import (
    ApiObject,
    CertificateSigningRequest,
    ClusterTrustBundle,
    ConfigMap,
    CSIDriver,
    CSINode,
    Event,
    Lease,
    Namespace,
    Node,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodCertificateRequest,
    ResourceClaim,
    ResourceSlice,
    RuntimeClass,
    Secret,
    Service,
    ServiceAccount,
    SubjectAccessReview,
    TokenReview,
    VolumeAttachment,
)

K = TypeVar("K", bound=ApiObject)


@dataclass(frozen=True, slots=True)
class Resource(Generic[K]):
    """One resource.

    `group` is empty for core; `plural` is its name in paths; `kind` is the struct of one object.
    """

    group: str
    version: str
    plural: str
    kind: type[K]
    namespaced: bool = True
    root: str = field(init=False)
    """The beginning of all its paths: "/api/v1", "/apis/coordination.k8s.io/v1"."""

    def __post_init__(self) -> None:
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        object.__setattr__(self, "root", root)

    @property
    def api_version(self) -> str:
        """The `apiVersion`: "v1", "coordination.k8s.io/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Path of the collection, of one object, or of a subresource. An empty namespace means all namespaces."""
        if namespace and self.namespaced:
            path = f"{self.root}/namespaces/{namespace}/{self.plural}"
        else:
            path = f"{self.root}/{self.plural}"
        if not name:
            return f"{path}/{subresource}" if subresource else path
        return f"{path}/{name}/{subresource}" if subresource else f"{path}/{name}"

    def decode(self, body: bytes) -> K:
        """Decode one object, as `read_object` does. Raises DocumentError."""
        return read_object(body, self.kind)


def read_object(body: bytes, kind: type[K]) -> K:
    """An object as an API server shows it, without its managedFields. Raises DocumentError.

    Nobody here reads these, and they take more memory than the rest of a pod.
    """
    if len(body) >= LARGE_BYTES:
        return read_large(body, kind)
    read = decode(body, kind)
    metadata = getattr(read, "metadata", None)
    if not isinstance(metadata, ObjectMeta) or not metadata.managed_fields:
        return read
    return msgspec.structs.replace(read, metadata=msgspec.structs.replace(metadata, managed_fields=()))


PODS = Resource("", "v1", "pods", Pod)
NODES = Resource("", "v1", "nodes", Node, namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", Namespace, namespaced=False)
EVENTS = Resource("", "v1", "events", Event)
CONFIG_MAPS = Resource("", "v1", "configmaps", ConfigMap)
SECRETS = Resource("", "v1", "secrets", Secret)
SERVICES = Resource("", "v1", "services", Service)
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", ServiceAccount)
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", PersistentVolume, namespaced=False)
PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", PersistentVolumeClaim)
LEASES = Resource("coordination.k8s.io", "v1", "leases", Lease)
RESOURCE_CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", ResourceClaim)
RESOURCE_SLICES = Resource("resource.k8s.io", "v1", "resourceslices", ResourceSlice, namespaced=False)
RUNTIME_CLASSES = Resource("node.k8s.io", "v1", "runtimeclasses", RuntimeClass, namespaced=False)
CSI_NODES = Resource("storage.k8s.io", "v1", "csinodes", CSINode, namespaced=False)
CSI_DRIVERS = Resource("storage.k8s.io", "v1", "csidrivers", CSIDriver, namespaced=False)
VOLUME_ATTACHMENTS = Resource("storage.k8s.io", "v1", "volumeattachments", VolumeAttachment, namespaced=False)
CERTIFICATE_SIGNING_REQUESTS = Resource(
    "certificates.k8s.io", "v1", "certificatesigningrequests", CertificateSigningRequest, namespaced=False
)
CLUSTER_TRUST_BUNDLES = Resource(
    "certificates.k8s.io", "v1beta1", "clustertrustbundles", ClusterTrustBundle, namespaced=False
)
POD_CERTIFICATE_REQUESTS = Resource("certificates.k8s.io", "v1beta1", "podcertificaterequests", PodCertificateRequest)
TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", TokenReview, namespaced=False)
SUBJECT_ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", SubjectAccessReview, namespaced=False
)
