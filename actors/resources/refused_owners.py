"""Which owners have pods that this node refuses again and again (kubernetes/kubernetes#84869). Pure.

A ReplicaSet replaces each refused pod by a new one, which the scheduler may send to the same node. So one mistake makes
hundreds of refused pods, and none of them says that it is one of many. Here their owner is counted.

| what happens | what becomes of the owner |
|---|---|
| `TOO_MANY` pods are refused in a row | it is told |
| more are refused | the told number doubles when the real one has |
| a pod is admitted | the row ends |
| none is refused for `CALM_NS` | the row ends |

Only the last `OWNERS_MAX` owners are counted. The told words change at each doubling only, so that a burst causes few
writes of the Node object.
"""

from __future__ import annotations

import msgspec

from actors.messages.node import RefusedOwner
from actors.resources.verdict import Rejected
from config.objects import OwnerReference, Pod

SECOND_NS = 1_000_000_000
TOO_MANY = 20
CALM_NS = 600 * SECOND_NS
OWNERS_MAX = 100
LOOKED_AT = 8
"""Of the owners that a pod names. Controllers name themselves alone."""


class _Row(msgspec.Struct):
    """Refusals in a row. `told` None: they are still few."""

    count: int
    last_ns: int
    told: RefusedOwner | None = None


class RefusedOwners:
    """See the module. Times are those of the dispatcher, in ns."""

    def __init__(self) -> None:
        self._rows: dict[str, _Row] = {}
        """UID of the owner -> its row; the last refused is last."""

    def refuse(self, pod: Pod, verdict: Rejected, now_ns: int) -> RefusedOwner | None:
        """Count a refused pod. Returns its owner if that is told."""
        owner = _controller_of(pod)
        if owner is None:
            return None
        row = self._rows.pop(owner.uid, None)
        if row is None or now_ns - row.last_ns >= CALM_NS:
            row = _Row(0, now_ns)
        self._rows[owner.uid] = row
        row.count, row.last_ns = row.count + 1, now_ns
        if row.count >= (TOO_MANY if row.told is None else 2 * row.told.at_least):
            name = f"{pod.metadata.namespace}/{owner.name}"
            row.told = RefusedOwner(owner.kind, name, row.count, pod.metadata.name, verdict.reason, verdict.message)
        while len(self._rows) > OWNERS_MAX:
            del self._rows[next(iter(self._rows))]
        return row.told

    def admit(self, pod: Pod) -> None:
        """A pod was admitted: the row of its owner ends."""
        if self._rows and (owner := _controller_of(pod)) is not None:
            self._rows.pop(owner.uid, None)

    def told(self, now_ns: int) -> tuple[RefusedOwner, ...]:
        """The owners to tell, the last refused last. Forgets those that are calm."""
        for uid in [uid for uid, row in self._rows.items() if now_ns - row.last_ns >= CALM_NS]:
            del self._rows[uid]
        return tuple(row.told for row in self._rows.values() if row.told is not None)

    def calm_in_ns(self, now_ns: int) -> int | None:
        """When the next told owner may be calm, from now. None: no owner is told."""
        lasts = [row.last_ns for row in self._rows.values() if row.told is not None]
        return max(0, min(lasts) + CALM_NS - now_ns) if lasts else None


def _controller_of(pod: Pod) -> OwnerReference | None:
    return next((each for each in pod.metadata.owner_references[:LOOKED_AT] if each.controller), None)
