"""Mirror pods: how the API shows the static pods of a node (spec 1.7). Pure.

A mirror pod is a copy of the static pod, made by the node, with the hash of the static pod's configuration in an
annotation and the Node as its owner. It runs nothing. One that does not show the static pod as it is now is deleted and
made again, and so is one that somebody wants to delete.
"""

from __future__ import annotations

import enum

import msgspec

from config.objects import ObjectMeta, OwnerReference, Pod
from config.pods.identity import CONFIG_MIRROR, config_hash, mirror_hash


class MirrorDeed(enum.Enum):
    """What to do about the mirror of one full name."""

    NOTHING = "nothing"
    CREATE = "create"
    DELETE = "delete"


def mirror_deed(static: Pod | None, mirror: Pod | None, *, sources_ready: bool) -> MirrorDeed:
    """`static`: the static pod of that name that runs or is ending; `mirror`: the mirror pod that the API shows.

    A mirror without a static pod goes only when every source has spoken: its pod may still be read.
    """
    if mirror is None:
        return MirrorDeed.NOTHING if static is None else MirrorDeed.CREATE
    if static is None:
        return MirrorDeed.DELETE if sources_ready else MirrorDeed.NOTHING
    return MirrorDeed.NOTHING if shows(mirror, static) else MirrorDeed.DELETE


def shows(mirror: Pod, static: Pod) -> bool:
    """Whether this object of the API is the picture of this static pod, and is to stay."""
    return mirror.metadata.deletion_timestamp is None and mirror_hash(mirror) == config_hash(static)


def mirror_of(static: Pod, node_name: str, node_uid: str) -> Pod:
    """The object to create. The API server gives it a UID of its own, and its status comes after it."""
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
