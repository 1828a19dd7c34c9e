"""What a worker does to its pod in the runtime, one short verb at a time, and what it remembers of deeds under way.

A deed may be left behind: the worker is told to end the pod while the runtime still makes its sandbox. The call goes
on, and its outcome is unknown until it ends. Such deeds are remembered by name (`sandbox 0`, `container web 2`),
nothing of that name is begun again meanwhile, and a pod has not ended before they have. When one ends, the worker
gets `DeedEnded` and looks again; what it made is then found by looking, like everything else.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from actors.kernel import Interrupted, Message, Pending
from actors.pod.part import WorkerPart
from runtime.cri import Cri, CriError
from runtime.cri.messages import (
    ContainerConfig,
    CreateContainerRequest,
    PodSandboxConfig,
    RemoveContainerRequest,
    RunPodSandboxRequest,
    StartContainerRequest,
    StartContainerResponse,
    StopContainerRequest,
    StopContainerResponse,
    StopPodSandboxRequest,
    StopPodSandboxResponse,
)
from runtime.cri.verbs import (
    CREATE_CONTAINER,
    REMOVE_CONTAINER,
    RUN_POD_SANDBOX,
    START_CONTAINER,
    STOP_CONTAINER,
    STOP_POD_SANDBOX,
    Req,
    Res,
    Verb,
)

if TYPE_CHECKING:
    from actors.kernel import Actor
    from actors.pod.observer import PodObserver


class DeedEnded(Message, frozen=True):
    """To the worker itself: a deed that was left behind has ended, well or badly."""

    name: str


class Deeds(WorkerPart):
    """See the module. One per worker; `actor` is the worker that waits. `observer` hears of which sandbox or container
    what was seen is old from now on, and of all where the outcome of a deed is not known.
    """

    _actor: Actor
    _cri: Cri
    _observer: PodObserver
    begun: int = 0
    """How many deeds there were."""
    _under_way: dict[str, Pending[Any]] = {}

    def under_way(self) -> frozenset[str]:
        """Names of the deeds whose outcome is not known yet."""
        return frozenset(self._under_way)

    def ended(self, name: str) -> None:
        """The worker has been told that a deed left behind is over."""
        self._under_way.pop(name, None)

    def forget_ended(self) -> None:
        """Messages were lost, perhaps the end of a deed among them. For whoever looks at everything after that."""
        for name in [name for name, pending in self._under_way.items() if pending.done()]:
            del self._under_way[name]

    async def run_sandbox(self, attempt: int, config: PodSandboxConfig, handler: str) -> str:
        """Make the sandbox and its network; its id. Raises CriError."""
        request = RunPodSandboxRequest(config=config, runtime_handler=handler)
        response = await self._do(sandbox_deed(attempt), RUN_POD_SANDBOX, request, "the making of the sandbox")
        return response.pod_sandbox_id

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox_config: PodSandboxConfig) -> str:
        """Create a container without starting it; its id. Raises CriError."""
        metadata = config.metadata
        assert metadata is not None, "every container config has a name and an attempt"
        request = CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=sandbox_config)
        name = metadata.name
        deed = container_deed(name, metadata.attempt)
        response = await self._do(deed, CREATE_CONTAINER, request, f"the creation of container {name}")
        self._observer.doubt(response.container_id)
        return response.container_id

    def start_container(self, name: str, attempt: int, container_id: str) -> Awaitable[StartContainerResponse]:
        """Start a created container. Raises CriError."""
        request = StartContainerRequest(container_id=container_id)
        self._observer.doubt(container_id)
        return self._do(container_deed(name, attempt), START_CONTAINER, request, f"the start of container {name}")

    def stop_container(self, container_id: str, grace_seconds: int) -> Pending[StopContainerResponse]:
        """Begin to stop a container: after the grace it is killed. What is gone is stopped."""
        self.begun += 1
        self._observer.doubt(container_id)
        return self._cri.call(STOP_CONTAINER, StopContainerRequest(container_id=container_id, timeout=grace_seconds))

    async def remove_container(self, container_id: str) -> None:
        """Remove a container that does not run; its log stays. What is gone is removed. Raises CriError."""
        self.begun += 1
        self._observer.doubt(container_id)
        call = self._cri.call(REMOVE_CONTAINER, RemoveContainerRequest(container_id=container_id))
        try:
            await self._actor.wait(call, what=f"the removal of container {container_id[:13]}")
        except CriError as failure:
            if not failure.not_found:
                raise

    def stop_sandbox(self, sandbox_id: str) -> Awaitable[None]:
        """Stop a sandbox with all that is still in it. What is gone is stopped. Raises CriError."""
        return self.sandbox_stopped(self.ask_sandbox_to_stop(sandbox_id), sandbox_id)

    def ask_sandbox_to_stop(self, sandbox_id: str) -> Pending[StopPodSandboxResponse]:
        """The first half of `stop_sandbox`, for whoever has something to do meanwhile."""
        self.begun += 1
        self._observer.doubt_all()
        return self._cri.call(STOP_POD_SANDBOX, StopPodSandboxRequest(pod_sandbox_id=sandbox_id))

    async def sandbox_stopped(self, stopping: Pending[StopPodSandboxResponse], sandbox_id: str) -> None:
        """The second half: wait for its end. Raises CriError."""
        try:
            await self._actor.wait(stopping, what=f"the stop of sandbox {sandbox_id[:13]}")
        except CriError as failure:
            if not failure.not_found:
                raise

    async def _do(self, name: str, verb: Verb[Req, Res], request: Req, what: str) -> Res:
        self.begun += 1
        pending = self._under_way[name] = self._cri.call(verb, request)
        try:
            return await self._actor.wait(pending, what=what)
        except Interrupted:
            self._observer.doubt_all()
            ref = self._actor.ref
            pending.add_done_callback(lambda _: ref.tell(DeedEnded(name)))
            raise
        except BaseException:
            self._observer.doubt_all()
            raise
        finally:
            if pending.done():
                self._under_way.pop(name, None)


def sandbox_deed(attempt: int) -> str:
    """The name of making the sandbox of that attempt."""
    return f"sandbox {attempt}"


def container_deed(name: str, attempt: int) -> str:
    """The name of creating and starting that attempt of a container."""
    return f"container {name} {attempt}"
