"""What all sources of static pods share: periodic reading, and reporting problems.

A source reads at its start, every period, and soon after it hears of a change. After each reading it sends the full set
to the storage, even if unchanged, so that a lost message heals. An unchanged set is the same tuple, which costs the
storage nothing.

**Bad input loses nothing.** What cannot be read or decoded is a problem. It is logged once and listed (`ListProblems`)
until it is gone. The pods last read from the same place stay desired until the place itself goes. The real kubelet
drops the pods of a file that became unreadable; a typing error should not end a running pod.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Hashable
from typing import ClassVar

from actors.kernel import Actor, ActorRef, Message, handles
from actors.messages.pods import ListProblems, SourceProblem, SourceRead
from config.manifests import ManifestError, Origin, ReadManifest, read_manifest
from config.objects import Pod

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000

SETTLE_NS = 80 * MILLISECOND_NS
"""From the last change to the reading, because a file is rarely written in one go."""
SETTLE_LIMIT_NS = 500 * MILLISECOND_NS
"""From the first change to the reading, however many follow."""

Decode = Callable[[bytes, str], ReadManifest]
"""(content, path or URL of a manifest) -> its pods, errors and warnings."""


def decoder_of(source: str, node_name: str, prevent_api_references: bool = True) -> Decode:
    """A function that decodes manifests of `source` into pods of that node (spec 1.2)."""

    def decode(content: bytes, location: str) -> ReadManifest:
        origin = Origin(source, location)
        return read_manifest(content, origin, node_name, prevent_api_references=prevent_api_references)

    return decode


class ReadSource(Message, frozen=True):
    """To itself: time to read."""

    def coalesce_key(self) -> Hashable:
        return "read"


class SourceTouched(Message, frozen=True):
    """To itself, from a watch on any thread: something has changed, and more may follow."""

    def coalesce_key(self) -> Hashable:
        return "touched"


class SourceActor(Actor):
    """See the module. A subclass names its `source` and defines `read`, which calls `show`."""

    mailbox_capacity: ClassVar[int] = 100
    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS
    source: ClassVar[str] = ""

    def __init__(self, storage: ActorRef, period_ns: int) -> None:
        super().__init__()
        self._storage = storage
        self._period_ns = period_ns
        self._problems: tuple[SourceProblem, ...] = ()
        self._touched_at_ns: int | None = None

    def on_start(self) -> None:
        self.ref.tell(ReadSource())

    @abc.abstractmethod
    async def read(self) -> None:
        """Read the source once and `show` the result. Must not raise for bad input."""

    @handles(ReadSource)
    async def read_source(self, _: ReadSource) -> None:
        self._touched_at_ns = None
        await self.read()
        self.after(self._period_ns, ReadSource())

    @handles(SourceTouched)
    def source_touched(self, _: SourceTouched) -> None:
        now_ns = self.now_ns()
        if self._touched_at_ns is None:
            self._touched_at_ns = now_ns
        self.after(max(0, min(SETTLE_NS, self._touched_at_ns + SETTLE_LIMIT_NS - now_ns)), ReadSource())

    @handles(ListProblems)
    def list_problems(self, _: ListProblems) -> tuple[SourceProblem, ...]:
        return self._problems

    def show(self, pods: tuple[Pod, ...] | None, problems: tuple[SourceProblem, ...]) -> None:
        """Publish a reading: the full set (None: still unknown) and all current problems."""
        self._say(problems)
        if pods is not None:
            self._storage.tell(SourceRead(self.source, pods))

    def _say(self, problems: tuple[SourceProblem, ...]) -> None:
        known, self._problems = self._problems, problems
        for problem in problems:
            if problem not in known:
                self.log.warning("%s", problem)
        if known and not problems:
            self.log.info("the %s source has no problems any more", self.source)


def problems_of(source: str, manifest: ReadManifest) -> tuple[SourceProblem, ...]:
    """The errors and warnings of a manifest, as problems of its source."""
    return (
        *(_problem_of(source, error, True) for error in manifest.errors),
        *(_problem_of(source, warning, False) for warning in manifest.warnings),
    )


def _problem_of(source: str, error: ManifestError, fatal: bool) -> SourceProblem:
    origin = error.origin if error.line is None else f"{error.origin}:{error.line}"
    reason = f"{error.reason}; {error.hint}" if error.hint else error.reason
    return SourceProblem(source, origin, error.path, reason, fatal)
