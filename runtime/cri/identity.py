"""The labels and annotations by which a container in the runtime is known again (spec 3.5, 3.8).

The agent writes them when it creates a container. They are named fields with a schema version, never a hash of a whole
object: a field that a later agent adds changes the identity of no running container. The keys `io.kubernetes.*` and
their values are those of a kubelet 1.36, so that either agent can take over the containers of the other. The keys
`actorlet.dev/*` hold what those leave out.

Nothing here fails: a container that somebody else made simply lacks fields.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from config.caches import KIB, kept
from config.objects import Container, Pod, PodSpec, ResourceRequirements
from config.values.go_dump import hash_of_bytes
from config.values.name_rules import object_uid

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
POD_LIMITS = "actorlet.dev/pod-limits"

SCHEMA_VERSION = "1"
_HASH = re.compile("[1-9a-f][0-9a-f]{0,7}")


def container_hash(container: Container) -> str:
    """The hash of a kubelet, in hex, over image and name alone (spec 3.5)."""
    return _hash_of(container.name, container.image)


def _hashed_json(name: str, image: str) -> bytes:
    """Go sorts the keys of a map."""
    return b'{"image":%b,"name":%b}' % (_go_json(image), _go_json(name))


@kept(512 * KIB)
def _hash_of(name: str, image: str) -> str:
    return f"{hash_of_bytes(_hashed_json(name, image)):x}"


_GO_ORDER = (
    *("name", "hostPort", "containerPort", "protocol", "hostIP"),
    *("exec", "command", "httpGet", "path", "tcpSocket", "port", "host", "scheme", "httpHeaders", "value", "sleep"),
)
"""The order of the fields of ports and hooks in Go's types."""
_GO_PLACES = {name: place for place, name in enumerate(_GO_ORDER)}


def _go_json(value: Any) -> bytes:
    """Encode plain values like Go, which escapes the characters of HTML."""
    text = msgspec.json.encode(_in_go_order(value))
    return text.replace(b"&", b"\\u0026").replace(b"<", b"\\u003c").replace(b">", b"\\u003e")


def _in_go_order(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_go_order(each) for each in value]
    if not isinstance(value, dict):
        return value
    names = sorted(value, key=lambda name: (_GO_PLACES.get(name, len(_GO_ORDER)), name))
    return {name: _in_go_order(value[name]) for name in names}


def _object_json(value: Any) -> str:
    """An object of the API, or some, like Go."""
    return _go_json(msgspec.json.decode(msgspec.json.encode(value))).decode()


def same_definition(container: Container, labels: Mapping[str, str], annotations: Mapping[str, str]) -> bool:
    """Whether an existing container is still what the pod asks for: the image decides (spec 3.5).

    Our note of the image decides. For a kubelet's container, its hash decides. A container with neither counts as the
    same: a missing label ends no container.
    """
    if labels.get(SCHEMA) == SCHEMA_VERSION:
        return annotations.get(CONTAINER_IMAGE, container.image) == container.image
    return SCHEMA in labels or same_hash(container, annotations)


def same_hash(container: Container, annotations: Mapping[str, str]) -> bool:
    """Whether the hash on an existing container, if there is a proper one, is that of `container`."""
    found = annotations.get(CONTAINER_HASH, "")
    return _HASH.fullmatch(found) is None or found == container_hash(container)


def resources_text(container: Container) -> str:
    """The limits and requests as one text, to compare; amounts as written. Empty if there are none."""
    own = container.resources
    if own is None or not (own.limits or own.requests):
        return ""
    return msgspec.json.encode({"limits": own.limits, "requests": own.requests}, order="sorted").decode()


def resources_given(container: Container, annotations: Mapping[str, str]) -> ResourceRequirements | None:
    """The limits and requests that an existing container was made with.

    Without our note: those of the pod.
    """
    text, asked = annotations.get(RESOURCES), container.resources
    if text is None:
        return asked
    limits, requests = _amounts(text)
    if asked is None:
        return ResourceRequirements(limits=limits, requests=requests) if limits or requests else None
    if asked.limits == limits and asked.requests == requests:
        return asked
    return msgspec.structs.replace(asked, limits=limits, requests=requests)


def pod_limits_given(annotations: Mapping[str, str]) -> Mapping[str, str] | None:
    """The limits of the whole pod when an existing container was made; None without a note of ours."""
    text = annotations.get(POD_LIMITS)
    return None if text is None else _amounts(text)[0]


@kept(512 * KIB)
def _amounts(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """Limits and requests in the annotation; none if it holds none (anybody may have written it)."""
    try:
        found = msgspec.json.decode(text, type=dict[str, dict[str, str]]) if text else {}
    except msgspec.MsgspecError:
        found = {}
    return found.get("limits", {}), found.get("requests", {})


def pod_uid(found: str | None) -> str:
    """A UID as the runtime shows it; empty if it cannot be that of a pod of an agent.

    Agents refuse pods whose UID is no step of a path, and API servers give no such UID. So what has one in the runtime
    is somebody else's: no actor, directory or cgroup is ever named after it.
    """
    return found if found and object_uid(found) is None else ""


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
    """Annotations with all that the agent needs after a restart, or when the pod's spec is gone.

    `lasting`: its `lasting_annotations`. `back_off_ns`: how long its successor waits if it ends soon.
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
    if spec.resources is not None and spec.resources.limits:
        notes[POD_LIMITS] = msgspec.json.encode({"limits": spec.resources.limits}, order="sorted").decode()
    if spec.termination_grace_period_seconds is not None:
        notes[TERMINATION_GRACE_PERIOD] = str(spec.termination_grace_period_seconds)
    hook = container.lifecycle.pre_stop if container.lifecycle is not None else None
    if hook is not None:
        notes[PRE_STOP_HANDLER] = _object_json(hook)
    if container.ports:
        notes[PORTS] = _object_json(container.ports)
    return notes


@kept(32 * KIB)
def whole_number(text: str | None) -> int | None:
    """The number in an annotation; None if it holds none (anybody may have written it)."""
    if text is None or not text.isascii() or not text.isdigit():
        return None
    return int(text)
