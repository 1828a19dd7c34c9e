"""Mirror pods: how the API shows the static pods of a node (spec 1.7). Pure.

A mirror pod is a copy of the static pod that the node creates, with the hash of the static pod's configuration in an
annotation and the Node as its owner. It runs nothing. A mirror pod that is out of date or being deleted is deleted and
created again.
"""

from __future__ import annotations

import enum

import msgspec

from config.objects import ObjectMeta, OwnerReference, Pod
from config.pods.identity import CONFIG_MIRROR, config_hash, mirror_hash


class MirrorOperation(enum.Enum):
    """What to do about the mirror of one full name."""

    NOTHING = "nothing"
    CREATE = "create"
    DELETE = "delete"


def mirror_operation(static: Pod | None, mirror: Pod | None, *, sources_ready: bool) -> MirrorOperation:
    """What to do. `static`: the static pod of that name that runs or is ending; `mirror`: the mirror pod in the API.

    A mirror without a static pod is deleted only when every source is ready: its pod may not have been read yet.
    """
    if mirror is None:
        return MirrorOperation.NOTHING if static is None else MirrorOperation.CREATE
    if static is None:
        return MirrorOperation.DELETE if sources_ready else MirrorOperation.NOTHING
    return MirrorOperation.NOTHING if shows(mirror, static) else MirrorOperation.DELETE


def shows(mirror: Pod, static: Pod) -> bool:
    """Whether this API object shows this static pod as it is now, and is not being deleted."""
    return mirror.metadata.deletion_timestamp is None and mirror_hash(mirror) == config_hash(static)


def mirror_of(static: Pod, node_name: str, node_uid: str) -> Pod:
    """The object to create. The API server gives it its own UID; its status is written later."""
    meta = static.metadata
    owner = OwnerReference(api_version="v1", kind="Node", name=node_name, uid=node_uid, controller=True)
    return msgspec.structs.replace(
        static,
        metadata=ObjectMeta(
            name=meta.name,
            namespace=meta.namespace,
            labels=meta.labels,
            annotations={**meta.annotations, CONFIG_MIRROR: config_hash(static) or ""},
            owner_references=(owner,),
        ),
        status=None,
    )
