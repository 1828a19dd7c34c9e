"""Runs the hooks of a pod's containers.

A message reports the end of a hook, so no pass waits for it (spec 3.11).

A hook ends at its time limit, or after its extra time if it has one; its starter hears of both. A worker that fails
forgets its hooks: the commands go on in their containers, and their results are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actors.kernel import Message, Pending, handles
from actors.pod.hook_rules import ExecHook, Hook, HookKind, HttpHook, SleepHook
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from actors.start.pod_fields import quoted
from runtime.cri import CriError
from runtime.cri.errors import StatusCode
from runtime.cri.messages import ExecSyncRequest, ExecSyncResponse
from runtime.cri.verbs import EXEC_SYNC
from runtime.hooks import HookAnswer
from runtime.metrics import kubelet as names

SECOND_NS = 1_000_000_000
SHOWN_BYTES = 1024
"""How many bytes of a failed command's output are shown."""


class HookRunEnded(Message, frozen=True):
    """To the worker itself. `error` is empty after success; `number` identifies this run of a hook."""

    number: int
    container_id: str
    kind: HookKind
    error: str = ""
    fell_back: str = ""


class HookTimeIsUp(Message, frozen=True):
    """To the worker itself: the time limit of a hook is over, or later its extra time."""

    number: int
    container_id: str
    kind: HookKind


HookEnd = HookRunEnded | HookTimeIsUp


class _Run:
    def __init__(self, number: int, then: Callable[[HookEnd], None], extra_ns: int) -> None:
        self.number = number
        self.then = then
        self.extra_ns = extra_ns
        """How long it may go on after its limit; 0 once that time runs."""
        self.pending: Pending[Any] | None = None
        self.sleeps = False


class HookRunner:
    def __init__(self, worker: PodActor, services: PodServices) -> None:
        self._worker = worker
        self._services = services
        self._runs: dict[tuple[str, HookKind], _Run] = {}
        self._numbers = 0

    def under_way(self, container_id: str, kind: HookKind) -> bool:
        return (container_id, kind) in self._runs

    def begin(
        self,
        container_id: str,
        kind: HookKind,
        hook: Hook,
        limit_ns: int | None,
        then: Callable[[HookEnd], None],
        extra_ns: int = 0,
    ) -> None:
        """Run a hook for at most `limit_ns`, and `extra_ns` more.

        `then` handles the end of the hook, and before it the end of `limit_ns`, unless the hook is dropped.
        """
        self.drop(container_id, kind)
        self._numbers += 1
        number = self._numbers
        run = self._runs[container_id, kind] = _Run(number, then, extra_ns)
        if limit_ns is not None:
            self.limit(container_id, kind, limit_ns)
        if isinstance(hook, SleepHook):
            run.sleeps = True
            self._worker.after(hook.ns, HookRunEnded(number, container_id, kind), key=f"{kind.value} {container_id}")
            return

        def make() -> Pending[Any]:
            run.pending = self._call(container_id, hook, None if limit_ns is None else limit_ns + extra_ns)
            return run.pending

        def ended(done: Pending[Any]) -> HookRunEnded:
            error, fell_back = outcome_of_hook(hook, done)
            if fell_back:
                self._services.meters.count(names.HANDLER_FALLBACKS)
            return HookRunEnded(number, container_id, kind, error, fell_back)

        self._worker.begin(make, ended)

    def limit(self, container_id: str, kind: HookKind, ns: int) -> None:
        """Limit the remaining time of a hook."""
        run = self._runs.get((container_id, kind))
        if run is not None:
            message = HookTimeIsUp(run.number, container_id, kind)
            self._worker.after(max(0, ns), message, key=f"limit of {kind.value} {container_id}")

    @handles(HookRunEnded, HookTimeIsUp)
    def ended(self, message: HookEnd) -> Pass | None:
        """A hook has ended. The end of a dropped hook changes nothing."""
        run = self._runs.get((message.container_id, message.kind))
        if run is not None and run.number == message.number:
            if isinstance(message, HookTimeIsUp) and run.extra_ns:
                extra_ns, run.extra_ns = run.extra_ns, 0
                self.limit(message.container_id, message.kind, extra_ns)
            else:
                run.sleeps = run.sleeps and isinstance(message, HookTimeIsUp)
                self.drop(message.container_id, message.kind)
            run.then(message)
        return self._worker.go_on()

    def drop(self, container_id: str, kind: HookKind) -> None:
        """Forget a hook, and cancel it if possible."""
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
        # The runtime enforces the time limit of a command, in whole seconds.
        seconds = 0 if limit_ns is None else max(1, -(-limit_ns // SECOND_NS))
        request = ExecSyncRequest(container_id=container_id, cmd=hook.command, timeout=seconds)
        return self._services.cri.call(EXEC_SYNC, request)


def outcome_of_hook(hook: Hook, done: Pending[Any]) -> tuple[str, str]:
    """The (error, fallback) of a call that has ended; both empty after plain success."""
    try:
        answer = done.result(0)
    except CriError as failure:
        if failure.code == StatusCode.DEADLINE_EXCEEDED:
            return "the command has not ended in its time", ""
        return str(failure), ""
    except BaseException as failure:  # the container does not care which error an effect raised
        return f"the hook could not be run: {failure!r}", ""
    if isinstance(answer, HookAnswer):
        return answer.error, answer.fell_back
    assert isinstance(answer, ExecSyncResponse), "a hook is a command or a call"
    if answer.exit_code == 0:
        return "", ""
    output = (answer.stdout[:SHOWN_BYTES] + answer.stderr[:SHOWN_BYTES])[:SHOWN_BYTES].decode(errors="replace")
    errors = answer.stderr[:SHOWN_BYTES].decode(errors="replace")
    command = " ".join(hook.command) if isinstance(hook, ExecHook) else ""
    return f"command '{command}' exited with {answer.exit_code}: {errors}, message: {quoted(output)}", ""
