"""`PushSourceActor`: static pods from manifests that are pushed to the node over HTTP.

Accepted manifests lie in their own directory, one file per pod, and are read from there as by `FileSourceActor`. So
they survive a restart, and a damaged file is reported by path and ends no pod. A manifest is accepted as a whole or not
at all; no pod of it is desired before all of it is on disk. The UID of a pod depends only on its manifest, so pushing
the same one again changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, TypeVar

import msgspec

from actors.kernel import ActorRef, DeadlineExceededError, LaneExhaustedError, handles
from actors.messages.manifests import (
    HeldManifest,
    ListManifests,
    ManifestChange,
    ManifestsRefused,
    ManifestsTaken,
    TakeManifests,
    TakenManifest,
    WithdrawManifest,
)
from actors.messages.pods import SourceProblem
from actors.sources.static import SECOND_NS, Decode, FileSourceActor, FileState, problems_of
from config.manifests import ManifestError, ReadManifest, split_manifest
from config.pods.identity import DEFAULT_NAMESPACE, SOURCE_PUSH
from runtime.manifests.files import ManifestDirectory
from runtime.manifests.store import ManifestStore

PLACE = "manifest"
"""The place of every pushed manifest; a UID is derived from it."""
TAKING_LIMIT_NS = 4 * SECOND_NS
"""Short, because the client waits for it."""
MANIFESTS_MAX = 1_000
_Answer = TypeVar("_Answer", bound=ManifestsTaken | ManifestsRefused)
_SUFFIX = ".json"


class PushTools(msgspec.Struct, frozen=True):
    """The tools of the actor. `path`: of its directory, absolute."""

    directory: ManifestDirectory
    store: ManifestStore
    path: str


class _Part(msgspec.Struct, frozen=True):
    """One pod of a manifest: its identity, and its own manifest as JSON, now and before."""

    taken: TakenManifest
    path: str
    content: bytes
    before: bytes | None


class PushSourceActor(FileSourceActor):
    source: ClassVar[str] = SOURCE_PUSH

    def __init__(self, storage: ActorRef, tools: PushTools, period_ns: int, decode: Decode) -> None:
        super().__init__(storage, tools.directory, tools.path, period_ns, _anywhere(decode))
        self._store = tools.store
        self._decode_pushed = decode
        self._prepared = False

    async def read(self) -> None:
        if not self._prepared:
            prepared = await self._on_lane(self._prepare)
            self._prepared = isinstance(prepared, ManifestsTaken)
        await super().read()

    @handles(TakeManifests)
    async def take(self, message: TakeManifests) -> ManifestsTaken | ManifestsRefused:
        # Read first: somebody may have changed the directory.
        """Work: one reference to each manifest of the source."""
        await self.read()
        answer = await self._on_lane(partial(self._take, message.content, self._files))
        if isinstance(answer, ManifestsTaken):
            await self.read()
        return answer

    @handles(WithdrawManifest)
    async def withdraw(self, message: WithdrawManifest) -> ManifestsTaken | ManifestsRefused:
        """Work: one reference to each manifest of the source."""
        await self.read()
        path = self._path_of(message.namespace, message.name)
        state = self._files.get(path)
        if state is None:
            return ManifestsTaken(())
        metadata = state.pods[0].metadata if state.pods else None
        pod, uid = (metadata.name, metadata.uid) if metadata is not None else ("", "")
        gone = TakenManifest(message.namespace, message.name, pod, uid, ManifestChange.WITHDRAWN)
        answer = await self._on_lane(partial(self._remove, path, gone))
        if isinstance(answer, ManifestsTaken):
            await self.read()
        return answer

    @handles(ListManifests)
    def list_manifests(self, _: ListManifests) -> tuple[HeldManifest, ...]:
        """Work: all manifests of the source, decoded for who asks."""
        return tuple(held for path, state in self._files.items() if (held := _held(path, state)) is not None)

    # --- on the lane ------------------------------------------------------------------------------------------------

    def _prepare(self) -> ManifestsTaken:
        self._store.prepare(self._path)
        return ManifestsTaken(())

    def _remove(self, path: str, gone: TakenManifest) -> ManifestsTaken:
        self._store.remove(path)
        return ManifestsTaken((gone,))

    def _take(self, content: bytes, known: Mapping[str, FileState]) -> ManifestsTaken | ManifestsRefused:
        manifest = self._decode_pushed(content, PLACE)
        if manifest.errors:
            return ManifestsRefused(problems_of(self.source, manifest))
        parts = self._parts(content, known)
        new = [part for part in parts if part.taken.change is ManifestChange.CREATED]
        if len(known) + len(new) > MANIFESTS_MAX:
            return self._refusal(f"the node holds {len(known)} manifests, and at most {MANIFESTS_MAX}", PLACE)
        self._write_all(parts)
        return ManifestsTaken(tuple(part.taken for part in parts))

    def _parts(self, content: bytes, known: Mapping[str, FileState]) -> tuple[_Part, ...]:
        """The parts of a valid manifest."""
        found = []
        for part in split_manifest(content):
            pod = self._decode_pushed(part, PLACE).pods[0]
            namespace, name = _named(part)
            path = self._path_of(namespace, name)
            before = known.get(path)
            change = ManifestChange.CREATED if before is None else ManifestChange.CHANGED
            if before is not None and before.content == part:
                change = ManifestChange.UNCHANGED
            taken = TakenManifest(namespace, name, pod.metadata.name, pod.metadata.uid, change)
            found.append(_Part(taken, path, part, None if before is None else before.content))
        return tuple(found)

    def _write_all(self, parts: Sequence[_Part]) -> None:
        """Write all parts; if one fails, undo the others. Raises OSError."""
        done: list[_Part] = []
        try:
            for part in parts:
                if part.taken.change is not ManifestChange.UNCHANGED:
                    done.append(part)
                    self._store.write(part.path, part.content)
        except OSError:
            for part in done:
                self._take_back(part)
            raise

    def _take_back(self, part: _Part) -> None:
        try:
            if part.before is None:
                self._store.remove(part.path)
            else:
                self._store.write(part.path, part.before)
        except OSError as failure:
            self.log.warning("%s cannot be taken back: %s", part.path, failure)

    # ----------------------------------------------------------------------------------------------------------------

    async def _on_lane(self, operation: Callable[[], _Answer]) -> _Answer | ManifestsRefused:
        lane = self.lane("pushed-manifests", size=1, per_key=1)
        try:
            return await self.wait(
                lane.submit(self.path, operation, deadline_ns=TAKING_LIMIT_NS), what=f"the disk of {self._path}"
            )
        except (DeadlineExceededError, LaneExhaustedError) as failure:
            text = f"the disk does not answer, and whether it is kept is not known: {failure}"
            return self._refusal(text, self._path)
        except OSError as failure:
            return self._refusal(
                f"it cannot be kept: {failure.strerror or failure}", str(failure.filename or self._path)
            )

    def _refusal(self, reason: str, origin: str) -> ManifestsRefused:
        return ManifestsRefused((SourceProblem(self.source, origin, "", reason),), unable=True)

    def _path_of(self, namespace: str, name: str) -> str:
        return f"{self._path}/{namespace}_{name}{_SUFFIX}"


def _named(part: bytes) -> tuple[str, str]:
    """Namespace and name of the pod in a valid manifest."""
    metadata: Mapping[str, str] = msgspec.json.decode(part)["metadata"]
    return metadata.get("namespace") or DEFAULT_NAMESPACE, metadata["name"]


def _held(path: str, state: FileState) -> HeldManifest | None:
    """The manifest in a file; None if the file is not ours or damaged."""
    if state.content is None or not state.pods or not path.endswith(_SUFFIX):
        return None
    try:
        return HeldManifest(*_named(state.content), state.content)
    except (msgspec.DecodeError, KeyError, TypeError):
        return None


def _anywhere(decode: Decode) -> Decode:
    """Decode so that pods do not depend on the file's path; errors still name the file."""

    def decode_file(content: bytes, path: str) -> ReadManifest:
        read = decode(content, PLACE)

        def there(fault: ManifestError) -> ManifestError:
            return ManifestError(path, fault.path, fault.reason, fault.hint, fault.line)

        return ReadManifest(read.pods, tuple(map(there, read.errors)), tuple(map(there, read.warnings)))

    return decode_file
