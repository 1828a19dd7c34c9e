"""The volumes that a pod should have, as data (spec 8.3). Pure.

They are the desired world of the `VolumeReconcilerActor`.

The pod names the volumes that its containers use. `contents.py` gathers their contents and resolves their claims.
A volume that is not fully known is desired all the same, with what it waits for. If an earlier life has mounted it,
its old content is used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from actors.messages.claims import VolumeWait, is_claimed
from actors.volumes.actual import SET_UP, VolumeProblem
from actors.volumes.contents import GatheredContents
from actors.volumes.contexts import NO_CONTEXT, ContextRules, MountContext, context_of
from config.frozen_map import FrozenMap
from config.objects import Pod
from config.pods.volume_sources import unknown_source_words, unknown_sources
from runtime.volumes.capability import LocatedVolume, Payload, VolumeFailedError, VolumeSpec
from runtime.volumes.pod_volumes import specs_of

DIGEST_BYTES = 16
ATTACHING = "AttachVolume.Attach"
NOT_RESOLVED = "what it stands for is not known yet"


class DesiredVolume(msgspec.Struct, frozen=True):
    """One volume of a pod; `name` is its name in the pod.

    `at`: its place on disk, None while unknown. `waits`: why it cannot be made or renewed. `in_use`: see `VolumeSpec`.
    `context`: about the SELinux label of its mount.
    """

    name: str
    spec: VolumeSpec
    at: LocatedVolume | None = None
    waits: VolumeProblem | None = None
    in_use: str = ""
    context: MountContext = NO_CONTEXT


def desired_volumes(
    pod: Pod,
    gathered: GatheredContents,
    locate: Callable[[str, VolumeSpec], LocatedVolume],
    contexts: ContextRules | None = None,
) -> tuple[DesiredVolume, ...]:
    """Every volume that a container of the pod uses, in the order of the pod."""
    specs = specs_of(pod)
    if not specs:
        return ()
    unknown = {pod.spec.volumes[index].name: key for index, key in unknown_sources(pod).items()}
    return tuple(
        [
            _unknown(bare, unknown[bare.name])
            if bare.name in unknown
            else _desired(pod, bare, gathered, locate, contexts)
            for bare in specs
        ]
    )


def _unknown(bare: VolumeSpec, key: str) -> DesiredVolume:
    """A volume of an unknown kind, as newer API servers may have them, with that problem."""
    return DesiredVolume(bare.name, bare, None, VolumeProblem("; ".join(unknown_source_words(key))))


def _desired(
    pod: Pod,
    bare: VolumeSpec,
    gathered: GatheredContents,
    locate: Callable[[str, VolumeSpec], LocatedVolume],
    contexts: ContextRules | None,
) -> DesiredVolume:
    name = bare.volume.name
    spec = bare
    if is_claimed(bare.volume):
        resolved = gathered.specs.get(name)
        if resolved is None:
            wait = gathered.waits.get(name, VolumeWait(NOT_RESOLVED))
            step = ATTACHING if wait.in_use else SET_UP
            return DesiredVolume(name, bare, None, VolumeProblem(wait.text, wait.reason, step, wait.full), wait.in_use)
        # The bare spec is from this version of the pod, so its field path is the right one.
        spec = msgspec.structs.replace(resolved, field_path=bare.field_path)
    refusal = gathered.contents.refusals.get(name)
    payload = gathered.contents.payloads.get(name)
    if payload is not None:
        spec = msgspec.structs.replace(spec, payload=FrozenMap(payload), version=digest_of(payload))
    context = NO_CONTEXT if contexts is None else context_of(pod, spec, contexts)
    if context.fault and context.must:
        return DesiredVolume(name, spec, None, VolumeProblem(context.fault), spec.in_use, context)
    if context.mounted:
        spec = msgspec.structs.replace(spec, context=context.wanted)
    try:
        at = locate(pod.metadata.uid, spec)
    except VolumeFailedError as failure:
        return DesiredVolume(name, spec, None, VolumeProblem(str(failure), failure.reason), spec.in_use)
    return DesiredVolume(name, spec, at, None if refusal is None else VolumeProblem(refusal), spec.in_use, context)


def with_places_of(volumes: Sequence[DesiredVolume], before: Sequence[DesiredVolume]) -> tuple[DesiredVolume, ...]:
    """Give volumes without a place the place they had `before`.

    A pod keeps what it has while they are unresolved.
    """
    if not volumes:
        return ()
    known = {each.name: each for each in before if each.at is not None}
    return tuple(
        msgspec.structs.replace(known[each.name], waits=each.waits) if each.at is None and each.name in known else each
        for each in volumes
    )


def without_secrets(volume: DesiredVolume) -> DesiredVolume:
    """The volume without its payload and material, which may be secret and large."""
    return msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, payload=None, material=None))


def digest_of(payload: Payload, known: dict[bytes, bytes] | None = None) -> bytes:
    """A digest that identifies the contents, to keep instead of them.

    Data that several files share is hashed once. `known`: data that was hashed before -> its digest; it grows.
    """
    digests = {} if known is None else known
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for path, file in sorted(payload.items()):
        data = file.data
        if data not in digests:
            digests[data] = hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
        digest.update(f"{path}\0{file.mode}\0{file.uid}\0".encode())
        digest.update(digests[data])
    return digest.digest()
