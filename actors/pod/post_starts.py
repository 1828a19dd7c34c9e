"""postStart hooks: a container has not started before its hook has ended (spec 3.7, 3.11).

They are the last part of the walk through `actors.pod_rules.container_start`. While a hook runs, its container counts
as starting. It is shown as waiting, its probes have not begun, and later containers of the spec do not start. A failed
hook ends its container. If the worker fails while a hook runs, the hook is forgotten and the container counts as
started.
"""

from __future__ import annotations

from actors.messages.history import HistoryKind, PodWait
from actors.model.observed import ObservedPod
from actors.pod.container_stops import ContainerStops
from actors.pod.history import PodHistory
from actors.pod.hook_rules import HookImpossibleError, HookKind, failure_message, hook_of, words_of
from actors.pod.hook_runner import HookEnd, HookRunner, HookTimeIsUp
from actors.pod.view import PodView
from actors.pod_rules.container_start import Gone, PodEnds, PostStartEnded, StartLife, StartStage
from actors.pod_rules.termination import Ending, GraceCause, grace_seconds
from config.objects import Container

POST_START_ERROR = "PostStartHookError"


class PostStarts:
    def __init__(self, view: PodView, history: PodHistory, hooks: HookRunner, stops: ContainerStops) -> None:
        self._view = view
        self._history = history
        self._hooks = hooks
        self._stops = stops
        self.hooked: dict[str, Container] = {}
        """By id, until the hook succeeds or the container ends."""

    def begin(self, container: Container, container_id: str, ip: str) -> PostStartEnded | None:
        """Begin the hook of a container that runs now. Returns the end of the hook if it is already known."""
        handler = container.lifecycle.post_start if container.lifecycle is not None else None
        assert handler is not None, "only what has a hook waits for one"
        self.hooked[container_id] = container
        try:
            hook = hook_of(container, handler, ip)
        except HookImpossibleError as impossible:
            return self._failed(container, container_id, str(impossible))
        text = f"container {container.name}: its postStart hook is run"
        self._history.note(HistoryKind.EVENT, text, words_of(hook))
        self._hooks.begin(container_id, HookKind.POST_START, hook, None, self._hook_ended)
        return None

    def _hook_ended(self, message: HookEnd) -> None:
        """Handle the end of a hook: the container counts as started, or must be ended."""
        container = self.hooked.get(message.container_id)
        if container is None or isinstance(message, HookTimeIsUp):
            return
        if message.fell_back:
            self._view.say("Warning", "LifecycleHTTPFallback", message.fell_back, container.name)
        over = PostStartEnded(message.container_id)
        if message.error:
            over = self._failed(container, message.container_id, message.error)
        else:
            self._history.note(HistoryKind.EVENT, f"container {container.name}: its postStart hook has ended")
        if self._meet(container, over).stage is StartStage.STARTED:
            self._forget(message.container_id)

    def settle(self, observed: ObservedPod) -> None:
        """Note containers that ended while their hook ran, or because it failed."""
        running = {each.id for each in observed.containers() if each.running}
        for container_id in [each for each in self.hooked if each not in running]:
            container, error = self.hooked[container_id], None
            if self._hooks.under_way(container_id, HookKind.POST_START):
                error = self._say_failed(container, "the container has ended before its hook")
            self._meet(container, Gone(container_id, error))
            self._forget(container_id)

    def end_failed(self) -> None:
        """End containers that still run after their hook failed.

        A stop may fail and is retried only on request, so every pass that decides calls this.
        """
        with self._stops.together():
            for container_id, container in self.hooked.items():
                life = self._view.start_lives.of(container.name)
                if life.stage is StartStage.UNDONE and life.id == container_id:
                    self._end(container, container_id)

    def drop(self) -> None:
        """The pod ends: stop waiting for hooks."""
        for container_id, container in tuple(self.hooked.items()):
            self._meet(container, PodEnds())
            self._forget(container_id)

    def waits(self) -> tuple[PodWait, ...]:
        """The waits of these hooks, for people."""
        return tuple(
            PodWait(
                f"container {each.name}", "ContainerCreating", "its postStart hook is running", "it has started then"
            )
            for container_id, each in self.hooked.items()
            if self._hooks.under_way(container_id, HookKind.POST_START)
        )

    def _meet(self, container: Container, event: PostStartEnded | Gone | PodEnds) -> StartLife:
        return self._view.start_lives.meet(container.name, event)

    def _failed(self, container: Container, container_id: str, why: str) -> PostStartEnded:
        """Record the failure, and begin to end the container."""
        over = PostStartEnded(container_id, self._say_failed(container, why))
        self._end(container, container_id)
        return over

    def _end(self, container: Container, container_id: str) -> None:
        pod = self._view.pod
        if pod is not None:
            grace = grace_seconds(pod, container, GraceCause.OTHER)
            hook = container.lifecycle.pre_stop if container.lifecycle is not None and grace > 0 else None
            ending = Ending(container_id, container.name, grace, (), hook, "FailedPostStartHook")
            self._stops.request(ending, container, ip=self._view.ip())

    def _say_failed(self, container: Container, why: str) -> tuple[str, str]:
        pod, lifecycle, text = self._view.pod, container.lifecycle, why
        if pod is not None and lifecycle is not None and lifecycle.post_start is not None:
            text = failure_message(pod, container, lifecycle.post_start, why)
        self._view.waiting[container.name] = (POST_START_ERROR, text)
        kind = HookKind.POST_START
        self._view.say("Warning", kind.event, kind.failure, container.name, detail=why)
        return POST_START_ERROR, text

    def _forget(self, container_id: str) -> None:
        self.hooked.pop(container_id, None)
        self._hooks.drop(container_id, HookKind.POST_START)
