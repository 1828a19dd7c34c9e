"""`FileSourceActor`: static pods from a directory; also what all sources of manifests share.

See spec 1.1.

A source reads at its start and every period. After each reading it sends the full set to the storage, even if
unchanged, so that a lost message heals. An unchanged set is the same tuple, which costs the storage nothing. Unchanged
content is not decoded again.

**Bad input loses nothing.** What cannot be read or decoded is a problem. It is logged once and listed (`ListProblems`)
until it is gone. The pods last read from the same place stay desired until the place itself goes. The real kubelet
drops the pods of a file that became unreadable; a typing error should not end a running pod.
"""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec

from actors.kernel import Actor, ActorRef, DeadlineExceededError, LaneExhaustedError, SoleMessage, handles
from actors.messages.pods import DuplicatePod, ListProblems, SourceProblem, SourceRead
from actors.sources.kept_uids import Running, kept_uids, with_uid
from config.manifests import ManifestError, Origin, ReadManifest, read_manifest
from config.objects import Pod
from config.pods.identity import SOURCE_FILE
from runtime.cri import Cri, CriError
from runtime.cri.messages import ListContainersRequest, ListPodSandboxRequest
from runtime.cri.verbs import LIST_CONTAINERS, LIST_POD_SANDBOX
from runtime.manifests.files import ManifestDirectory, ManifestFile, ManifestReading, ManifestWatch

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000

SETTLE_NS = 80 * MILLISECOND_NS
"""From the last change of a file to the reading, because a file is rarely written in one go."""
SETTLE_LIMIT_NS = 500 * MILLISECOND_NS
"""From the first change to the reading, however many follow."""
READING_LIMIT_NS = 60 * SECOND_NS
ASK_RUNTIME_NS = 10 * SECOND_NS
RUNTIME_LIMIT_NS = 15 * SECOND_NS
"""After this, pods are told without the runtime's answer."""

Decode = Callable[[bytes, str], ReadManifest]
"""(content, path or URL of a manifest) -> its pods, errors and warnings."""


def decoder_of(source: str, node_name: str, prevent_api_references: bool = True) -> Decode:
    """A function that decodes manifests of `source` into pods of that node (spec 1.2)."""

    def decode(content: bytes, location: str) -> ReadManifest:
        origin = Origin(source, location)
        return read_manifest(content, origin, node_name, prevent_api_references=prevent_api_references)

    return decode


class ReadSource(SoleMessage, frozen=True):
    """To itself: time to read."""


class SourceTouched(SoleMessage, frozen=True):
    """To itself, from a watch on any thread: something has changed, and more may follow.

    `removed`: names of files that were removed. They may be back already.
    """

    removed: frozenset[str] = frozenset()

    def merged(self, waiting: Self) -> Self:
        return msgspec.structs.replace(self, removed=self.removed | waiting.removed)


class SourceActor(Actor):
    """See the module. A subclass names its `source` and defines `read`, which calls `show`."""

    mailbox_capacity: ClassVar[int] = 100
    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS
    source: ClassVar[str] = ""

    def __init__(self, storage: ActorRef, period_ns: int, decode: Decode) -> None:
        super().__init__()
        self._storage = storage
        self._period_ns = period_ns
        self._decode = decode
        self._pods: tuple[Pod, ...] | None = None
        """The last good set; None before the first."""
        self._anew: frozenset[str] = frozenset()
        """UIDs of pods that were gone since the set was last told."""
        self._problems: tuple[SourceProblem, ...] = ()

    def on_start(self) -> None:
        self.ref.tell(ReadSource())

    @abc.abstractmethod
    async def read(self) -> None:
        """Read the source once, set `_pods`, and `show` the problems. Must not raise for bad input."""

    @handles(ReadSource)
    async def read_source(self, _: ReadSource) -> None:
        """Work: one reference to each manifest of the source: they are decoded on a lane."""
        await self.read()
        self.after(self._period_ns, ReadSource())

    @handles(ListProblems)
    def list_problems(self, _: ListProblems) -> tuple[SourceProblem, ...]:
        """Work: constant."""
        return self._problems

    def show(self, *problems: SourceProblem, duplicates: Sequence[LeftOut] = ()) -> None:
        """Publish the full set, if it is known, and all current problems. The storage reports duplicates."""
        known, self._problems = self._problems, (*problems, *(each.problem for each in duplicates))
        for problem in problems:
            if problem not in known:
                self.log.warning("%s", problem)
        if known and not self._problems:
            self.log.info("the %s source has no problems any more", self.source)
        if self._pods is not None:
            left_out = tuple(DuplicatePod(each.pod, str(each.problem)) for each in duplicates)
            anew, self._anew = self._anew, frozenset()
            self._storage.tell(SourceRead(self.source, self._pods, left_out, anew))


class LeftOut(msgspec.Struct, frozen=True):
    """A pod that is left out, and why."""

    pod: Pod
    problem: SourceProblem


def problems_of(source: str, manifest: ReadManifest) -> tuple[SourceProblem, ...]:
    """The errors and warnings of a manifest, as problems of its source."""
    return (
        *(_problem_of(source, error, True, manifest.names) for error in manifest.errors),
        *(_problem_of(source, warning, False) for warning in manifest.warnings),
    )


def _problem_of(source: str, error: ManifestError, fatal: bool, pods: tuple[str, ...] = ()) -> SourceProblem:
    origin = error.origin if error.line is None else f"{error.origin}:{error.line}"
    reason = f"{error.reason}; {error.hint}" if error.hint else error.reason
    return SourceProblem(source, origin, error.path, reason, fatal, pods)


# --- a directory ------------------------------------------------------------------------------------------------------


class FileState(msgspec.Struct, frozen=True):
    """The state of one file. `pods`: from its last valid content."""

    content: bytes | None
    pods: tuple[Pod, ...]
    problems: tuple[SourceProblem, ...] = ()
    given: frozenset[str] = frozenset()
    """UIDs that the manifest itself gives."""
    touched_ns: int = 0
    """When the file was last touched before this content was read; 0: not known."""


class FilesRead(msgspec.Struct, frozen=True):
    """One reading: every file by path, in order (None: unknown), and the problem of the path as a whole."""

    files: Mapping[str, FileState] | None
    problem: SourceProblem | None = None


class FileSourceActor(SourceActor):
    """Reads a directory (or one file) of manifests, periodically and after changes.

    The period is `fileCheckFrequency`; inotify reports changes.

    The disk may hang, so a reading is one call on a lane with a deadline; while it hangs, the known pods stay. A
    missing path is an empty set of pods and is logged once.

    A file that was removed and is back at the next reading ends its pods and starts them anew, as with a kubelet, even
    if its content is the same. One that was only saved anew, by whatever means, starts nothing that has not changed.

    Before the first pods are told, the runtime is asked which of them run already under the UID of another agent
    (`actors.sources.kept_uids`). If it does not answer for 15 s, none does. Without `cri` nobody is asked.
    """

    source: ClassVar[str] = SOURCE_FILE

    def __init__(
        self,
        storage: ActorRef,
        directory: ManifestDirectory,
        path: str,
        period_ns: int,
        decode: Decode,
        cri: Cri | None = None,
    ) -> None:
        super().__init__(storage, period_ns, decode)
        self._cri = cri
        self._kept: dict[str, str] = {}
        """UID from the manifest -> UID that the pod keeps."""
        self._directory = directory
        self._path = path
        self._watch: ManifestWatch | None = None
        self._touched_at_ns: int | None = None
        self._removed: frozenset[str] = frozenset()
        """Names of files that were removed since the last reading."""
        self._files: Mapping[str, FileState] = {}
        self._left_out: tuple[LeftOut, ...] = ()

    def on_start(self) -> None:
        ref = self.ref

        def changed(removed: str) -> None:
            ref.tell(SourceTouched(frozenset({removed} if removed else ())))

        self._watch = self._directory.watch(self._path, changed)
        super().on_start()

    def on_stop(self) -> None:
        if self._watch is not None:
            self._watch.close()

    def on_failure(self, *_: Any) -> None:
        self.on_stop()  # the next life watches anew

    @handles(SourceTouched)
    def source_touched(self, message: SourceTouched) -> None:
        """Work: the names of removed files."""
        self._removed |= message.removed
        now_ns = self.now_ns()
        if self._touched_at_ns is None:
            self._touched_at_ns = now_ns
        self.after(max(0, min(SETTLE_NS, self._touched_at_ns + SETTLE_LIMIT_NS - now_ns)), ReadSource())

    async def read(self) -> None:
        self._touched_at_ns = None
        # One call at a time: a disk that hangs blocks one thread, and later readings wait for it.
        lane = self.lane("manifests", size=1, per_key=1)
        call = lane.submit(self.path, self._read_all, self._files, deadline_ns=READING_LIMIT_NS)
        try:
            read = await self.wait(call, what=f"the manifests at {self._path}")
        except (DeadlineExceededError, LaneExhaustedError) as failure:
            read = FilesRead(None, SourceProblem(self.source, self._path, "", f"cannot be read: {failure}"))
        files = read.files
        if files is not None:
            self._anew |= self._were_removed(files)
        if files is not None and (self._pods is None or list(files.items()) != list(self._files.items())):
            if self._pods is None:
                self._kept = await self._kept_uids(files)
            self._files = files
            pods, self._left_out = without_duplicates(files, self.source)
            self._pods = tuple(self._known_as(pod) for pod in pods)
        of_files = [problem for state in self._files.values() for problem in state.problems]
        self.show(*of_files, *([] if read.problem is None else [read.problem]), duplicates=self._left_out)

    def _were_removed(self, files: Mapping[str, FileState]) -> frozenset[str]:
        """UIDs of the known pods whose files were removed, and are back.

        A file that is back and bad ends nothing: its pods begin anew when it is good.
        """
        back = {path for path in files if os.path.basename(path) in self._removed}
        bad = {path for path in back if any(problem.fatal for problem in files[path].problems)}
        self._removed = frozenset(map(os.path.basename, bad))
        known = self._files
        pods = (pod for path in sorted(back - bad) if path in known for pod in known[path].pods)
        return frozenset(self._known_as(pod).metadata.uid for pod in pods)

    async def _kept_uids(self, files: Mapping[str, FileState]) -> dict[str, str]:
        made, cri = may_keep(files), self._cri
        if not made or cri is None:
            return {}
        until_ns = self.now_ns() + RUNTIME_LIMIT_NS
        while True:
            try:
                running = await self._running(cri)
                break
            except (CriError, DeadlineExceededError):
                if self.now_ns() >= until_ns:
                    # The runtime monitor says why.
                    self.log.warning(
                        "cannot tell which static pods another agent ran before: the runtime does not answer"
                    )
                    return {}
            await self.sleep(SECOND_NS)
        kept = kept_uids(made, (pod for state in files.values() for pod in state.pods), self.source, running)
        for uid in kept.values():
            self.log.info("the static pod %s keeps its UID: another agent runs it, and its manifest is unchanged", uid)
        return kept

    async def _running(self, cri: Cri) -> Running:
        sandboxes = cri.call(LIST_POD_SANDBOX, ListPodSandboxRequest())
        containers = cri.call(LIST_CONTAINERS, ListContainersRequest())
        wait, what = self.wait, "what the runtime runs"
        return Running(
            (await wait(sandboxes, timeout_ns=ASK_RUNTIME_NS, what=what)).items,
            (await wait(containers, timeout_ns=ASK_RUNTIME_NS, what=what)).containers,
        )

    def _known_as(self, pod: Pod) -> Pod:
        uid = self._kept.get(pod.metadata.uid)
        return pod if uid is None else with_uid(pod, uid)

    def _read_all(self, known: Mapping[str, FileState]) -> FilesRead:
        """Read all files. Runs on the lane."""
        watch = self._watch
        unwatched = watch.renew() if watch is not None else ""
        read = next_states(self._path, known, self._directory.read(self._path), self._decode, self.source)
        if unwatched and read.problem is None:
            return FilesRead(read.files, SourceProblem(self.source, self._path, "", unwatched))
        return read


def next_states(
    path: str, known: Mapping[str, FileState], reading: ManifestReading, decode: Decode, source: str
) -> FilesRead:
    """The states after `reading`. Unchanged files keep the same state objects."""
    if reading.problem:
        return FilesRead(None, SourceProblem(source, path, "", f"cannot be listed: {reading.problem}"))
    if reading.missing:
        return FilesRead({}, SourceProblem(source, path, "", "there is no such file or directory; it is waited for"))
    return FilesRead({file.path: _next_state(known.get(file.path), file, decode, source) for file in reading.files})


def without_duplicates(files: Mapping[str, FileState], source: str) -> tuple[tuple[Pod, ...], tuple[LeftOut, ...]]:
    """The pods of all files, and those left out because an earlier file has a pod of that name or UID."""
    pods: list[Pod] = []
    left_out: list[LeftOut] = []
    names: dict[str, str] = {}
    uids: dict[str, str] = {}
    for path, state in files.items():
        for pod in state.pods:
            name, uid = name_as_written(pod), pod.metadata.uid
            if name in names:
                reason = f"pod {name} is in {names[name]} too, and runs from there; rename one of them"
            elif uid in uids:
                reason = f"pod {name} has the metadata.uid of a pod in {uids[uid]}; remove one of them"
            else:
                names[name] = uids[uid] = path
                pods.append(pod)
                continue
            left_out.append(LeftOut(pod, SourceProblem(source, path, "", reason, pods=(name,))))
    return tuple(pods), tuple(left_out)


class ReadOnce(msgspec.Struct, frozen=True):
    """The pods that a node would make from the manifests at a path, and the problems."""

    files: int
    pods: tuple[Pod, ...]
    problems: tuple[SourceProblem, ...]


def read_once(path: str, decode: Decode, directory: ManifestDirectory) -> ReadOnce:
    """Read manifests once, without an actor."""
    read = next_states(path, {}, directory.read(path), decode, SOURCE_FILE)
    files = read.files or {}
    pods, left_out = without_duplicates(files, SOURCE_FILE)
    problems = [problem for state in files.values() for problem in state.problems]
    problems += [each.problem for each in left_out]
    return ReadOnce(len(files), pods, (*problems, *([] if read.problem is None else [read.problem])))


def name_as_written(pod: Pod) -> str:
    """`namespace/name`, without the name of the node at its end."""
    name = pod.metadata.name.removesuffix(f"-{(pod.spec.node_name or '').lower()}")
    return f"{pod.metadata.namespace}/{name}"


def _next_state(known: FileState | None, file: ManifestFile, decode: Decode, source: str) -> FileState:
    last_good = () if known is None else known.pods
    if file.content is None:
        problems = (SourceProblem(source, file.path, "", f"cannot be read: {file.problem}"),)
        return known if known is not None and known.problems == problems else FileState(None, last_good, problems)
    if known is not None and known.content == file.content:
        return known
    manifest = decode(file.content, file.path)
    pods = last_good if manifest.errors else manifest.pods
    return FileState(file.content, pods, problems_of(source, manifest), manifest.given, file.touched_ns)


def may_keep(files: Mapping[str, FileState]) -> dict[str, int]:
    """UIDs of the pods whose UIDs the agent has made, and when their files were last touched."""
    return {
        pod.metadata.uid: state.touched_ns
        for state in files.values()
        if state.touched_ns
        for pod in state.pods
        if pod.metadata.uid not in state.given
    }
