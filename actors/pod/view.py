"""What one worker knows: its pod as desired, the runtime as last looked at, and the status as last published.

Shared by the parts of one worker and by nobody else. Looking may fail (CriError); what was known before then stays, and
the published status with it: "I do not know yet" changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from actors.kernel import Actor, Lane, Pending
from actors.messages.events import pod_event
from actors.messages.pods import LookAgain, RuntimePod
from actors.messages.status import PodStatusChanged
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.model.identity import field_path
from actors.model.observed import ObservedPod, observe, with_starting
from actors.pod.container_stops import ContainerStops
from actors.pod.decided_ends import DecidedEnds, path_of
from actors.pod.deeds import Deeds
from actors.pod.history import PodHistory
from actors.pod.hook_runner import HookRunner
from actors.pod.observer import PodObserver
from actors.pod.post_starts import PostStarts
from actors.pod.services import PodServices
from actors.pod.start_lives import StartLives
from actors.pod_status.api_status import NOT_FORCED
from actors.pod_status.ips import pod_ips
from config.objects import Pod, PodStatus


class RetryLaterError(Exception):
    """The pass cannot go on now, and nothing is wrong that has not been said already."""

    def __init__(self, after_ns: int) -> None:
        super().__init__(f"again in {after_ns / 1e9:.1f} s")
        self.after_ns = after_ns


T = TypeVar("T")

DISK_TIMEOUT_NS = 10_000_000_000
ASK_AGAIN_NS = 60_000_000_000
"""Whoever was asked may have been restarted since, and the question with it. Asking twice does no harm."""


_LOOK_AGAIN = LookAgain()


class Question(msgspec.Struct, eq=False):
    """Something asked of another actor. While it is open, the worker looks, and asks, again once a minute."""

    _worker: Actor
    _name: str
    _asked_at_ns: int | None = None

    __repr__ = object.__repr__  # a close look shows the fields, each in short

    def may_ask(self) -> bool:
        """True when it has not been asked yet, or long ago; it counts as asked from now on."""
        worker, asked_ns = self._worker, self._asked_at_ns
        now_ns = worker.now_ns()
        if asked_ns is not None and now_ns - asked_ns < ASK_AGAIN_NS:
            return False
        self._asked_at_ns = now_ns
        worker.after(ASK_AGAIN_NS, _LOOK_AGAIN, key=self._name)
        return True

    def is_due(self) -> bool:
        """Whether it is to be asked (again)."""
        return self._asked_at_ns is None or self._worker.now_ns() - self._asked_at_ns >= ASK_AGAIN_NS

    def answered(self) -> None:
        if self._asked_at_ns is not None:
            self._asked_at_ns = None
            self._worker.cancel_timer(self._name)


class PodView:
    """See the module. `pod` is None for an orphan, and until the worker has been told its pod."""

    def __init__(self, worker: Actor, uid: str, services: PodServices, orphan: RuntimePod | None) -> None:
        self.uid = uid
        self.pod: Pod | None = None
        self.published: PodStatus | None = None
        self.final = False
        self.life = worker.now_ns()
        """When the worker began: no two that work on this UID, one after the other, began at one time."""
        self.waiting: dict[str, tuple[str, str]] = {}
        """Container name -> (reason, message) of why it could not be started the last time."""
        self.messages: dict[str, str] = {}
        """Container id -> termination message, read once after its end."""
        self.forced = NOT_FORCED
        """A status that was decided for the pod (eviction, deadline)."""
        self.start_lives = StartLives()
        self.observer = PodObserver(worker, services.cri, uid)
        self.deeds = Deeds(worker, services.cri, self.observer)
        self.history = PodHistory(worker, uid, services.historian)
        self.decided = DecidedEnds(worker, services.files, path_of(services.node.root_directory, uid), self.on_disk)
        self.hooks = HookRunner(worker, services)
        self.stops = ContainerStops(worker, self, self.hooks)
        self.post_starts = PostStarts(self, self.hooks, self.stops)
        self._seen = ObservedPod(uid)
        self._seen_changes = -1
        self._seen_starting = self.start_lives.unstarted
        """What it was put together from."""
        self._settled: ObservedPod | None = None
        """Those who follow ends and hooks have taken note of this one."""
        self._orphan = orphan
        self._disk: Lane | None = None
        self._worker = worker
        self._services = services

    def let_go(self) -> None:
        """The worker has ended: of the parts that know this view."""
        del self.stops, self.post_starts, self.decided

    @property
    def name(self) -> str:
        """For people."""
        if self.pod is not None:
            return f"{self.pod.metadata.namespace}/{self.pod.metadata.name}"
        return f"{self._orphan.namespace}/{self._orphan.name}" if self._orphan is not None else self.uid

    def log_directory(self) -> str:
        """Where the logs of the pod are."""
        root, pod = self._services.configuration.pod_logs_dir, self.pod
        if pod is not None:
            meta = pod.metadata
            return f"{root}/{meta.namespace}_{meta.name}_{self.uid}"
        return f"{root}/{self._orphan.namespace}_{self._orphan.name}_{self.uid}" if self._orphan is not None else ""

    def on_disk(self, deed: Callable[..., T], *args: Any, deadline_ns: int = DISK_TIMEOUT_NS) -> Pending[T]:
        """Do something short with the pod's files, which may hang where the disk does."""
        lane = self._disk
        if lane is None:
            lane = self._disk = self._worker.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        return lane.submit(self.uid, deed, *args, deadline_ns=deadline_ns)

    async def look(self) -> ObservedPod:
        """Everything of this pod; the runtime is asked for what is in doubt of it. Raises CriError."""
        if self.observer.in_doubt():
            await self.observer.look()
        observed = self.seen()
        if not self.decided.recalled:
            await self.decided.recall(anything=bool(observed.sandboxes))
            observed = self.seen()
        if observed is not self._settled:
            self.stops.settle(observed)
            self.post_starts.settle(observed)
            if self._seen_starting is not self.start_lives.unstarted:  # how far a start has come is part of it
                observed = self.seen()
            self._settled = observed
        return observed

    def settle_anew(self) -> None:
        """Take note of the next look, though it may show what the last one did: what has ended need not show."""
        self._settled = None

    def seen(self) -> ObservedPod:
        """What the last look and the deeds since have shown."""
        observer, starting = self.observer, self.start_lives.unstarted
        if self._seen_changes == observer.changes and self._seen_starting is starting:
            return self._seen
        observed = observe(self.uid, *observer.seen())
        self._seen = observed = with_starting(observed, starting) if starting else observed
        self._seen_changes, self._seen_starting = observer.changes, starting
        return observed

    def ip(self) -> str:
        """The address at which hooks call the pod; empty when it has none."""
        sandboxes = self.seen().sandboxes
        host_network = bool(sandboxes) and bool(sandboxes[0].host_network)
        if self.pod is not None:
            host_network = bool(self.pod.spec.host_network)
        ips = pod_ips(host_network, self.seen().ips(), (), self._services.node.host_ips, True)
        return ips[0] if ips else ""

    def publish(self, status: PodStatus, *, final: bool = False) -> None:
        """Tell the status manager, where there is anything to tell."""
        pod = self.pod
        if pod is not None and (status != self.published or final != self.final):
            self.published, self.final = status, final
            self._services.status_manager.tell(PodStatusChanged(pod, status, final, life=self.life))

    def publish_again(self, final: bool) -> None:
        """Tell the last status once more, to somebody who may not have heard it."""
        if self.pod is not None and self.published is not None:
            self.final = final
            self._services.status_manager.tell(PodStatusChanged(self.pod, self.published, final, life=self.life))

    def say(self, event_type: str, reason: str, message: str, container: str = "") -> None:
        """Record an event about the pod, or about one of its containers."""
        self.history.said(event_type, reason, message, container)
        pod = self.pod
        if pod is not None:
            path = field_path(pod, container) if container else ""
            self._services.events.tell(pod_event(pod, event_type, reason, message, path))
