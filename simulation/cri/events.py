"""The stream of container events, and its followers.

An event is made only if somebody follows; it shows the pod at that moment. Sandboxes have events too, under their own
id, as in containerd. Delivery is in order and one at a time, through the outbox of the runtime; the faults of
`simulation.chance.call_faults` may double, delay, reorder or cut it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from runtime.cri.errors import CriError, StatusCode
from runtime.cri.messages import ContainerEventResponse, ContainerEventType
from simulation.chance.call_faults import EventFaults
from simulation.cri.state import SandboxRecord
from simulation.cri.views import container_status, sandbox_status

CREATED = ContainerEventType.CONTAINER_CREATED_EVENT
STARTED = ContainerEventType.CONTAINER_STARTED_EVENT
STOPPED = ContainerEventType.CONTAINER_STOPPED_EVENT
DELETED = ContainerEventType.CONTAINER_DELETED_EVENT


class EventOutlet(Protocol):
    """The parts of the runtime that streams need: lock, clock, timers and outbox."""

    def held(self) -> AbstractContextManager[object]:
        """Hold the lock; deliver afterwards what was handed in meanwhile."""

    def wall_ns(self) -> int: ...
    def after(self, ns: int, fn: Callable[[], object], /) -> object:
        """Call `fn` under the lock in `ns` ns."""

    def later(self, fn: Callable[[Any], object], value: Any) -> None:
        """Call `fn(value)` once the lock is free, after all that was handed in before."""


class EventStream:
    """One follower. `close` may be called from any thread, also from within `on_item`.

    Its end comes through the outbox like its items, and so after all of them.
    """

    def __init__(
        self,
        streams: EventStreams,
        on_item: Callable[[ContainerEventResponse], None],
        on_end: Callable[[CriError | None], None],
    ) -> None:
        self._streams = streams
        self.on_item = on_item
        self._on_end = on_end
        self._ended = False

    def end(self, error: CriError | None) -> None:
        if not self._ended:
            self._ended = True
            self._on_end(error)

    def close(self) -> None:
        self._streams.close(self)


class EventStreams:
    """All followers of one runtime."""

    def __init__(self, runtime: EventOutlet) -> None:
        self._runtime = runtime
        self._followers: list[EventStream] = []
        self.faults: EventFaults | None = None

    def follow(self, stream: EventStream) -> None:
        self._followers.append(stream)

    def close(self, stream: EventStream) -> None:
        """End a stream for its follower."""
        with self._runtime.held():
            if stream in self._followers:
                self._followers.remove(stream)
            self._runtime.later(stream.end, None)

    def cut(self, why: str) -> None:
        """Break every stream."""
        for stream in self._followers:
            self._runtime.later(stream.end, CriError(StatusCode.UNAVAILABLE, why, "GetContainerEvents"))
        self._followers.clear()

    def publish(self, kind: ContainerEventType, subject_id: str, sandbox: SandboxRecord) -> None:
        """Something happened to a sandbox, or to a container in it: `subject_id` says to which."""
        followers = self._followers
        if not followers:
            return
        runtime = self._runtime
        event = ContainerEventResponse(
            container_id=subject_id,
            container_event_type=kind,
            created_at=runtime.wall_ns(),
            pod_sandbox_status=sandbox.status or sandbox_status(sandbox),
            containers_statuses=tuple([each.status or container_status(each) for each in sandbox.containers.values()]),
        )
        if self.faults is None:
            for stream in followers:
                runtime.later(stream.on_item, event)
            return
        fate = self.faults.draw()
        if fate.cut:
            self.cut("the event stream broke")
        for delay_ns in fate.delays_ns:
            if delay_ns:
                self._runtime.after(delay_ns, lambda: self._deliver(event))
            else:
                self._deliver(event)

    def _deliver(self, event: ContainerEventResponse) -> None:
        for stream in self._followers:
            self._runtime.later(stream.on_item, event)
