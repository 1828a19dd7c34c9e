"""How a worker sees and changes its own pod in the runtime (spec 2.5, `GetPodStatus`).

`PodObserver` looks. Two short lists, filtered by the UID of the pod, show what there is. A status call follows only for
what is new or has another state than at the last look; nothing else about a container changes. The list alone says that
a sandbox has ended. What vanishes between the list and its status call is not there.

The first look at a pod that came after this agent did asks nothing: there is nothing of it. After the first look, the
observer asks only about what is in doubt: what the runtime has reported as changed, and what the worker itself has
changed. Doubt about one sandbox or container takes one status call. Doubt about everything takes the lists again: after
a call with an unknown outcome, or a report about something that was never seen. A runtime may report a change before
its lists show it, and does not report it twice. So the report is kept until it is seen, and the worker looks again
after a while (`behind_for_ns`). A look that fails raises, and the doubt stays.

`PodCalls` makes one short call at a time. The order to end the pod interrupts the pass that waits for a call. The call
goes on, and its outcome is unknown until it ends. Such calls are remembered by name (`sandbox 0`, `container web 2`).
Meanwhile no call of that name begins again, and the pod has not ended. When such a call ends, the worker gets
`RuntimeCallEnded` and looks again: the look finds what the call has made.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import msgspec

from actors.kernel import Actor, Interrupted, Message, Pending, handles
from actors.messages.pods import LookAgain
from actors.model.observed import (
    ObservedContainer,
    ObservedPod,
    ObservedSandbox,
    observe,
    observed_container,
    observed_sandbox,
    with_refreshed,
)
from actors.model.runtime_shown import Shown, is_behind, news_in
from runtime.cri import Cri, CriError
from runtime.cri.messages import (
    ContainerConfig,
    ContainerFilter,
    ContainerStatus,
    ContainerStatusRequest,
    CreateContainerRequest,
    LinuxContainerResources,
    ListContainersRequest,
    ListPodSandboxRequest,
    PodSandboxConfig,
    PodSandboxFilter,
    PodSandboxState,
    PodSandboxStatus,
    PodSandboxStatusRequest,
    RemoveContainerRequest,
    RunPodSandboxRequest,
    RunPodSandboxResponse,
    StartContainerRequest,
    StartContainerResponse,
    StopContainerRequest,
    StopContainerResponse,
    StopPodSandboxRequest,
    StopPodSandboxResponse,
    UpdateContainerResourcesRequest,
)
from runtime.cri.torn_network import has_torn_network, with_way_out
from runtime.cri.verbs import (
    CONTAINER_STATUS,
    CREATE_CONTAINER,
    LIST_CONTAINERS,
    LIST_POD_SANDBOX,
    POD_SANDBOX_STATUS,
    REMOVE_CONTAINER,
    RUN_POD_SANDBOX,
    START_CONTAINER,
    STOP_CONTAINER,
    STOP_POD_SANDBOX,
    UPDATE_CONTAINER_RESOURCES,
    Req,
    Res,
    Verb,
)

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
        self._picture = ObservedPod(uid)
        labels = {POD_UID_LABEL: uid}
        self._list_sandboxes = ListPodSandboxRequest(filter=PodSandboxFilter(label_selector=labels))
        self._list_containers = ListContainersRequest(filter=ContainerFilter(label_selector=labels))
        self._sandboxes: dict[str, ObservedSandbox] = {}
        self._containers: dict[str, ObservedContainer] = {}
        self._states: dict[str, int] = {}
        """The last seen state of each sandbox and container, by id."""
        self.changes = 0
        """How often the seen picture has changed; an equal number means an equal picture."""
        self._pictured = 0
        """The number of changes that `_picture` shows."""
        self._refreshed: dict[str, ObservedContainer] | None = None
        """By id: the containers seen since then, if nothing else has changed. None: anything may have."""
        self._complete = False
        """Everything has been listed, and no doubt has come up since."""
        self._doubtful: set[str] = set()
        """Ids of sandboxes and containers that may have changed since they were looked at."""
        self._told: dict[str, int] = {}
        """States that the runtime has reported and no look has shown yet."""
        self._behind = 0
        """How many looks in a row were behind those reports."""

    # --- doubt ------------------------------------------------------------------------------------------------------

    def nothing_begun(self) -> None:
        """Nothing of the pod can exist, so the first look need not ask the runtime.

        What the runtime has reported counts for more.
        """
        self._complete = not (self._states or self._told or self._doubtful)

    def doubt_all(self) -> None:
        """Anything may have changed or been added."""
        self._complete = False

    def doubt(self, each: str) -> None:
        """The sandbox or container of this id may have changed; an unknown id is a container."""
        self._doubtful.add(each)

    def in_doubt(self) -> bool:
        """Whether the next look asks the runtime."""
        return not self._complete or bool(self._doubtful)

    def told(self, shown: Shown) -> bool:
        """Process a report of the runtime; returns whether any of it is news. News is in doubt from now on."""
        if shown.items() <= self._states.items():
            return False  # usually an echo of what the worker did and saw
        news = news_in(shown, self._states.get)
        for each in news:
            self._doubtful.add(each)
            self._told[each] = shown[each]
            if each not in self._states:
                self.doubt_all()
        return bool(news)

    def behind_for_ns(self) -> int | None:
        """After a look: how long until the next one if the runtime does not show yet what it has reported.

        Else None.
        """
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
        """Look at the pod; ask the runtime only about what is in doubt. Raises CriError."""
        return self._look_at_what_is_doubtful() if self._complete else self.look_at_all()

    async def _look_at_what_is_doubtful(self) -> None:
        for each in sorted(self._doubtful):
            await (self.look_at_sandbox(each) if each in self._sandboxes else self.look_at_container(each))

    async def look_at_all(self) -> None:
        """All sandboxes and containers of the pod, in the order of the runtime's lists. Raises CriError.

        The lists show only states. A container in doubt may have changed otherwise, such as in its resources.
        """
        wait = self._actor.wait
        self._doubtful.intersection_update(self._containers)
        doubted = frozenset(self._doubtful)
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
            is_seen = container.id in self._containers and container.id not in self._doubtful
            if not is_seen or self._states[container.id] != container.state:
                await self.look_at_container(container.id)
        # Forget only after a complete look: what a failed one has found need not be asked for again.
        self._sandboxes = self._those([each.id for each in sandboxes], self._sandboxes)
        self._containers = self._those([each.id for each in containers], self._containers)
        self._doubtful -= doubted - self._containers.keys()
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
                self._still_in_doubt(each)
                raise
            known.pop(each, None)
            self._states.pop(each, None)
            self.changes += 1
            self._refreshed = None
        except BaseException:  # cancelled, or no answer in time
            self._still_in_doubt(each)
            raise
        else:
            if status is not None:
                self._saw(each, known, observed(status), status.state)

    def _still_in_doubt(self, each: str) -> None:
        self._doubtful.add(each)
        self.doubt_all()

    def _saw(self, each: str, known: dict[str, Observed], observed: Observed, state: int) -> None:
        known[each] = observed
        self._states[each] = state
        self.changes += 1
        if not isinstance(observed, ObservedContainer):
            self._refreshed = None
        elif self._refreshed is not None:
            self._refreshed[each] = observed

    def _those(self, listed: list[str], known: dict[str, Observed]) -> dict[str, Observed]:
        """The known ones among `listed`, in that order."""
        if listed == list(known):
            return known
        those = {each: known[each] for each in listed if each in known}
        if list(those) == list(known):
            return known
        for gone in known.keys() - those.keys():
            del self._states[gone]
        self.changes += 1
        self._refreshed = None
        return those

    def seen(self) -> Look:
        """What the last look and the refreshes since have shown."""
        return tuple(self._sandboxes.values()), tuple(self._containers.values())

    def picture(self) -> ObservedPod:
        """The same as one picture. It is the same object as long as nothing has changed."""
        if self._pictured != self.changes:
            self._picture = (
                observe(self._picture.uid, *self.seen())
                if self._refreshed is None
                else with_refreshed(self._picture, self._refreshed.values())
            )
            self._pictured, self._refreshed = self.changes, {}
        return self._picture


class RuntimeCallEnded(Message, frozen=True):
    """To the worker itself: a call that outlived its pass has ended, with or without success."""

    name: str


class PodCalls:
    """See the module.

    `observer` gets notes of what may have changed: one sandbox or container, or everything after a failure.
    """

    def __init__(self, worker: Actor, cri: Cri, observer: PodObserver) -> None:
        self._worker = worker
        self._cri = cri
        self._observer = observer
        self._under_way: dict[str, Pending[Any]] = {}
        self.begun = 0
        """The number of calls so far."""

    def under_way(self) -> frozenset[str]:
        """Names of the calls whose outcome is unknown."""
        return frozenset(self._under_way)

    @handles(RuntimeCallEnded)
    def ended(self, message: RuntimeCallEnded) -> None:
        """Look at everything: the effect of the call is unknown."""
        self._under_way.pop(message.name, None)
        self._worker.ref.tell(LookAgain())

    def forget_ended(self) -> None:
        """A `RuntimeCallEnded` may have been lost. The caller looks at everything after this."""
        for name in [name for name, pending in self._under_way.items() if pending.done()]:
            del self._under_way[name]

    def ask_for_sandbox(self, attempt: int, config: PodSandboxConfig, handler: str) -> Pending[RunPodSandboxResponse]:
        """Begin to make the sandbox and its network. `sandbox_made` waits for the end."""
        request = RunPodSandboxRequest(config=config, runtime_handler=handler)
        return self._begin(sandbox_call(attempt), RUN_POD_SANDBOX, request)

    async def sandbox_made(self, attempt: int, making: Pending[RunPodSandboxResponse]) -> str:
        """Wait until the sandbox is made; return its id. Raises CriError."""
        response = await self._end_of(sandbox_call(attempt), making, "the making of the sandbox")
        return response.pod_sandbox_id

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox_config: PodSandboxConfig) -> str:
        """Create a container without starting it; return its id. Raises CriError."""
        metadata = config.metadata
        assert metadata is not None, "every container config has a name and an attempt"
        request = CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox_config)
        name = metadata.name
        call = container_call(name, metadata.attempt)
        response = await self._do(call, CREATE_CONTAINER, request, f"the creation of container {name}")
        self._observer.doubt(response.container_id)
        return response.container_id

    def start_container(self, name: str, attempt: int, container_id: str) -> Awaitable[StartContainerResponse]:
        """Start a created container. Raises CriError."""
        request = StartContainerRequest(container_id=container_id)
        self._observer.doubt(container_id)
        return self._do(container_call(name, attempt), START_CONTAINER, request, f"the start of container {name}")

    async def update_container(
        self, name: str, attempt: int, container_id: str, resources: LinuxContainerResources
    ) -> None:
        """Give a running container other resources. Raises CriError."""
        request = UpdateContainerResourcesRequest(container_id=container_id, linux=resources)
        self._observer.doubt(container_id)
        await self._do(
            f"resize {name} {attempt}", UPDATE_CONTAINER_RESOURCES, request, f"the resize of container {name}"
        )

    def stop_container(self, container_id: str, grace_seconds: int) -> Pending[StopContainerResponse]:
        """Begin to stop a container; the runtime kills it after the grace. One that is gone counts as stopped."""
        self.begun += 1
        self._observer.doubt(container_id)
        return self._cri.call(STOP_CONTAINER, StopContainerRequest(container_id=container_id, timeout=grace_seconds))

    async def remove_container(self, container_id: str) -> None:
        """Remove a container that does not run; its log stays.

        One that is gone counts as removed. Raises CriError.
        """
        self.begun += 1
        self._observer.doubt(container_id)
        call = self._cri.call(REMOVE_CONTAINER, RemoveContainerRequest(container_id=container_id))
        try:
            await self._worker.wait(call, what=f"the removal of container {container_id[:13]}")
        except CriError as failure:
            if not failure.not_found:
                raise

    def stop_sandbox(self, sandbox_id: str) -> Awaitable[str]:
        """Stop a sandbox and all in it, as `sandbox_stopped` says. Raises CriError."""
        return self.sandbox_stopped(self.ask_sandbox_to_stop(sandbox_id), sandbox_id)

    def ask_sandbox_to_stop(self, sandbox_id: str) -> Pending[StopPodSandboxResponse]:
        """Begin to stop a sandbox. `sandbox_stopped` waits for the end."""
        self.begun += 1
        self._observer.doubt_all()
        return self._cri.call(STOP_POD_SANDBOX, StopPodSandboxRequest(pod_sandbox_id=sandbox_id))

    async def sandbox_stopped(self, stopping: Pending[StopPodSandboxResponse], sandbox_id: str) -> str:
        """Wait for the end of a stop. A sandbox that is gone counts as stopped. Raises CriError.

        So does one whose network can never be taken down, since what CNI kept of it is torn: nothing of it runs. Then
        the answer is why its network stays, with the way out; it is empty otherwise.
        """
        try:
            await self._worker.wait(stopping, what=f"the stop of sandbox {sandbox_id[:13]}")
        except CriError as failure:
            if has_torn_network(failure):
                return f"the network of sandbox {sandbox_id[:13]} stays: {with_way_out(failure)}"
            if not failure.not_found:
                raise
        return ""

    async def _do(self, name: str, verb: Verb[Req, Res], request: Req, what: str) -> Res:
        return await self._end_of(name, self._begin(name, verb, request), what)

    def _begin(self, name: str, verb: Verb[Req, Res], request: Req) -> Pending[Res]:
        self.begun += 1
        pending = self._under_way[name] = self._cri.call(verb, request)
        return pending

    async def _end_of(self, name: str, pending: Pending[Res], what: str) -> Res:
        try:
            return await self._worker.wait(pending, what=what)
        except Interrupted:
            self._observer.doubt_all()
            ref = self._worker.ref
            pending.add_done_callback(lambda _: ref.tell(RuntimeCallEnded(name)))
            raise
        except BaseException:
            self._observer.doubt_all()
            raise
        finally:
            if pending.done():
                self._under_way.pop(name, None)


def sandbox_call(attempt: int) -> str:
    """The name of the call that makes the sandbox of this attempt."""
    return f"sandbox {attempt}"


def container_call(name: str, attempt: int) -> str:
    """The name of the calls that create and start this attempt of a container."""
    return f"container {name} {attempt}"
