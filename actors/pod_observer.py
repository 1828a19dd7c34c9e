"""How one worker looks at its own pod in the runtime (spec 2.5, `GetPodStatus`).

Two short lists filtered by the pod's UID say what there is; a status call is made only for what is new or has changed
its state since the last look, because everything else about a container never changes. What has vanished between the
list and the status call is simply not there.

A failed look raises: the caller keeps what it knew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from actors.runtime_shown import Shown, is_known
from runtime.cri import Cri, CriError
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
    from actors.kernel import Actor

S = TypeVar("S", PodSandboxStatus, ContainerStatus)

POD_UID_LABEL = "io.kubernetes.pod.uid"
Look = tuple[tuple[PodSandboxStatus, ...], tuple[ContainerStatus, ...]]


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

    async def look(self) -> Look:
        """All sandboxes and containers of the pod, in the order of the runtime's lists. Raises CriError."""
        wait = self._actor.wait
        listing_sandboxes = self._cri.call(LIST_POD_SANDBOX, self._list_sandboxes)
        listing_containers = self._cri.call(LIST_CONTAINERS, self._list_containers)
        sandboxes = (await wait(listing_sandboxes, what="the list of the pod's sandboxes")).items
        containers = (await wait(listing_containers, what="the list of the pod's containers")).containers
        for sandbox in sandboxes:
            seen = self._sandboxes.get(sandbox.id)
            if seen is None or seen.state != sandbox.state:
                await self.look_at_sandbox(sandbox.id)
        for container in containers:
            status = self._containers.get(container.id)
            if status is None or status.state != container.state:
                await self.look_at_container(container.id)
        # Only a look that has come to its end forgets: what a failed one has found need not be asked for again.
        self._sandboxes, self._containers = (
            self._those(sandboxes, self._sandboxes),
            self._those(containers, self._containers),
        )
        return self.seen()

    async def look_at_sandbox(self, sandbox_id: str) -> None:
        """Refresh one sandbox; forget it when it is gone."""
        request = PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
        try:
            response = await self._actor.wait(
                self._cri.call(POD_SANDBOX_STATUS, request), what=f"the status of sandbox {sandbox_id[:13]}"
            )
        except CriError as failure:
            if not failure.not_found:
                raise
            self._sandboxes.pop(sandbox_id, None)
            self.changes += 1
        else:
            if response.status is not None:
                self._sandboxes[sandbox_id] = response.status
                self.changes += 1

    async def look_at_container(self, container_id: str) -> None:
        """Refresh one container; forget it when it is gone."""
        request = ContainerStatusRequest(container_id=container_id)
        try:
            response = await self._actor.wait(
                self._cri.call(CONTAINER_STATUS, request), what=f"the status of container {container_id[:13]}"
            )
        except CriError as failure:
            if not failure.not_found:
                raise
            self._containers.pop(container_id, None)
            self.changes += 1
        else:
            if response.status is not None:
                self._containers[container_id] = response.status
                self.changes += 1

    def _those(self, listed: Iterable[PodSandbox] | Iterable[Container], known: dict[str, S]) -> dict[str, S]:
        """The statuses of what was listed, in that order."""
        those = {each.id: known[each.id] for each in listed if each.id in known}
        if list(those) == list(known):
            return known
        self.changes += 1
        return those

    def has_seen(self, shown: Shown) -> bool:
        """Whether nothing of what the runtime has told is news."""
        known = {key: int(each.state) for key, each in self._sandboxes.items()}
        known.update((key, int(each.state)) for key, each in self._containers.items())
        return is_known(shown, known)

    def seen(self) -> Look:
        """What the last look and the refreshes since have shown."""
        return tuple(self._sandboxes.values()), tuple(self._containers.values())
