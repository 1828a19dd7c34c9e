"""Who a container is, written on it when it is made and read from it ever after (spec 3.5, 3.8).

Identity is named fields in labels and annotations, with the version of their scheme, never a hash of a whole object: a
field that is added to the agent later changes the identity of nothing that runs. The keys of `io.kubernetes.*` are the
ones that every tool around a kubelet reads, so they are kept; those of `actorlet.dev/` say what they do not.

Refuses to know what is done with an identity. Nothing here fails: what was made by somebody else simply lacks fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from config.objects import Container, Pod, PodSpec
from config.pods.once_per_spec import once_per_spec
from runtime.logs.pod_logs import log_link

POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"

CONTAINER_HASH = "io.kubernetes.container.hash"
RESTART_COUNT = "io.kubernetes.container.restartCount"
TERMINATION_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
TERMINATION_MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
DELETION_GRACE_PERIOD = "io.kubernetes.pod.deletionGracePeriod"
TERMINATION_GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod"
PRE_STOP_HANDLER = "io.kubernetes.container.preStopHandler"
PORTS = "io.kubernetes.container.ports"

SCHEMA = "actorlet.dev/schema"
SANDBOX_ATTEMPT = "actorlet.dev/sandbox-attempt"
CONTAINER_IMAGE = "actorlet.dev/image"
TERMINATION_MESSAGE_FILE = "actorlet.dev/termination-message-file"
BACK_OFF_NS = "actorlet.dev/back-off-ns"
RESOURCES = "actorlet.dev/resources"

SCHEMA_VERSION = "1"

_FNV32_OFFSET = 0x811C9DC5
_FNV32_PRIME = 0x01000193


def container_hash(container: Container) -> str:
    """FNV-32a, in hex, over image and name alone (spec 3.5), for tools that look for it. Nothing here reads it back."""
    value = _FNV32_OFFSET
    for byte in _go_json({"image": container.image, "name": container.name}):
        value = ((value ^ byte) * _FNV32_PRIME) & 0xFFFFFFFF
    return f"{value:x}"


def _go_json(value: Mapping[str, str]) -> bytes:
    """Encode like Go, which escapes the characters of HTML."""
    text = msgspec.json.encode(value)
    return text.replace(b"&", b"\\u0026").replace(b"<", b"\\u003c").replace(b">", b"\\u003e")


def same_definition(container: Container, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
    """Whether a container that was made is still what the pod asks for: the image decides (spec 3.5).

    What carries no identity of ours is left alone: somebody else's hash that we compute a shade differently would end
    every container on the node when the agent takes it over.
    """
    if labels.get(SCHEMA) != SCHEMA_VERSION:
        return True
    return annotations.get(CONTAINER_IMAGE, container.image) == container.image


def resources_text(container: Container) -> str:
    """What a container may use and asks for, the same for the same amounts as they are written; empty for nothing."""
    own = container.resources
    if own is None or not (own.limits or own.requests):
        return ""
    return msgspec.json.encode({"limits": own.limits, "requests": own.requests}, order="sorted").decode()


def pod_labels(pod: Pod) -> dict[str, str]:
    """The three labels that lead from anything in the runtime to its pod."""
    meta = pod.metadata
    return {POD_NAME: meta.name, POD_NAMESPACE: meta.namespace, POD_UID: meta.uid}


def container_labels(pod: Pod, container: Container, sandbox_attempt: int) -> dict[str, str]:
    """Labels of a container. The pod's own labels are on the sandbox only."""
    labels = pod_labels(pod)
    labels[CONTAINER_NAME] = container.name
    labels[SCHEMA] = SCHEMA_VERSION
    labels[SANDBOX_ATTEMPT] = str(sandbox_attempt)
    return labels


def container_annotations(
    pod: Pod, lasting: Mapping[str, str], attempt: int, *, termination_file: str, back_off_ns: int
) -> dict[str, str]:
    """What must be known of a container when its pod's spec is lost, or the agent has been restarted.

    `lasting`: its `lasting_annotations`.
    `back_off_ns`: how long its successor will have to wait if it ends soon (`actors.pod_rules.action_types`).
    """
    notes = {**lasting, RESTART_COUNT: str(attempt), BACK_OFF_NS: str(back_off_ns)}
    if termination_file:
        notes[TERMINATION_MESSAGE_FILE] = termination_file
    if pod.metadata.deletion_grace_period_seconds is not None:
        notes[DELETION_GRACE_PERIOD] = str(pod.metadata.deletion_grace_period_seconds)
    return notes


def lasting_annotations(spec: PodSpec, container: Container) -> dict[str, str]:
    """The annotations that are the same for every start of the container in every pod of this spec."""
    notes = {
        CONTAINER_HASH: container_hash(container),
        TERMINATION_MESSAGE_PATH: container.termination_message_path or "",
        TERMINATION_MESSAGE_POLICY: container.termination_message_policy or "",
        CONTAINER_IMAGE: container.image,
        RESOURCES: resources_text(container),
    }
    if spec.termination_grace_period_seconds is not None:
        notes[TERMINATION_GRACE_PERIOD] = str(spec.termination_grace_period_seconds)
    hook = container.lifecycle.pre_stop if container.lifecycle is not None else None
    if hook is not None:
        notes[PRE_STOP_HANDLER] = msgspec.json.encode(hook).decode()
    if container.ports:
        notes[PORTS] = msgspec.json.encode(container.ports).decode()
    return notes


def field_path(pod: Pod, name: str) -> str:
    """How events name a container: `spec.containers{web}` (spec 15). Empty where the pod has none of that name."""
    return _field_paths(pod.spec).get(name, "")


@once_per_spec
def _field_paths(spec: PodSpec) -> dict[str, str]:
    return {
        **{each.name: f"spec.ephemeralContainers{{{each.name}}}" for each in spec.ephemeral_containers},
        **{each.name: f"spec.initContainers{{{each.name}}}" for each in spec.init_containers},
        **{each.name: f"spec.containers{{{each.name}}}" for each in spec.containers},
    }


@lru_cache(maxsize=256)
def whole_number(text: str | None) -> int | None:
    """The number an annotation holds; None when it holds none (anybody may have written it)."""
    if text is None or not text.isascii() or not text.isdigit():
        return None
    return int(text)


def log_path(container: str, attempt: int) -> str:
    """The log path relative to the log directory of the pod, as passed to the runtime."""
    return f"{container}/{attempt}.log"


def link_path(root: str, pod: Pod, container: str, container_id: str) -> str:
    """The link by which log collectors find a container's log; `root` is the node's directory of such links."""
    return log_link(root, pod.metadata.name, pod.metadata.namespace, container, container_id)
