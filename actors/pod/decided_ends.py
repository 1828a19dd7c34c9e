"""A worker's decisions about containers that no look at the runtime can show.

They are kept on disk, in the pod's directory.

Before an end is carried out, the worker writes it down. The record says that the container was asked to end, its
deadline, and whether its preStop hook was begun. It also says why a container is killed while its pod lives on. The
back-off of a container that is removed with all others of its pod is written down too.

After a crash of the worker or the agent, the next worker reads the record once and goes on from there. No hook runs
twice, and no grace begins anew. What is missing or unreadable counts as not decided. A disk that hangs delays an end by
`PATIENCE_NS` at most.

Nothing is written for a pod that has no directory (any more). The record is deleted with the directory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Mapping
from typing import Any

import msgspec

from actors.kernel import Actor, DeadlineExceededError, LaneExhaustedError, Pending
from actors.pod_rules.action_types import BackOffWait, KillCause
from runtime.files.state_file import VERSION, UnreadableStateError
from runtime.logs.pod_files import PodFiles

LIMIT_BYTES = 256 * 1024
SECOND_NS = 1_000_000_000
PATIENCE_NS = 2 * SECOND_NS
_NOTHING: Mapping[str, Any] = {}


class EndNote(msgspec.Struct, frozen=True):
    """A container was asked to end at `begun_wall_ns`, with time until `deadline_wall_ns`.

    `hooked`: its preStop hook was begun then. `begun_ns`: the same moment on the monotonic clock, which starts anew at
    each boot, as containers do.
    """

    begun_wall_ns: int
    deadline_wall_ns: int
    hooked: bool = False
    begun_ns: int | None = None

    @property
    def grace_ns(self) -> int:
        """The grace that was given."""
        return self.deadline_wall_ns - self.begun_wall_ns

    def passed_ns(self, now_ns: int, wall_ns: int) -> int:
        """How much of the grace has passed; measured by the wall clock if only that is known."""
        if self.begun_ns is not None and now_ns >= self.begun_ns:
            return now_ns - self.begun_ns
        return max(0, wall_ns - self.begun_wall_ns)


class Decided(msgspec.Struct, frozen=True):
    """The document on disk.

    `ends` and `killed` are by container id, `owed` by container name; causes are stored by name.
    """

    ends: Mapping[str, EndNote] = _NOTHING
    killed: Mapping[str, str] = _NOTHING
    owed: Mapping[str, BackOffWait] = _NOTHING
    version: int = VERSION


_decode_decided = msgspec.json.Decoder(Decided).decode


def decided_of(text: bytes) -> Decided:
    """Parse the document. Raises msgspec.MsgspecError."""
    return _decode_decided(text)


def causes_of(decided: Decided) -> dict[str, KillCause]:
    """Container id -> why it was killed. Causes unknown to this version are left out."""
    known = KillCause.__members__
    return {each: known[name] for each, name in decided.killed.items() if name in known}


OnDisk = Callable[..., Pending[Any]]


class DecidedEnds:
    """See the module. `on_disk` runs a call on the pod's files."""

    def __init__(self, worker: Actor, files: PodFiles, root_directory: str, uid: str, on_disk: OnDisk) -> None:
        self._worker = worker
        self._files = files
        self._path = f"{root_directory.rstrip('/')}/pods/{uid}/decided-ends"
        self._on_disk = on_disk
        self.recalled = False
        """Whether nothing is left to recall, as for a new pod."""
        self.ends: dict[str, EndNote] = {}
        self.killed: dict[str, KillCause] = {}
        """Container id -> why it was killed while its pod lives on."""
        self.owed: dict[str, BackOffWait] = {}
        """Container name -> the back-off of a container that was removed with all others."""

    async def recall(self) -> None:
        """Read the decisions of an earlier worker. Decisions of this worker stay."""
        try:
            found = await self._worker.wait(
                self._on_disk(self._files.read_record, self._path, decided_of, LIMIT_BYTES),
                timeout_ns=PATIENCE_NS,
                what="what was decided about its containers",
            )
        except (OSError, UnreadableStateError, DeadlineExceededError, LaneExhaustedError) as failure:
            self._worker.log.warning("the decisions about containers of the pod cannot be read: %s", failure)
            found = None
        self.recalled = True
        decided = found or Decided()
        self.ends = {**decided.ends, **self.ends}
        self.killed = {**causes_of(decided), **self.killed}
        self.owed = {**decided.owed, **self.owed}

    def write(self) -> Pending[Any]:
        """Write the whole document."""
        causes = {each: cause.name for each, cause in self.killed.items()}
        text = msgspec.json.encode(Decided(self.ends, causes, self.owed)).decode()
        return self._on_disk(self._files.write_record, self._path, text, deadline_ns=PATIENCE_NS)

    def graces(self) -> dict[str, int]:
        """Container id -> the grace in seconds that its end began with."""
        return {each: -(-note.grace_ns // SECOND_NS) for each, note in self.ends.items()}

    async def keep(self) -> None:
        """Write the whole document, and wait until that has ended."""
        writing = self.write()
        with contextlib.suppress(Exception):
            await self._worker.wait(writing, what="what was decided about its containers")
        self.written(writing)

    def written(self, done: Pending[Any]) -> None:
        """Log a failed write. The end goes on even if it cannot be written down."""
        try:
            done.result(0)
        except FileNotFoundError:
            return  # only the runtime knows a pod without a directory
        except BaseException as failure:  # a disk call may fail in any way
            self._worker.log.warning("the decisions about containers of the pod cannot be saved: %r", failure)

    def forget_others_than(self, known: Container[str], newest: Container[str]) -> None:
        """Forget decisions about containers that are gone. `newest`: ids that have no successor yet."""
        for each in [each for each in self.ends if each not in known]:
            del self.ends[each]
        for each in [each for each in self.killed if each not in newest]:
            del self.killed[each]
