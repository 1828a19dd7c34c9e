"""How one worker looks at its own pod in the runtime (spec 2.5, `GetPodStatus`).

Two short lists filtered by the pod's UID say what there is; a status call is made only for what is new or has changed
its state since the last look, because everything else about a container never changes. Of a sandbox that has ended the
list tells all that matters. What has vanished between the list and the status call is simply not there.

Once all of it is known, a look costs as much as there is to doubt. What has been seen holds until somebody doubts it:
the runtime has told of a change (whoever follows it lists it as well, so no change stays untold), or the worker itself
has done something. Doubt about one sandbox or container takes one status call; doubt about everything, because the
outcome of a deed is unknown or something was told of that was never seen, takes the lists again.

A runtime may tell of a change before it shows it, and nobody tells of it again. So what was told is kept until it is
seen: as long as less is shown, the caller looks again after a while (`behind_for_ns`).

A failed look raises: the caller keeps what it knew, and the doubt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from actors.runtime_shown import Shown, is_behind, news_in
from runtime.cri import Cri, CriError
from runtime.cri.enums import PodSandboxState
from runtime.cri.messages import (
    Container,
    ContainerFilter,
    ContainerStatus,
    ContainerStatusRequest,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandbox,
    PodSandboxFilter,
    PodSandboxStatus,
    PodSandboxStatusRequest,
)
from runtime.cri.verbs import CONTAINER_STATUS, LIST_CONTAINERS, LIST_POD_SANDBOX, POD_SANDBOX_STATUS

if TYPE_CHECKING:
    from actors.kernel import Actor, Pending

S = TypeVar("S", PodSandboxStatus, ContainerStatus)
Status = TypeVar("Status", covariant=True)

POD_UID_LABEL = "io.kubernetes.pod.uid"
_NOTREADY = PodSandboxState.SANDBOX_NOTREADY
SECOND_NS = 1_000_000_000
BEHIND_AT_MOST_NS = 60 * SECOND_NS
Look = tuple[tuple[PodSandboxStatus, ...], tuple[ContainerStatus, ...]]


class _Told(Protocol[Status]):
    """The answer to a status call."""

    @property
    def status(self) -> Status | None: ...


class PodObserver:
    """See the module. One per worker; `actor` is the worker that waits."""

    def __init__(self, actor: Actor, cri: Cri, uid: str) -> None:
        self._actor = actor
        self._cri = cri
        labels = {POD_UID_LABEL: uid}
        self._list_sandboxes = ListPodSandboxRequest(filter=PodSandboxFilter(label_selector=labels))
        self._list_containers = ListContainersRequest(filter=ContainerFilter(label_selector=labels))
        self._sandboxes: dict[str, PodSandboxStatus] = {}
        self._containers: dict[str, ContainerStatus] = {}
        self.changes = 0
        """How often what is seen has changed: as long as this stays, so does all of it."""
        self._complete = False
        """All there is has been listed, and nobody doubts that since."""
        self._doubtful: set[str] = set()
        """Ids of sandboxes and containers that may have changed since they were looked at."""
        self._told: dict[str, int] = {}
        """What was told and not seen since."""
        self._behind = 0
        """How many looks in a row have shown less than that."""

    # --- doubt ------------------------------------------------------------------------------------------------------

    def doubt_all(self) -> None:
        """Anything may be different, and there may be more of it."""
        self._complete = False

    def doubt(self, each: str) -> None:
        """The sandbox or container of this id may be different; one that was never seen is a container."""
        self._doubtful.add(each)

    def in_doubt(self) -> bool:
        """Whether the next look asks the runtime."""
        return not self._complete or bool(self._doubtful)

    def told(self, shown: Shown) -> bool:
        """The runtime has told this; whether any of it is news. What is news is doubtful from now on."""
        news = news_in(shown, self._state_of)
        for each in news:
            self._doubtful.add(each)
            self._told[each] = shown[each]
            if each not in self._containers and each not in self._sandboxes:
                self.doubt_all()
        return bool(news)

    def _state_of(self, each: str) -> int | None:
        """How far that sandbox or container had come when it was looked at; None for what was not."""
        seen = self._containers.get(each) or self._sandboxes.get(each)
        return None if seen is None else seen.state

    def behind_for_ns(self) -> int | None:
        """After a look: how long to wait for the next, as the runtime does not show yet what it has told; else None."""
        if not self._told:
            return None
        self._told = {each: state for each, state in self._told.items() if is_behind(self._state_of(each), state)}
        if not self._told:
            self._behind = 0
            return None
        self._behind += 1
        return min(SECOND_NS << min(self._behind - 1, 6), BEHIND_AT_MOST_NS)

    # --- looking ----------------------------------------------------------------------------------------------------

    async def look(self) -> None:
        """See everything of the pod, asking for no more than is in doubt. Raises CriError."""
        if not self._complete:
            await self.look_at_all()
            return
        for each in sorted(self._doubtful) if self._doubtful else ():
            await (self.look_at_sandbox(each) if each in self._sandboxes else self.look_at_container(each))

    async def look_at_all(self) -> None:
        """All sandboxes and containers of the pod, in the order of the runtime's lists. Raises CriError."""
        wait = self._actor.wait
        self._doubtful.clear()
        listing_sandboxes = self._cri.call(LIST_POD_SANDBOX, self._list_sandboxes)
        listing_containers = self._cri.call(LIST_CONTAINERS, self._list_containers)
        sandboxes = (await wait(listing_sandboxes, what="the list of the pod's sandboxes")).items
        containers = (await wait(listing_containers, what="the list of the pod's containers")).containers
        for sandbox in sandboxes:
            seen = self._sandboxes.get(sandbox.id)
            if seen is None:
                await self.look_at_sandbox(sandbox.id)
            elif seen.state != sandbox.state:
                if sandbox.state != _NOTREADY:
                    await self.look_at_sandbox(sandbox.id)
                else:
                    self._sandboxes[sandbox.id] = msgspec.structs.replace(seen, state=sandbox.state)
                    self.changes += 1
        for container in containers:
            status = self._containers.get(container.id)
            if status is None or status.state != container.state:
                await self.look_at_container(container.id)
        # Only a look that has come to its end forgets: what a failed one has found need not be asked for again.
        self._sandboxes, self._containers = (
            self._those(sandboxes, self._sandboxes),
            self._those(containers, self._containers),
        )
        self._complete = True

    async def look_at_sandbox(self, sandbox_id: str) -> None:
        """Refresh one sandbox; forget it when it is gone."""
        call = self._cri.call(POD_SANDBOX_STATUS, PodSandboxStatusRequest(pod_sandbox_id=sandbox_id))
        await self._refresh(sandbox_id, self._sandboxes, call, f"the status of sandbox {sandbox_id[:13]}")

    async def look_at_container(self, container_id: str) -> None:
        """Refresh one container; forget it when it is gone."""
        call = self._cri.call(CONTAINER_STATUS, ContainerStatusRequest(container_id=container_id))
        await self._refresh(container_id, self._containers, call, f"the status of container {container_id[:13]}")

    async def _refresh(self, each: str, known: dict[str, S], call: Pending[_Told[S]], what: str) -> None:
        self._doubtful.discard(each)
        try:
            status = (await self._actor.wait(call, what=what)).status
        except CriError as failure:
            if not failure.not_found:
                self.doubt_all()
                raise
            known.pop(each, None)
            self.changes += 1
        except BaseException:  # cancelled, or without an answer in time
            self.doubt_all()
            raise
        else:
            if status is not None:
                known[each] = status
                self.changes += 1

    def _those(self, listed: Iterable[PodSandbox] | Iterable[Container], known: dict[str, S]) -> dict[str, S]:
        """The statuses of what was listed, in that order."""
        those = {each.id: known[each.id] for each in listed if each.id in known}
        if list(those) == list(known):
            return known
        self.changes += 1
        return those

    def seen(self) -> Look:
        """What the last look and the refreshes since have shown."""
        return tuple(self._sandboxes.values()), tuple(self._containers.values())
