"""The pull of one image in the making, and the words in which the runtime is asked for it: records of the
`ImagePullActor`.
"""

from __future__ import annotations

from actors.kernel import Pending
from actors.messages.images import PullImage
from actors.model.identity import pod_labels
from config.credentials.docker_config import Credential
from config.objects import Pod
from runtime.cri.messages import AuthConfig, PodSandboxConfig, PodSandboxMetadata, PullImageResponse

FlightKey = tuple[str, tuple[Credential, ...]]
"""The image, and what the pod has for it."""


class Waiter:
    """A container that waits for the image, since when. `told_to_wait`: that the pull is not begun yet."""

    __slots__ = ("request", "since_ns", "told_to_wait")

    def __init__(self, request: PullImage, since_ns: int) -> None:
        self.request = request
        self.since_ns = since_ns
        self.told_to_wait = False


class Flight:
    """The pull of one image; not in the air yet while `started_ns` is None. `untried`: credentials, None for nobody."""

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
        self.waiters: dict[tuple[str, str], Waiter] = {}


def together(errors: list[str]) -> str:
    """One text for the failures of all tries."""
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else ""


def shown(credential: Credential | None) -> AuthConfig | None:
    """What the runtime shows the registry."""
    if credential is None:
        return None
    return AuthConfig(
        username=credential.username,
        password=credential.password,
        identity_token=credential.identity_token,
        registry_token=credential.registry_token,
    )


def on_behalf_of(pod: Pod) -> PodSandboxConfig:
    """Who wants the image, for a runtime to which that matters: the first who asked."""
    meta = pod.metadata
    return PodSandboxConfig(
        metadata=PodSandboxMetadata(name=meta.name, uid=meta.uid, namespace=meta.namespace),
        labels={**meta.labels, **pod_labels(pod)},
        annotations=meta.annotations,
    )
