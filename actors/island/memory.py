"""The memory of an island node: what is kept of the API server's word, and its form in the file. Pure.

Kept are the pods that may be started from memory (`rules.refusal`), and what their start reads. That is ConfigMaps,
claims and their volumes, services of their namespaces, RuntimeClasses, drivers, and labels and taints of the node.
Secrets are kept only if the settings say so. What a volume attached by the cluster needs is left out on purpose:
another node may have the disk by now.

The file is a state file of version 1 (`runtime.files.state_file`). Its objects are those of the API, in JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from actors.cluster.service_variables import MASTER_NAMESPACE, link_of, service_of
from actors.island.rules import refusal
from actors.messages.island import Remembered, kind_of
from actors.start.environment import each_reference
from actors.volumes.claims.rules import claim_name
from config.api.resources import read_object
from config.documents.codec import DocumentError, encode
from config.objects import (
    ConfigMap,
    CSIDriver,
    Node,
    NodeStatus,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    RuntimeClass,
    Secret,
    Service,
)

KINDS: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Node,
        Pod,
        ConfigMap,
        Secret,
        Service,
        RuntimeClass,
        CSIDriver,
        PersistentVolumeClaim,
        PersistentVolume,
    )
}


class Memory(msgspec.Struct, frozen=True):
    """What the API server said last.

    `agreed_wall_ns`: when. `boot_id`: of the machine then. `objects`: of all kinds but nodes, pods first.
    """

    agreed_wall_ns: int = 0
    boot_id: str = ""
    objects: tuple[Remembered, ...] = ()
    node: Node | None = None

    def of(self, *kinds: str) -> tuple[Remembered, ...]:
        """The objects of these kinds."""
        return tuple(each for each in self.objects if kind_of(each) in kinds)


def kept(memory: Memory, *, keep_secrets: bool) -> Memory:
    """What is written of all that is known: the pods that may be started, and what they need."""
    pods = [each for each in memory.objects if isinstance(each, Pod) and not refusal(each)]
    needed = _needed(pods)
    namespaces = {pod.metadata.namespace for pod in pods} | {MASTER_NAMESPACE}
    claims = [each for each in memory.objects if isinstance(each, PersistentVolumeClaim) and _key(each) in needed]
    volumes = {claim.spec.volume_name for claim in claims if claim.spec.volume_name}
    found: list[Remembered] = [*pods, *claims]
    for each in memory.objects:
        meta = each.metadata
        if isinstance(each, ConfigMap) or (isinstance(each, Secret) and keep_secrets):
            wanted = _key(each) in needed
        elif isinstance(each, PersistentVolume):
            wanted = meta.name in volumes
        elif isinstance(each, Service):
            wanted = meta.namespace in namespaces
        else:
            wanted = isinstance(each, RuntimeClass | CSIDriver)
        if wanted:
            found.append(_bare_service(each) if isinstance(each, Service) else each)
    return msgspec.structs.replace(memory, objects=tuple(found), node=memory.node and bare_node(memory.node))


def bare_node(node: Node) -> Node:
    """The part of the Node object by which pods are started. Which volumes are attached may have changed."""
    status = node.status or NodeStatus()
    meta = node.metadata
    return Node(
        metadata=ObjectMeta(name=meta.name, uid=meta.uid, labels=meta.labels, annotations=meta.annotations),
        spec=node.spec,
        status=NodeStatus(capacity=status.capacity, allocatable=status.allocatable, node_info=status.node_info),
    )


def _bare_service(service: Service) -> Service:
    """The part of a service by which variables are made."""
    link = link_of(service)
    return service if link is None else service_of(link)


def _needed(pods: Iterable[Pod]) -> set[tuple[str, str, str]]:
    """(kind, namespace, name) of the objects that the pods name."""
    found: set[tuple[str, str, str]] = set()
    for pod in pods:
        found.update((each.ref.kind, each.ref.namespace, each.ref.name) for each in each_reference(pod))
        names = (claim_name(pod, volume) for volume in pod.spec.volumes)
        kind = PersistentVolumeClaim.__name__
        found.update((kind, pod.metadata.namespace, name) for name in names if name)
    return found


def _key(value: Remembered) -> tuple[str, str, str]:
    return kind_of(value), value.metadata.namespace, value.metadata.name


# --- the file ---------------------------------------------------------------------------------------------------------


class _Entry(msgspec.Struct):
    kind: str
    object: msgspec.Raw


class _File(msgspec.Struct, rename="camel"):
    version: int = 1
    agreed: int = 0
    boot_id: str = ""
    objects: list[_Entry] = []


def encoded(memory: Memory) -> bytes:
    """The content of the file."""
    nodes = () if memory.node is None else (memory.node,)
    objects = [_Entry(kind_of(each), msgspec.Raw(encode(each))) for each in (*nodes, *memory.objects)]
    return msgspec.json.encode(_File(1, memory.agreed_wall_ns, memory.boot_id, objects))


_decode_file = msgspec.json.Decoder(_File).decode


def memory_in(content: bytes) -> Memory:
    """The memory in a file; objects of unknown kinds are left out. Raises ValueError."""
    file = _decode_file(content)
    try:
        found = [read_object(bytes(each.object), KINDS[each.kind]) for each in file.objects if each.kind in KINDS]
    except DocumentError as fault:
        raise ValueError(f"an object in it cannot be read: {fault}") from None
    node = next((each for each in found if isinstance(each, Node)), None)
    return Memory(file.agreed, file.boot_id, tuple(each for each in found if each is not node), node)
