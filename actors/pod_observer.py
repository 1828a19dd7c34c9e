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

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import msgspec

from actors.kernel import Actor, Pending
from actors.observed import ObservedContainer, ObservedSandbox, observed_container, observed_sandbox
from actors.runtime_shown import Shown, is_behind, news_in
from runtime.cri import Cri, CriError
from runtime.cri.enums import PodSandboxState
from runtime.cri.messages import (
    ContainerFilter,
    ContainerStatus,
    ContainerStatusRequest,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandboxFilter,
    PodSandboxStatus,
    PodSandboxStatusRequest,
)
from runtime.cri.verbs import CONTAINER_STATUS, LIST_CONTAINERS, LIST_POD_SANDBOX, POD_SANDBOX_STATUS

Status = TypeVar("Status", PodSandboxStatus, ContainerStatus)
Answered = TypeVar("Answered", covariant=True)
Observed = TypeVar("Observed", ObservedSandbox, ObservedContainer)

POD_UID_LABEL = "io.kubernetes.pod.uid"
_NOTREADY = PodSandboxState.SANDBOX_NOTREADY
SECOND_NS = 1_000_000_000
BEHIND_AT_MOST_NS = 60 * SECOND_NS
Look = tuple[tuple[ObservedSandbox, ...], tuple[ObservedContainer, ...]]


class _Told(Protocol[Answered]):
    """The answer to a status call."""

    @property
    def status(self) -> Answered | None: ...


class PodObserver:
    """See the module. One per worker; `actor` is the worker that waits."""

    def __init__(self, actor: Actor, cri: Cri, uid: str) -> None:
        self._actor = actor
        self._cri = cri
        labels = {POD_UID_LABEL: uid}
        self._list_sandboxes = ListPodSandboxRequest(filter=PodSandboxFilter(label_selector=labels))
        self._list_containers = ListContainersRequest(filter=ContainerFilter(label_selector=labels))
        self._sandboxes: dict[str, ObservedSandbox] = {}
        self._containers: dict[str, ObservedContainer] = {}
        self._states: dict[str, int] = {}
        """How far each of them had come when it was looked at."""
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
        if shown.items() <= self._states.items():
            return False  # mostly: it is the echo of what was done and looked at
        news = news_in(shown, self._states.get)
        for each in news:
            self._doubtful.add(each)
            self._told[each] = shown[each]
            if each not in self._states:
                self.doubt_all()
        return bool(news)

    def behind_for_ns(self) -> int | None:
        """After a look: how long to wait for the next, as the runtime does not show yet what it has told; else None."""
        if not self._told:
            return None
        self._told = {each: state for each, state in self._told.items() if is_behind(self._states.get(each), state)}
        if not self._told:
            self._behind = 0
            return None
        self._behind += 1
        return min(SECOND_NS << min(self._behind - 1, 6), BEHIND_AT_MOST_NS)

    # --- looking ----------------------------------------------------------------------------------------------------

    def look(self) -> Awaitable[None]:
        """See everything of the pod, asking for no more than is in doubt. Raises CriError."""
        return self._look_at_what_is_doubtful() if self._complete else self.look_at_all()

    async def _look_at_what_is_doubtful(self) -> None:
        for each in sorted(self._doubtful):
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
            state, seen = sandbox.state, self._sandboxes.get(sandbox.id)
            if seen is None or (self._states[sandbox.id] != state and state != _NOTREADY):
                await self.look_at_sandbox(sandbox.id)
            elif self._states[sandbox.id] != state:
                self._saw(sandbox.id, self._sandboxes, msgspec.structs.replace(seen, ready=False), state)
        for container in containers:
            if container.id not in self._containers or self._states[container.id] != container.state:
                await self.look_at_container(container.id)
        # Only a look that has come to its end forgets: what a failed one has found need not be asked for again.
        self._sandboxes = self._those([each.id for each in sandboxes], self._sandboxes)
        self._containers = self._those([each.id for each in containers], self._containers)
        self._complete = True

    def look_at_sandbox(self, sandbox_id: str) -> Awaitable[None]:
        """Refresh one sandbox; forget it when it is gone."""
        call = self._cri.call(POD_SANDBOX_STATUS, PodSandboxStatusRequest(pod_sandbox_id=sandbox_id))
        what = f"the status of sandbox {sandbox_id[:13]}"
        return self._refresh(sandbox_id, self._sandboxes, observed_sandbox, call, what)

    def look_at_container(self, container_id: str) -> Awaitable[None]:
        """Refresh one container; forget it when it is gone."""
        call = self._cri.call(CONTAINER_STATUS, ContainerStatusRequest(container_id=container_id))
        what = f"the status of container {container_id[:13]}"
        return self._refresh(container_id, self._containers, observed_container, call, what)

    async def _refresh(
        self,
        each: str,
        known: dict[str, Observed],
        observed: Callable[[Status], Observed],
        call: Pending[_Told[Status]],
        what: str,
    ) -> None:
        self._doubtful.discard(each)
        try:
            status = (await self._actor.wait(call, what=what)).status
        except CriError as failure:
            if not failure.not_found:
                self.doubt_all()
                raise
            known.pop(each, None)
            self._states.pop(each, None)
            self.changes += 1
        except BaseException:  # cancelled, or without an answer in time
            self.doubt_all()
            raise
        else:
            if status is not None:
                self._saw(each, known, observed(status), status.state)

    def _saw(self, each: str, known: dict[str, Observed], observed: Observed, state: int) -> None:
        known[each] = observed
        self._states[each] = state
        self.changes += 1

    def _those(self, listed: list[str], known: dict[str, Observed]) -> dict[str, Observed]:
        """What was seen of those listed, in that order."""
        if listed == list(known):
            return known
        those = {each: known[each] for each in listed if each in known}
        if list(those) == list(known):
            return known
        for gone in known.keys() - those.keys():
            del self._states[gone]
        self.changes += 1
        return those

    def seen(self) -> Look:
        """What the last look and the refreshes since have shown."""
        return tuple(self._sandboxes.values()), tuple(self._containers.values())
