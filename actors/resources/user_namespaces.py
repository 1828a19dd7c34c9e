"""`UserNamespaceActor`: the one owner of the ids that pods with a user namespace have (spec 17.6).

A worker asks for the ids of its pod before anything of the pod is made, and gives them back when nothing of it runs. An
answer is told only when the record is on the disk. After a restart the records are read before the first question is
answered, so that pods keep their ids; a record that cannot be kept refuses its own pod and no other, and its range is
given to nobody as long as the record is there. Disk work goes to a lane, one call at a time; questions wait in line
behind it, and there are few.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from actors.kernel import Actor, DeadlineExceededError, LaneExhaustedError, handles
from actors.messages.ids import AssignIds, IdsAssigned, ReleaseIds
from actors.model.id_ranges import IdRange, IdRangeError, Slots, document, node_range, read_document
from runtime.logs.pod_files import DISK_LANE_SIZE
from runtime.state.id_files import IdFiles

T = TypeVar("T")

DISK_NS = 15_000_000_000


class UserNamespaceActor(Actor):
    """See the module. `ids_per_pod`, `max_pods`: of the configuration."""

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
        try:
            answer = IdsAssigned(await self._ids_of(message.uid))
        except (IdRangeError, OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            answer = IdsAssigned(None, str(failure))
        message.worker.tell(answer)

    @handles(ReleaseIds)
    async def release(self, message: ReleaseIds) -> None:
        slots = self._slots
        known = slots is not None and slots.of(message.uid) is not None
        if slots is not None and not known and message.uid not in self._refused:
            return
        try:
            await self._on_disk(self._files.remove, message.uid)
        except (OSError, DeadlineExceededError, LaneExhaustedError) as failure:
            # It goes with the pod's directory; until then the ids stay with the pod.
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
            # A write that fails may have been done all the same: the ids stay with the pod, and it is tried again.
            await self._on_disk(self._files.write, uid, document(given))
            self._recorded.add(uid)
        return given

    async def _read(self) -> Slots:
        users, groups = await self._on_disk(self._files.subordinate)
        slots = Slots(node_range(users, groups, self._ids_per_pod, self._max_pods), self._ids_per_pod)
        records = await self._on_disk(self._files.records)
        for uid, text in sorted(records.items()):
            try:
                slots.restore(uid, read_document(text))
                self._recorded.add(uid)
            except IdRangeError as fault:
                self._refused[uid] = str(fault)
                self.log.warning("the ids of pod %s cannot be kept: %s", uid, fault)
        return slots

    async def _on_disk(self, deed: Callable[..., T], *args: str) -> T:
        lane = self.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        return await self.wait(lane.submit("ids", deed, *args, deadline_ns=DISK_NS), what="the records of ids")
