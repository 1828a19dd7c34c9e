"""Messages between pod workers, `ImagePullActor`, `ImageCredentialsActor` and `ImageGCActor`."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Self

import msgspec

from actors.kernel import ActorRef, Message, SoleMessage
from actors.model.pull_records import PullSecret
from config.credentials.docker_config import Credential
from config.objects import Pod
from runtime.cri.messages import Image
from runtime.traces.spans import TraceContext


class SecretCredential(msgspec.Struct, frozen=True):
    """A credential for an image, and the secret that has it."""

    credential: Credential
    secret: PullSecret


class PullImage(Message, frozen=True):
    """PodWorker -> ImagePullActor: get this image; answered once by `ImagePulled` or `ImagePullFailed`.

    `credentials`: those of the pod's secrets that are for this image, in the order in which they are to be tried.
    `secrets`: which secret each of them stands in. `present`: the reference of the image that is on the node; the pod
    may have to show credentials for it once more, as the node's records and `policy` say. `trace`: the pass that asks.
    """

    worker: ActorRef
    pod: Pod
    container: str
    image: str
    field_path: str
    credentials: tuple[Credential, ...] = ()
    secrets: tuple[SecretCredential, ...] = ()
    present: str = ""
    policy: str = ""
    trace: TraceContext | None = None

    def coalesce_key(self) -> Hashable:
        return (self.pod.metadata.uid, self.container, self.image)


class FindCredentials(Message, frozen=True):
    """ImagePullActor -> ImageCredentialsActor: ask the credential programs for the image.

    They are asked on behalf of the pod.

    `image` has its registry and no tag (`docker_config.full_name`). `worker`: the pod's; what was made for the pod ends
    with it. Answered once by `ProviderCredentials`.
    """

    reader: ActorRef
    tag: Hashable
    pod: Pod
    image: str
    worker: ActorRef


class ProvidedCredential(msgspec.Struct, frozen=True):
    """A credential from a program, and its service account; without a name: no certain account."""

    credential: Credential
    namespace: str = ""
    account: str = ""
    account_uid: str = ""


class ProviderCredentials(Message, frozen=True):
    """ImageCredentialsActor -> ImagePullActor: in the order to be tried.

    `problems`: why programs gave nothing.
    """

    tag: Hashable
    found: tuple[ProvidedCredential, ...]
    problems: tuple[str, ...] = ()


class PullWaits(Message, frozen=True):
    """ImagePullActor -> PodWorker: the pull for a container has not begun, for that reason.

    Empty: it has begun now.
    """

    container: str
    why: str

    def coalesce_key(self) -> Hashable:
        return self.container


class ImagePulled(Message, frozen=True):
    """ImagePullActor -> PodWorker: the image is here.

    `present`: it was here before, and the pod may use it.
    """

    image: str
    container: str
    present: bool = False


class ImagePullFailed(Message, frozen=True):
    """ImagePullActor -> PodWorker: it is not.

    `reason` is the waiting reason to show, not before `retry_at_ns` (monotonic). `asking_ns`: how long the credential
    programs took.
    """

    image: str
    container: str
    reason: str
    message: str
    retry_at_ns: int
    asking_ns: int = 0


class PodWaitedForImage(Message, frozen=True):
    """ImagePullActor -> StatusManagerActor: the pod has waited for an image that is here now.

    Times are monotonic.
    """

    uid: str
    began_ns: int
    ended_ns: int

    def coalesce_key(self) -> Hashable:
        return self.uid

    def merged(self, waiting: Self) -> Self:
        return msgspec.structs.replace(self, began_ns=min(self.began_ns, waiting.began_ns))


class LeaseImages(Message, frozen=True):
    """PodWorker -> ImageGCActor: keep these images, as the pod names them, until `ReleaseImages`.

    Replaces the earlier lease of this pod. Answered by `ImagesLeased`: at once, or after a removal of one of them that
    is under way.
    """

    worker: ActorRef
    uid: str
    images: frozenset[str]

    def coalesce_key(self) -> Hashable:
        return ("lease", self.uid)


class ImagesSeen(SoleMessage, frozen=True):
    """ImageGCActor -> ImagePullActor: the runtime has these images.

    The look began at `began_ns`, monotonic.
    """

    images: tuple[Image, ...]
    began_ns: int


class ImageRemoved(Message, frozen=True):
    """ImageGCActor -> ImagePullActor: an image is gone; its removal began at `began_ns`, monotonic."""

    image_ref: str
    began_ns: int


class ImagesLeased(Message, frozen=True):
    """ImageGCActor -> PodWorker: from now on none of these images is removed."""

    images: frozenset[str]


class ReleaseImages(Message, frozen=True):
    """PodWorker -> ImageGCActor: the pod has ended, and needs no image any more."""

    uid: str
