"""Makes the desired volumes of a pod of what was gathered for it (spec 8.3). Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from actors.messages.claims import VolumeWait
from actors.model.observing import SECRET_DIGEST, Observe, look_only
from actors.volumes.actual import SET_UP, VolumeProblem
from actors.volumes.contexts import NO_CONTEXT, ContextRules, context_of
from actors.volumes.desired import DesiredVolume
from actors.volumes.wishes.contents import GatheredContents, claimed_volumes
from actors.volumes.wishes.payloads import VolumeContent
from config.frozen_map import FrozenMap
from config.pods.volume_sources import unknown_source_words, unknown_sources
from runtime.volumes.capability import LocatedVolume, Payload, VolumeFailedError, VolumeSpec

DIGEST_BYTES = 16
ATTACHING = "AttachVolume.Attach"
NOT_RESOLVED = "what it stands for is not known yet"


class Desires:
    """Makes the desired volumes of a pod from what was gathered, one after the other.

    `observe`: that of the actor.
    """

    def __init__(
        self,
        gathered: GatheredContents,
        locate: Callable[[str, VolumeSpec], LocatedVolume],
        contexts: ContextRules | None = None,
        observe: Observe = look_only,
    ) -> None:
        self._pod = pod = gathered.pod
        self._gathered = gathered
        self._locate = locate
        self._contexts = contexts
        self._observe = observe
        self._unknown = {pod.spec.volumes[index].name: key for index, key in unknown_sources(pod).items()}
        self._claimed = frozenset(claimed_volumes(pod))
        self._digests: dict[bytes, bytes] = {}

    def volume(self, bare: VolumeSpec, content: VolumeContent | None) -> DesiredVolume:
        """A volume that a container of the pod uses. `content`: of a volume that the agent fills."""
        name = bare.volume.name
        if name in self._unknown:
            # Newer API servers may have such kinds.
            words = "; ".join(unknown_source_words(self._unknown[name]))
            return DesiredVolume(name, bare, None, VolumeProblem(words))
        spec = bare
        if name in self._claimed:
            resolved = self._gathered.specs.get(name)
            if resolved is None:
                wait = self._gathered.waits.get(name, VolumeWait(NOT_RESOLVED))
                step = ATTACHING if wait.in_use else SET_UP
                problem = VolumeProblem(wait.text, wait.reason, step, wait.full)
                return DesiredVolume(name, bare, None, problem, wait.in_use)
            # The bare spec is from this version of the pod, so its field path is the right one.
            spec = msgspec.structs.replace(resolved, field_path=bare.field_path)
        if content is not None and content.files is not None:
            files = content.files
            version = self._observe(SECRET_DIGEST, lambda: digest_of(files, self._digests))
            spec = msgspec.structs.replace(spec, payload=FrozenMap(content.files), version=version)
        context = NO_CONTEXT if self._contexts is None else context_of(self._pod, spec, self._contexts)
        if context.fault and context.must:
            return DesiredVolume(name, spec, None, VolumeProblem(context.fault), spec.in_use, context)
        if context.mounted:
            spec = msgspec.structs.replace(spec, context=context.wanted)
        try:
            at = self._locate(self._pod.metadata.uid, spec)
        except VolumeFailedError as failure:
            return DesiredVolume(name, spec, None, VolumeProblem(str(failure), failure.reason), spec.in_use)
        refusal = VolumeProblem(content.refusal) if content is not None and content.files is None else None
        return DesiredVolume(name, spec, at, refusal, spec.in_use, context)


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
