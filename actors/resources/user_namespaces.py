"""`UserNamespaceActor`: the single owner of the ids of pods with a user namespace (spec 17.6).

A worker asks for the ids before it makes anything of its pod, and releases them when nothing of the pod runs. The
answer goes out only when the record is on disk. After a restart the records are read before the first answer, so that
pods keep their ids. A record that cannot be kept refuses its own pod and no other; its range stays taken while the
record exists. Disk work runs on a lane, one call at a time; questions wait behind it, and there are few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from actors.kernel import Actor, DeadlineExceededError, LaneExhaustedError, handles
from actors.messages.ids import AssignIds, IdsAssigned, ReleaseIds
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.model.id_ranges import IdRange, IdRangeError, Slots, document, node_range, read_document
from runtime.state.id_files import IdFiles

T = TypeVar("T")

DISK_NS = 15_000_000_000
ALL_IDS = "ids"
"""The key of calls about all pods.

A call about one pod has its UID: a record that hangs costs its own slots.
"""


class UserNamespaceActor(Actor):
    """See the module. `ids_per_pod`, `max_pods`: from the configuration."""

    health_limit_ns: ClassVar[int | None] = 120_000_000_000

    def __init__(self, files: IdFiles, ids_per_pod: int, max_pods: int) -> None:
        super().__init__()
        self._files = files
        self._ids_per_pod = ids_per_pod
        self._max_pods = max_pods
        self._slots: Slots | None = None
        self._recorded: set[str] = set()
        self._refused: dict[str, str] = {}
        """UID -> why its record cannot be kept."""

    @handles(AssignIds)
    async def assign(self, message: AssignIds) -> None:
        """Work: constant."""
        try:
            answer = IdsAssigned(await self._ids_of(message.uid))
        except (IdRangeError, OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            answer = IdsAssigned(None, str(failure))
        message.worker.tell(answer)

    @handles(ReleaseIds)
    async def release(self, message: ReleaseIds) -> None:
        """Work: constant."""
        slots = self._slots
        known = slots is not None and slots.of(message.uid) is not None
        if slots is not None and not known and message.uid not in self._refused:
            return
        try:
            await self._on_disk(message.uid, self._files.remove, message.uid)
        except (OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            # The record goes with the pod's directory; until then the ids stay with the pod.
            self.log.warning("the record of the ids of pod %s cannot be removed: %s", message.uid, failure)
            return
        self._refused.pop(message.uid, None)
        self._recorded.discard(message.uid)
        if slots is not None:
            slots.release(message.uid)

    async def _ids_of(self, uid: str) -> IdRange:
        slots = self._slots
        if slots is None:
            slots = self._slots = await self._read()
        if uid in self._refused:
            raise IdRangeError(self._refused[uid])
        given = slots.give(uid)
        if uid not in self._recorded:
            # A failed write may still have happened: the ids stay with the pod, and the write is tried again.
            await self._on_disk(uid, self._files.write, uid, document(given))
            self._recorded.add(uid)
        return given

    async def _read(self) -> Slots:
        users, groups = await self._on_disk(ALL_IDS, self._files.subordinate)
        slots = Slots(node_range(users, groups, self._ids_per_pod, self._max_pods), self._ids_per_pod)
        records = await self._on_disk(ALL_IDS, self._files.records)
        for uid, text in sorted(records.items()):
            try:
                slots.restore(uid, read_document(text))
                self._recorded.add(uid)
            except IdRangeError as fault:
                self._refused[uid] = str(fault)
                self.log.warning("the ids of pod %s cannot be kept: %s", uid, fault)
        return slots

    async def _on_disk(self, key: str, operation: Callable[..., T], *args: str) -> T:
        lane = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        return await self.wait(lane.submit(key, operation, *args, deadline_ns=DISK_NS), what="the records of ids")
