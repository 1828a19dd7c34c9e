"""Messages about the objects that a pod refers to.

They are config maps, secrets, services, runtime classes and tokens.

Apart from `actors.messages.pods` because only those who need such objects know of them: pod workers, the
`PodVolumesActor`, the `ImagePullActor`, the `ObjectCacheActor`, the `TokenActor` and the `TrustBundlesActor`.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from actors.kernel import ActorRef, Message, SoleMessage
from config.api.selectors import LabelQuery
from config.frozen_map import FrozenMap
from config.objects import ConfigMap, Pod, Secret


class ObjectRef(msgspec.Struct, frozen=True):
    """One object by name. `kind` is ConfigMap or Secret."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f'{self.kind.lower()} "{self.namespace}/{self.name}"'


class ReadFailure(msgspec.Struct, frozen=True):
    """Why an object could not be read. `not_found` is an answer; anything else may pass."""

    not_found: bool
    reason: str


class HoldObjects(Message, frozen=True):
    """PodWorker -> ObjectCacheActor: this pod is here; what it refers to is wanted until `ReleaseObjects`.

    Sent again whenever the pod's spec has changed.
    """

    pod: Pod

    def coalesce_key(self) -> Hashable:
        return self.pod.metadata.uid


class ReleaseObjects(Message, frozen=True):
    """PodWorker -> ObjectCacheActor, TokenActor: the pod has ended."""

    uid: str

    def coalesce_key(self) -> Hashable:
        return self.uid


class ReadObjects(Message, frozen=True):
    """Anybody -> ObjectCacheActor: these objects, as new as the strategy promises (spec 8.9).

    Answered once by `ObjectsRead` with the same `tag`, also when there is no API server (every one is a failure then).
    """

    reader: ActorRef
    tag: Hashable
    refs: tuple[ObjectRef, ...]
    pod_uid: str = ""


class ObjectsRead(Message, frozen=True):
    """ObjectCacheActor -> reader: each asked object is in exactly one of the two maps."""

    tag: Hashable
    objects: FrozenMap[ObjectRef, ConfigMap | Secret]
    failures: FrozenMap[ObjectRef, ReadFailure]


class ObjectsChanged(Message, frozen=True):
    """ObjectCacheActor -> VolumeReconcilerActor: objects that these pods hold have changed.

    Their files are old.
    """

    uids: frozenset[str]


class ObjectCacheStarted(SoleMessage, frozen=True):
    """ObjectCacheActor -> SyncLoopActor: I know no pod (any more).

    Let the workers say again what they hold.
    """


class ReadPodInputs(Message, frozen=True):
    """PodWorker -> ClusterCacheActor: tell me the service variables and the node's resources (spec 13.1).

    `own_namespace`: the pod's `enableServiceLinks`. With `wait` the answer may take seconds, until the services are
    known, and with `needs_node` until the node is known. Answered once by `PodInputsRead` with the same `tag`.
    """

    reader: ActorRef
    tag: Hashable
    namespace: str
    own_namespace: bool
    wait: bool
    needs_node: bool = False


class PodInputsRead(Message, frozen=True):
    """ClusterCacheActor -> reader: service variables, and the node's resources for pods.

    Quantities by resource.

    Not `synced`: the services are not known yet. On a node that stands alone there are none.
    """

    tag: Hashable
    services: FrozenMap[str, str]
    allocatable: FrozenMap[str, str]
    synced: bool


class PodInputs(msgspec.Struct, frozen=True):
    """The inputs of pods from the cluster (spec 13.1) at one moment: services, and the node's resources.

    `allocatable`: quantities by resource, None while the node is not known. `variables`: those of services,
    for pods of each namespace that has services. `everywhere`: for all other pods.
    """

    variables: FrozenMap[str, FrozenMap[str, str]]
    everywhere: FrozenMap[str, str]
    allocatable: FrozenMap[str, str] | None

    def variables_of(self, namespace: str, own_namespace: bool) -> FrozenMap[str, str]:
        """The variables of services for a pod of `namespace`; `own_namespace`: its `enableServiceLinks`."""
        return self.variables.get(namespace, self.everywhere) if own_namespace else self.everywhere


class PodInputsChanged(SoleMessage, frozen=True):
    """ClusterCacheActor -> SyncLoopActor: there is a new value; None: it is not known.

    The sync loop sends the newest, with its pod, to every worker that begins.
    """

    around: PodInputs | None


class ReadRuntimeClass(Message, frozen=True):
    """PodWorker -> ClusterCacheActor: which handler of the runtime this RuntimeClass means (spec 9.8).

    Answered once by `RuntimeClassRead` with the same `tag`.
    """

    reader: ActorRef
    tag: Hashable
    name: str


class RuntimeClassRead(Message, frozen=True):
    """ClusterCacheActor -> reader: the handler, or why there is none (`error` not empty)."""

    tag: Hashable
    handler: str
    error: str = ""


class RequestToken(Message, frozen=True):
    """Anybody -> TokenActor: a token of the pod's service account, bound to the pod (spec 8.7).

    `audience` empty is the API server's own. Answered once by `TokenIssued` or `TokenRefused` with the same `tag`;
    a token that is still fresh is given again. The reader asks again at `refresh_wall_ns`.
    """

    reader: ActorRef
    tag: Hashable
    pod: Pod
    audience: str
    expiration_seconds: int


class TokenIssued(Message, frozen=True):
    """TokenActor -> reader: the token; both times are ns since 1970."""

    tag: Hashable
    token: str
    expires_wall_ns: int
    refresh_wall_ns: int


class TokenRefused(Message, frozen=True):
    """TokenActor -> reader: there is none, and why.

    `omitted`: the file of the token may be left out until `again_wall_ns` (ns since 1970): an island node starts the
    pod without it.
    """

    tag: Hashable
    reason: str
    omitted: bool = False
    again_wall_ns: int = 0


class TrustWant(msgspec.Struct, frozen=True):
    """Trust anchors of one ClusterTrustBundle by `name`, or of all bundles of a signer.

    `labels` selects among those of the signer.

    `labels` None selects nothing. `optional`: no bundle is as good as an empty one.
    """

    name: str = ""
    signer_name: str = ""
    labels: LabelQuery | None = None
    optional: bool = False


class ReadTrustBundles(Message, frozen=True):
    """PodVolumesActor -> TrustBundlesActor: these trust anchors.

    Answered once by `TrustBundlesRead` with the same `tag`, within seconds also while the API server is away.
    """

    reader: ActorRef
    tag: Hashable
    wants: tuple[TrustWant, ...]


class TrustBundlesRead(Message, frozen=True):
    """TrustBundlesActor -> reader: PEM blocks, or why there are none.

    Each want is in exactly one of the two maps.
    """

    tag: Hashable
    anchors: FrozenMap[TrustWant, bytes]
    failures: FrozenMap[TrustWant, str]


class TrustBundlesChanged(SoleMessage, frozen=True):
    """TrustBundlesActor -> VolumeReconcilerActor: files made of bundles may be old."""


class CertificatePlace(msgspec.Struct, frozen=True):
    """One podCertificate projection of a pod: the name of its volume, and its index among the sources."""

    volume: str
    source: int


class CredentialBundle(msgspec.Struct, frozen=True):
    """A private key and its certificate chain, both in PEM."""

    key: bytes
    chain: bytes

    def __repr__(self) -> str:
        return "CredentialBundle(...)"


class ReadPodCertificates(Message, frozen=True):
    """PodVolumesActor -> PodCertificatesActor: the credentials of these projections of a pod.

    Answered at once by `PodCertificatesRead` with the same `tag`. `ObjectsChanged` follows when there are new ones.
    """

    reader: ActorRef
    tag: Hashable
    pod: Pod
    places: tuple[CertificatePlace, ...]


class PodCertificatesRead(Message, frozen=True):
    """PodCertificatesActor -> reader: credentials, or why there are none.

    Each place is in exactly one of the maps.
    """

    tag: Hashable
    bundles: FrozenMap[CertificatePlace, CredentialBundle]
    failures: FrozenMap[CertificatePlace, str]


class PodCertificatesStarted(SoleMessage, frozen=True):
    """PodCertificatesActor -> VolumeReconcilerActor: I know no pod (any more); read again."""
