"""Running the hooks of a pod's containers: begun here, ended by a message, awaited by nobody (spec 3.11).

A hook that was given a time ends with it. What is still under way when the worker fails is forgotten; the command goes
on in the container, and its end meets nobody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from actors.kernel import Message, Pending
from actors.pod.hook_rules import ExecHook, Hook, HookKind, HttpHook, SleepHook
from actors.pod.part import WorkerPart
from runtime.cri import CriError
from runtime.cri.errors import StatusCode
from runtime.cri.messages import ExecSyncRequest, ExecSyncResponse
from runtime.cri.verbs import EXEC_SYNC
from runtime.hooks import HookAnswer
from runtime.metrics import kubelet as names

if TYPE_CHECKING:
    from actors.kernel import Actor
    from actors.pod.services import PodServices

SECOND_NS = 1_000_000_000
SHOWN_BYTES = 1024
"""So much of what a failed command has written is told."""


class HookEnded(Message, frozen=True):
    """To the worker itself. `error` is empty after success; `number` tells this run of a hook from all others."""

    number: int
    container_id: str
    kind: HookKind
    error: str = ""
    fell_back: str = ""


class HookTimeIsUp(Message, frozen=True):
    """To the worker itself: a hook has had its time."""

    number: int
    container_id: str
    kind: HookKind


class _Run(msgspec.Struct):
    number: int
    pending: Pending[Any] | None = None
    sleeps: bool = False


class HookRunner(WorkerPart):
    """See the module. One per worker."""

    _worker: Actor
    _services: PodServices
    _runs: dict[tuple[str, HookKind], _Run] = {}
    _numbers: int = 0

    def under_way(self, container_id: str, kind: HookKind) -> bool:
        return (container_id, kind) in self._runs

    def begin(self, container_id: str, kind: HookKind, hook: Hook, limit_ns: int | None) -> None:
        """Its end comes as `HookEnded`, after `limit_ns` at the latest as `HookTimeIsUp`."""
        self.drop(container_id, kind)
        self._numbers += 1
        number = self._numbers
        run = self._runs[container_id, kind] = _Run(number)
        if limit_ns is not None:
            self.limit(container_id, kind, limit_ns)
        if isinstance(hook, SleepHook):
            run.sleeps = True
            self._worker.after(hook.ns, HookEnded(number, container_id, kind), key=f"{kind.value} {container_id}")
            return

        def make() -> Pending[Any]:
            run.pending = self._call(container_id, hook, limit_ns)
            return run.pending

        def then(done: Pending[Any]) -> HookEnded:
            error, fell_back = outcome_of_hook(hook, done)
            if fell_back:
                self._services.meters.count(names.HANDLER_FALLBACKS)
            return HookEnded(number, container_id, kind, error, fell_back)

        self._worker.begin(make, then)

    def limit(self, container_id: str, kind: HookKind, ns: int) -> None:
        """It has so long from now, and no longer."""
        run = self._runs.get((container_id, kind))
        if run is not None:
            message = HookTimeIsUp(run.number, container_id, kind)
            self._worker.after(max(0, ns), message, key=f"limit of {kind.value} {container_id}")

    def take(self, message: HookEnded | HookTimeIsUp) -> bool:
        """Whether the message is about a hook that was waited for; it is over then."""
        run = self._runs.get((message.container_id, message.kind))
        if run is None or run.number != message.number:
            return False
        run.sleeps = run.sleeps and isinstance(message, HookTimeIsUp)
        self.drop(message.container_id, message.kind)
        return True

    def drop(self, container_id: str, kind: HookKind) -> None:
        """Wait for it no longer."""
        run = self._runs.pop((container_id, kind), None)
        if run is None:
            return
        if run.sleeps:
            self._services.meters.count(names.SLEEP_ENDED_EARLY)
        self._worker.cancel_timer(f"{kind.value} {container_id}")
        self._worker.cancel_timer(f"limit of {kind.value} {container_id}")
        if run.pending is not None:
            run.pending.cancel()

    def _call(self, container_id: str, hook: ExecHook | HttpHook, limit_ns: int | None) -> Pending[Any]:
        if isinstance(hook, HttpHook):
            return self._services.hooks.get(container_id, hook.url, hook.headers)
        # The runtime ends the command with its time; it counts whole seconds.
        seconds = 0 if limit_ns is None else max(1, -(-limit_ns // SECOND_NS))
        request = ExecSyncRequest(container_id=container_id, cmd=hook.command, timeout=seconds)
        return self._services.cri.call(EXEC_SYNC, request)


def outcome_of_hook(hook: Hook, done: Pending[Any]) -> tuple[str, str]:
    """(error, fell back) of a call that has ended; both empty after plain success."""
    try:
        answer = done.result(0)
    except CriError as failure:
        if failure.code == StatusCode.DEADLINE_EXCEEDED:
            return "the command has not ended in its time", ""
        return str(failure), ""
    except BaseException as failure:  # an effect of any kind; what it is does not matter to the container
        return f"the hook could not be run: {failure!r}", ""
    if isinstance(answer, HookAnswer):
        return answer.error, answer.fell_back
    assert isinstance(answer, ExecSyncResponse), "a hook is a command or a call"
    if answer.exit_code == 0:
        return "", ""
    output = (answer.stdout + answer.stderr)[:SHOWN_BYTES].decode(errors="replace").strip()
    command = " ".join(hook.command) if isinstance(hook, ExecHook) else ""
    said = f": {output}" if output else ""
    return f"command '{command}' exited with {answer.exit_code}{said}", ""
