"""`SimulatedHookCaller`: `runtime.hooks.HookCaller` for simulated containers.

The annotation `hook-call` of a container decides its answer (`docs/reference/simulated-runtime.md`). Without it, a
running container answers at once. The record of the container keeps the calls, for tests. The dispatcher is the
agent's, so calls of a killed agent get no answer.
"""

from __future__ import annotations

from actors.kernel import Dispatcher, Promise, kept
from runtime.cri.messages import ContainerState
from runtime.hooks import HookAnswer
from runtime.io.pending import PendingAnswer
from simulation.cri import SimulatedCri
from simulation.cri.behaviour import at
from simulation.cri.behaviour_values import HookOperation

_ANSWERS = {
    HookOperation.OK: HookAnswer(),
    HookOperation.FAIL: HookAnswer("the simulated container hangs up"),
    HookOperation.PLAIN: HookAnswer("", "the simulated container gave an HTTP response to an HTTPS client"),
}


class SimulatedHookCaller:
    """See the module. `world` is the runtime that knows its containers."""

    def __init__(self, dispatcher: Dispatcher, world: SimulatedCri) -> None:
        self._dispatcher = dispatcher
        self._world = world

    def get(self, container_id: str, url: str, headers: tuple[tuple[str, str], ...]) -> PendingAnswer[HookAnswer]:
        record = self._world.state.containers.get(container_id)
        if record is None or record.state is not ContainerState.CONTAINER_RUNNING:
            return kept(HookAnswer("connect: connection refused"))
        record.hook_calls.append(url)
        operation = at(record.behaviour.hook_call, len(record.hook_calls) - 1)
        promise: Promise[HookAnswer] = Promise()
        if operation is not HookOperation.HANG:
            self._dispatcher.schedule(record.behaviour.hook_delay, lambda: _answer(promise, _ANSWERS[operation]))
        return promise


def _answer(promise: Promise[HookAnswer], answer: HookAnswer) -> None:
    if not promise.done():
        promise.set_result(answer)
