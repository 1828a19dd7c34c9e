"""postStart hooks of a pod's containers: the start of a container has not ended before its hook has (spec 3.7, 3.11).

While a hook runs, its container counts as starting: it is shown as waiting, its probes have not begun, and containers
that come after it in the spec are not started. A hook that fails ends its container. What was under way when the
worker failed is forgotten, and the container then counts as started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from actors.history_messages import PodWait
from actors.hook_rules import HookImpossibleError, HookKind, hook_of
from actors.hook_runner import HookEnded, HookRunner, HookTimeIsUp
from actors.observed import ObservedPod
from actors.termination import Ending, GraceCause, grace_seconds
from config.objects import Container

if TYPE_CHECKING:
    from actors.container_stops import ContainerStops
    from actors.pod_view import PodView

POST_START_ERROR = "PostStartHookError"


class PostStarts:
    """See the module. One per worker."""

    def __init__(self, view: PodView, hooks: HookRunner, stops: ContainerStops) -> None:
        self._view = view
        self._hooks = hooks
        self._stops = stops
        self._containers: dict[str, Container] = {}
        """By id, from the start of their hook to its good end or to theirs."""

    def begin(self, container: Container, container_id: str, ip: str) -> None:
        """The container has just been started."""
        handler = container.lifecycle.post_start if container.lifecycle is not None else None
        if handler is None:
            return
        self._containers[container_id] = container
        self._view.starting.add(container_id)
        try:
            self._hooks.begin(container_id, HookKind.POST_START, hook_of(container, handler, ip), None)
        except HookImpossibleError as impossible:
            self._failed(container, container_id, str(impossible))

    def ended(self, message: HookEnded | HookTimeIsUp) -> None:
        """A hook is over. The container has started, or is ended."""
        container = self._containers.get(message.container_id)
        if not self._hooks.take(message) or container is None or isinstance(message, HookTimeIsUp):
            return
        if message.fell_back:
            self._view.say("Warning", "LifecycleHTTPFallback", message.fell_back, container.name)
        if message.error:
            self._failed(container, message.container_id, message.error)
        else:
            self._forget(message.container_id)

    def settle(self, observed: ObservedPod) -> None:
        """Take note of what has ended before its hook has."""
        running = {each.id for each in observed.containers() if each.running}
        for container_id in [each for each in self._containers if each not in running]:
            container = self._containers[container_id]
            if self._hooks.under_way(container_id, HookKind.POST_START):
                self._say_failed(container, "the container has ended before its hook")
            self._forget(container_id)

    def drop(self) -> None:
        """The pod ends: nobody waits for them any more."""
        for container_id in tuple(self._containers):
            self._forget(container_id)

    def waits(self) -> tuple[PodWait, ...]:
        """What is waited for, for people."""
        return tuple(
            PodWait(
                f"container {each.name}", "ContainerCreating", "its postStart hook is running", "it has started then"
            )
            for container_id, each in self._containers.items()
            if self._hooks.under_way(container_id, HookKind.POST_START)
        )

    def _failed(self, container: Container, container_id: str, why: str) -> None:
        self._say_failed(container, why)
        pod = self._view.pod
        if pod is None:
            return
        grace = grace_seconds(pod, container, GraceCause.OTHER)
        hook = container.lifecycle.pre_stop if container.lifecycle is not None and grace > 0 else None
        ending = Ending(container_id, container.name, grace, (), hook, "FailedPostStartHook")
        self._stops.request(ending, container, ip=self._view.ip())

    def _say_failed(self, container: Container, why: str) -> None:
        text = f"PostStartHook failed: {why}"
        self._view.waiting[container.name] = (POST_START_ERROR, text)
        self._view.say("Warning", HookKind.POST_START.event, text, container.name)

    def _forget(self, container_id: str) -> None:
        self._containers.pop(container_id, None)
        self._view.starting.discard(container_id)
        self._hooks.drop(container_id, HookKind.POST_START)
