"""`FileSourceActor`: static pods from a directory (or one file) of manifests (spec 1.1).

It lists every `fileCheckFrequency` and shortly after inotify reports a change. An unchanged file is not decoded again.
The disk may hang, so a reading is one call on a lane with a deadline; while it hangs, the known pods stay. A missing
path is an empty set of pods and is logged once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from actors.kernel import ActorRef, DeadlineExceededError, LaneExhaustedError
from actors.messages.pods import SourceProblem
from actors.sources.source import SECOND_NS, Decode, SourceActor, SourceTouched, problems_of
from config.objects import Pod
from runtime.manifests.files import ManifestDirectory, ManifestFile, ManifestReading, ManifestWatch

SOURCE = "file"
READING_LIMIT_NS = 60 * SECOND_NS


class FileState(msgspec.Struct, frozen=True):
    """The state of one file. `pods`: from its last valid content."""

    content: bytes | None
    pods: tuple[Pod, ...]
    problems: tuple[SourceProblem, ...] = ()


class FilesRead(msgspec.Struct, frozen=True):
    """One reading: every file by path, in order (None: unknown), and the problem of the path as a whole."""

    files: Mapping[str, FileState] | None
    problem: SourceProblem | None = None


class FileSourceActor(SourceActor):
    """See the module."""

    source: ClassVar[str] = SOURCE

    def __init__(
        self, storage: ActorRef, directory: ManifestDirectory, path: str, period_ns: int, decode: Decode
    ) -> None:
        super().__init__(storage, period_ns)
        self._directory = directory
        self._path = path
        self._decode = decode
        self._watch: ManifestWatch | None = None
        self._files: Mapping[str, FileState] = {}
        self._pods: tuple[Pod, ...] | None = None

    def on_start(self) -> None:
        ref = self.ref
        self._watch = self._directory.watch(self._path, lambda: ref.tell(SourceTouched()))
        super().on_start()

    def on_stop(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def on_failure(self, *_: Any) -> None:
        self.on_stop()  # the next life watches anew

    async def read(self) -> None:
        # One call at a time: a disk that hangs blocks one thread, and later readings wait for it.
        lane = self.lane("manifests", size=1, per_key=1)
        call = lane.submit(self.path, self._read_all, self._files, deadline_ns=READING_LIMIT_NS)
        try:
            read = await self.wait(call, what=f"the manifests at {self._path}")
        except (DeadlineExceededError, LaneExhaustedError) as failure:
            read = FilesRead(None, SourceProblem(self.source, self._path, "", f"cannot be read: {failure}"))
        if read.files is not None and not (self._pods is not None and _same_states(self._files, read.files)):
            self._files = read.files
            self._pods = tuple(pod for state in read.files.values() for pod in state.pods)
        of_files = [problem for state in self._files.values() for problem in state.problems]
        self.show(self._pods, (*of_files, *([] if read.problem is None else [read.problem])))

    def _read_all(self, known: Mapping[str, FileState]) -> FilesRead:
        """On the lane."""
        watch = self._watch
        unwatched = watch.renew() if watch is not None else ""
        read = next_states(self._path, known, self._directory.read(self._path), self._decode, self.source)
        if unwatched and read.problem is None:
            return FilesRead(read.files, SourceProblem(self.source, self._path, "", unwatched))
        return read


def next_states(
    path: str, known: Mapping[str, FileState], reading: ManifestReading, decode: Decode, source: str = SOURCE
) -> FilesRead:
    """The states after `reading`. Unchanged files keep the same state objects."""
    if reading.problem:
        return FilesRead(None, SourceProblem(source, path, "", f"cannot be listed: {reading.problem}"))
    if reading.missing:
        return FilesRead({}, SourceProblem(source, path, "", "there is no such file or directory; it is waited for"))
    return FilesRead({file.path: _next_state(known.get(file.path), file, decode, source) for file in reading.files})


def _next_state(known: FileState | None, file: ManifestFile, decode: Decode, source: str) -> FileState:
    last_good = () if known is None else known.pods
    if file.content is None:
        problems = (SourceProblem(source, file.path, "", f"cannot be read: {file.problem}"),)
        return known if known is not None and known.problems == problems else FileState(None, last_good, problems)
    if known is not None and known.content == file.content:
        return known
    manifest = decode(file.content, file.path)
    pods = last_good if manifest.errors else manifest.pods
    return FileState(file.content, pods, problems_of(source, manifest))


def _same_states(before: Mapping[str, FileState], now: Mapping[str, FileState]) -> bool:
    return len(before) == len(now) and all(
        path == other and state is before[path] for (path, state), other in zip(now.items(), before, strict=True)
    )
