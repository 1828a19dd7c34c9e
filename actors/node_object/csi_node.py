"""The CSINode object of this node, and the driver annotations of its Node (spec 8.8). Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from config.objects import CSINode, CSINodeDriver, CSINodeSpec, ObjectMeta, OwnerReference, VolumeNodeResources
from runtime.csi.capability import NodeInfo

MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
NODE_IDS = "csi.volume.kubernetes.io/nodeid"
COUNT_MAX = 2**31 - 1


def next_csi_node(
    existing: CSINode | None,
    name: str,
    uid: str,
    drivers: Mapping[str, NodeInfo],
    withdrawn: frozenset[str],
    migrated: tuple[str, ...],
) -> CSINode:
    """The wanted object. `uid`: of the Node, which owns it. `drivers`: all that are registered now.

    The content of an existing object is kept, except drivers that are `withdrawn`.
    """
    meta = existing.metadata if existing is not None else ObjectMeta(name=name)
    owner = OwnerReference(api_version="v1", kind="Node", name=name, uid=uid)
    if not any(each.kind == "Node" and each.uid == uid for each in meta.owner_references):
        meta = msgspec.structs.replace(meta, owner_references=(*meta.owner_references, owner))
    wanted = ",".join(sorted(migrated))
    if wanted and meta.annotations.get(MIGRATED) != wanted:
        meta = msgspec.structs.replace(meta, annotations={**meta.annotations, MIGRATED: wanted})
    known = {each.name: each for each in existing.spec.drivers} if existing is not None else {}
    ours = {each: _driver(known.get(each), each, info) for each, info in drivers.items()}
    left = {**known, **ours}
    spec = CSINodeSpec(drivers=tuple(driver for each, driver in sorted(left.items()) if each not in withdrawn))
    if existing is None:
        return CSINode(metadata=meta, spec=spec)
    return msgspec.structs.replace(existing, metadata=meta, spec=spec)


def is_of_another_node(existing: CSINode, uid: str) -> bool:
    """Whether it belonged to an earlier Node of this name, so that it has to be made anew."""
    owners = [each for each in existing.metadata.owner_references if each.kind == "Node"]
    return bool(owners) and all(each.uid != uid for each in owners)


def collision(info: NodeInfo, name: str, labels: Mapping[str, str]) -> str:
    """Why a driver's topology contradicts the node's labels, or ""."""
    for key, value in sorted(info.topology.items()):
        if labels.get(key, value) != value:
            return (
                f"detected topology value collision: driver {name} reported {key!r}:{value!r} "
                f"but existing label is {key!r}:{labels[key]!r}"
            )
    return ""


def with_node_ids(
    annotations: Mapping[str, str], node_ids: Mapping[str, str], withdrawn: tuple[str, ...]
) -> Mapping[str, str]:
    """The Node's annotations with the drivers' ids of the node.

    Without that annotation when there are none.
    """
    known = _node_ids(annotations.get(NODE_IDS, ""))
    wanted = {name: value for name, value in sorted({**known, **node_ids}.items()) if name not in withdrawn}
    if wanted == known:
        return annotations
    kept = {name: value for name, value in annotations.items() if name != NODE_IDS}
    return {**kept, NODE_IDS: json.dumps(wanted, separators=(",", ":"))} if wanted else kept


def _node_ids(text: str) -> dict[str, str]:
    """Parse the annotation; an invalid one counts as empty and is rewritten."""
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _driver(known: CSINodeDriver | None, name: str, info: NodeInfo) -> CSINodeDriver:
    count = min(info.max_volumes, COUNT_MAX) if info.max_volumes > 0 else None
    driver = CSINodeDriver(
        name=name,
        node_id=info.node_id,
        topology_keys=tuple(sorted(info.topology)),
        allocatable=None if count is None else VolumeNodeResources(count=count),
    )
    # Keep an equal entry as it is, whatever the order of its keys.
    same = (
        known is not None and msgspec.structs.replace(known, topology_keys=tuple(sorted(known.topology_keys))) == driver
    )
    return known if known is not None and same else driver
