"""What a worker does to its pod in the runtime, one short call at a time; and which calls are still under way.

The order to end the pod interrupts the pass that waits for a call. The call goes on, and its outcome is unknown until
it ends. Such calls are remembered by name (`sandbox 0`, `container web 2`). Meanwhile no call of that name begins
again, and the pod has not ended. When such a call ends, the worker gets `CallEnded` and looks again: the look finds
what the call has made.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from actors.kernel import Actor, Interrupted, Message, Pending, handles
from actors.messages import LookAgain
from actors.pod_observer import PodObserver
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


class CallEnded(Message, frozen=True):
    """To the worker itself: a call that outlived its pass has ended, well or badly."""

    name: str


class PodCalls:
    """See the module. `observer` is told what may have changed: one sandbox or container, or all after a failure."""

    def __init__(self, worker: Actor, cri: Cri, observer: PodObserver) -> None:
        self._worker = worker
        self._cri = cri
        self._observer = observer
        self._under_way: dict[str, Pending[Any]] = {}
        self.begun = 0
        """How many calls there were."""

    def under_way(self) -> frozenset[str]:
        """Names of the calls whose outcome is unknown."""
        return frozenset(self._under_way)

    @handles(CallEnded)
    def ended(self, message: CallEnded) -> None:
        """Look at everything: nobody knows what the call has done."""
        self._under_way.pop(message.name, None)
        self._worker.ref.tell(LookAgain())

    def forget_ended(self) -> None:
        """A `CallEnded` may have been lost. The caller looks at everything after this."""
        for name in [name for name, pending in self._under_way.items() if pending.done()]:
            del self._under_way[name]

    async def run_sandbox(self, attempt: int, config: PodSandboxConfig, handler: str) -> str:
        """Make the sandbox and its network; its id. Raises CriError."""
        request = RunPodSandboxRequest(config=config, runtime_handler=handler)
        response = await self._do(sandbox_call(attempt), RUN_POD_SANDBOX, request, "the making of the sandbox")
        return response.pod_sandbox_id

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox_config: PodSandboxConfig) -> str:
        """Create a container without starting it; its id. Raises CriError."""
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

    def stop_container(self, container_id: str, grace_seconds: int) -> Pending[StopContainerResponse]:
        """Begin to stop a container; the runtime kills it after the grace. One that is gone counts as stopped."""
        self.begun += 1
        self._observer.doubt(container_id)
        return self._cri.call(STOP_CONTAINER, StopContainerRequest(container_id=container_id, timeout=grace_seconds))

    async def remove_container(self, container_id: str) -> None:
        """Remove a container that does not run; its log stays. One that is gone counts as removed. Raises CriError."""
        self.begun += 1
        self._observer.doubt(container_id)
        call = self._cri.call(REMOVE_CONTAINER, RemoveContainerRequest(container_id=container_id))
        try:
            await self._worker.wait(call, what=f"the removal of container {container_id[:13]}")
        except CriError as failure:
            if not failure.not_found:
                raise

    def stop_sandbox(self, sandbox_id: str) -> Awaitable[None]:
        """Stop a sandbox and all in it. One that is gone counts as stopped. Raises CriError."""
        return self.sandbox_stopped(self.ask_sandbox_to_stop(sandbox_id), sandbox_id)

    def ask_sandbox_to_stop(self, sandbox_id: str) -> Pending[StopPodSandboxResponse]:
        """Begin to stop a sandbox. `sandbox_stopped` waits for the end."""
        self.begun += 1
        self._observer.doubt_all()
        return self._cri.call(STOP_POD_SANDBOX, StopPodSandboxRequest(pod_sandbox_id=sandbox_id))

    async def sandbox_stopped(self, stopping: Pending[StopPodSandboxResponse], sandbox_id: str) -> None:
        """Wait for the end of a stop. Raises CriError."""
        try:
            await self._worker.wait(stopping, what=f"the stop of sandbox {sandbox_id[:13]}")
        except CriError as failure:
            if not failure.not_found:
                raise

    async def _do(self, name: str, verb: Verb[Req, Res], request: Req, what: str) -> Res:
        self.begun += 1
        pending = self._under_way[name] = self._cri.call(verb, request)
        try:
            return await self._worker.wait(pending, what=what)
        except Interrupted:
            self._observer.doubt_all()
            ref = self._worker.ref
            pending.add_done_callback(lambda _: ref.tell(CallEnded(name)))
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
