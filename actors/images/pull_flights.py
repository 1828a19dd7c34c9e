"""Records of the `ImagePullActor`: an image pull, who waits for it, and the parts of its CRI request."""

from __future__ import annotations

from actors.kernel import Pending
from actors.messages.images import PullImage
from config.credentials.docker_config import Credential
from config.objects import Pod
from runtime.cri.identity import pod_labels
from runtime.cri.messages import AuthConfig, PodSandboxConfig, PodSandboxMetadata, PullImageResponse

FlightKey = tuple[str, tuple[Credential, ...]]
"""The image, and the pod's credentials for it."""


class PullWaiter:
    """A container that waits for the image. `told_to_wait`: its worker knows that the pull has not begun yet."""

    __slots__ = ("request", "since_ns", "told_to_wait")

    def __init__(self, request: PullImage, since_ns: int) -> None:
        self.request = request
        self.since_ns = since_ns
        self.told_to_wait = False


class Flight:
    """The pull of one image; `started_ns` is None before it begins. `untried`: credentials, None for anonymous."""

    __slots__ = ("call", "called_off", "errors", "image", "key", "since_ns", "started_ns", "untried", "waiters")

    def __init__(self, key: FlightKey, since_ns: int) -> None:
        self.key = key
        self.image = key[0]
        self.since_ns = since_ns
        self.started_ns: int | None = None
        self.called_off = False
        self.call: Pending[PullImageResponse] | None = None
        self.untried: list[Credential | None] = []
        self.errors: list[str] = []
        self.waiters: dict[tuple[str, str], PullWaiter] = {}


def together(errors: list[str]) -> str:
    """One text for the errors of all tries."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else ""


def shown(credential: Credential | None) -> AuthConfig | None:
    """The credentials that the runtime shows the registry."""
    if credential is None:
        return None
    return AuthConfig(
        username=credential.username,
        password=credential.password,
        identity_token=credential.identity_token,
        registry_token=credential.registry_token,
    )


def secrets_of(auth: AuthConfig | None) -> tuple[str, ...]:
    """What a registry or the runtime may repeat; the name and password together as headers have them."""
    if auth is None:
        return ()
    return (auth.password, f"{auth.username}:{auth.password}", auth.identity_token, auth.registry_token)


def on_behalf_of(pod: Pod) -> PodSandboxConfig:
    """The pod for which the image is pulled, for runtimes that need it."""
    meta = pod.metadata
    return PodSandboxConfig(
        metadata=PodSandboxMetadata(name=meta.name, uid=meta.uid, namespace=meta.namespace),
        labels={**meta.labels, **pod_labels(pod)},
        annotations=meta.annotations,
    )
