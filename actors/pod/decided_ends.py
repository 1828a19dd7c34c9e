"""What a worker has decided about containers and could not find again by looking: kept on disk, in the pod's directory.

That a container was asked to end, until when it has time, whether its preStop hook was begun, and why it is killed
while its pod lives on, is written down before it is done. So is the back-off of a container whose remains go with all
others of its pod. Whoever comes after a crash of the worker or of the agent reads it once, and goes on from there: no
hook runs twice, no grace begins anew. What is not there, or cannot be read, was not decided. A disk that does not
answer holds up an end for `PATIENCE_NS` and no longer.

Nothing is written for a pod that has no directory (any more), and what is on disk goes with the directory.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Container, Mapping
from typing import Any

import msgspec

from actors.kernel import Actor, DeadlineExceededError, LaneExhaustedError, Pending
from actors.pod_rules.action_types import KillCause, Wait
from runtime.logs.pod_files import PodFiles

LIMIT_BYTES = 256 * 1024
SECOND_NS = 1_000_000_000
PATIENCE_NS = 2 * SECOND_NS
_NOTHING: Mapping[str, Any] = {}


class EndNote(msgspec.Struct, frozen=True):
    """A container was asked to end at `begun_wall_ns`, with time until `deadline_wall_ns`. `hooked`: its preStop hook
    was begun then. `begun_ns`: by the clock that nobody sets, which runs from boot to boot as containers do.
    """

    begun_wall_ns: int
    deadline_wall_ns: int
    hooked: bool = False
    begun_ns: int | None = None

    @property
    def grace_ns(self) -> int:
        """What it was given."""
        return self.deadline_wall_ns - self.begun_wall_ns

    def passed_ns(self, now_ns: int, wall_ns: int) -> int:
        """Of that, by now: by the time of day where only that is known."""
        if self.begun_ns is not None and now_ns >= self.begun_ns:
            return now_ns - self.begun_ns
        return max(0, wall_ns - self.begun_wall_ns)


class Decided(msgspec.Struct, frozen=True):
    """The document. `ends` and `killed` are by container id, `owed` by container name; causes are named."""

    ends: Mapping[str, EndNote] = _NOTHING
    killed: Mapping[str, str] = _NOTHING
    owed: Mapping[str, Wait] = _NOTHING


def path_of(root_directory: str, uid: str) -> str:
    """Where it lies."""
    return f"{root_directory.rstrip('/')}/pods/{uid}/decided-ends"


def decided_of(text: str) -> Decided:
    """What was written; nothing where it is no such document."""
    try:
        return msgspec.json.decode(text, type=Decided)
    except (msgspec.MsgspecError, UnicodeError):
        return Decided()


def causes_of(decided: Decided) -> dict[str, KillCause]:
    """Container id -> why it was killed; without causes that this version does not know."""
    known = KillCause.__members__
    return {each: known[name] for each, name in decided.killed.items() if name in known}


OnDisk = Callable[..., Pending[Any]]


class DecidedEnds:
    """See the module. `on_disk` runs a call on the pod's files."""

    def __init__(self, worker: Actor, files: PodFiles, path: str, on_disk: OnDisk) -> None:
        self._worker = worker
        self._files = files
        self._path = path
        self._on_disk = on_disk
        self.recalled = False
        self.ends: dict[str, EndNote] = {}
        self.killed: dict[str, KillCause] = {}
        """Container id -> why it was killed while its pod lives on."""
        self.owed: dict[str, Wait] = {}
        """Container name -> the back-off of a container that was removed with all others."""

    async def recall(self, *, anything: bool = True) -> None:
        """Read what an earlier worker has decided, once. What is known by now stays.

        `anything`: whether the runtime has anything of the pod. Nothing was decided about a pod that is new.
        """
        if self.recalled or not anything:
            self.recalled = True
            return
        try:
            text = await self._worker.wait(
                self._on_disk(self._files.read_node_file, self._path, LIMIT_BYTES),
                timeout_ns=PATIENCE_NS,
                what="what was decided about its containers",
            )
        except FileNotFoundError:
            text = "{}"
        except (OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            self._worker.log.warning("what was decided about containers of the pod cannot be read: %s", failure)
            text = "{}"
        self.recalled = True
        decided = decided_of(text)
        self.ends = {**decided.ends, **self.ends}
        self.killed = {**causes_of(decided), **self.killed}
        self.owed = {**decided.owed, **self.owed}

    def write(self) -> Pending[Any]:
        """Write all of it down."""
        causes = {each: cause.name for each, cause in self.killed.items()}
        text = msgspec.json.encode(Decided(self.ends, causes, self.owed)).decode()
        return self._on_disk(self._files.write_record, self._path, text, deadline_ns=PATIENCE_NS)

    def graces(self) -> dict[str, int]:
        """Container id -> seconds that it was given when its end was begun."""
        return {each: -(-note.grace_ns // SECOND_NS) for each, note in self.ends.items()}

    async def keep(self) -> None:
        """Write all of it down, and wait for that."""
        writing = self.write()
        with contextlib.suppress(Exception):
            await self._worker.wait(writing, what="what was decided about its containers")
        self.written(writing)

    def written(self, done: Pending[Any]) -> None:
        """What has come of it. It goes on either way: an end that cannot be written down is an end all the same."""
        try:
            done.result(0)
        except FileNotFoundError:
            return  # a pod without a directory is one that only the runtime knows
        except BaseException as failure:  # the end of an effect of any kind
            self._worker.log.warning("what was decided about containers of the pod is not written down: %r", failure)

    def forget_others_than(self, known: Container[str], newest: Container[str]) -> None:
        """Of containers that are gone nothing is to be remembered; `newest`: ids that have no successor yet."""
        for each in [each for each in self.ends if each not in known]:
            del self.ends[each]
        for each in [each for each in self.killed if each not in newest]:
            del self.killed[each]
