"""The knowledge of one worker.

Its pod as desired, the runtime as last seen, and the status as last published.

Only the parts of one worker share it. A look at the runtime may fail; what was known before then stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, TypeVar

import msgspec

from actors.kernel import Actor, Lane, Pending, Rank
from actors.messages.devices import DevicesGiven
from actors.messages.events import pod_event
from actors.messages.pods import LookAgain, RuntimePod, RuntimeStateObserved
from actors.messages.status import PodStatusChanged
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.model.observed import ObservedPod, with_starting
from actors.model.resource_claims import ClaimedDevices
from actors.pod.decided_ends import DecidedEnds
from actors.pod.history import PodHistory
from actors.pod.runtime import PodObserver
from actors.pod.services import PodServices
from actors.pod_rules.container_start import BEGINNING as NOT_STARTED
from actors.pod_rules.container_start import BEGUN, HELD_UP, RUNS_UNSTARTED, WAITS, Event, StartLife, advance
from actors.pod_rules.lifecycle import BEGINNING, PodStage
from actors.pod_rules.resize import NOTHING_TOLD
from actors.pod_status.api_status import NOT_FORCED, StatusNodeView, pod_ips
from actors.pod_status.conditions import ResizeCondition
from actors.pod_status.whole_resources import MEMORY_UNLIMITED_V1
from config.objects import Pod, PodStatus
from config.pods.identity import field_path, is_critical
from runtime.metrics.pod_statuses import count_changes

T = TypeVar("T")

_NONE: frozenset[str] = frozenset()
"""Shared: an empty set of its own takes 216 bytes."""
DISK_TIMEOUT_NS = 10_000_000_000
ASK_AGAIN_NS = 60_000_000_000
"""The other actor may have restarted and lost the question. Asking twice does no harm."""


class Question:
    """A question from the worker to another actor.

    Until the answer comes, the worker looks and asks again each minute.
    """

    __slots__ = ("_asked_at_ns", "_name", "_worker")  # a worker has eleven

    def __init__(self, worker: Actor, name: str) -> None:
        self._worker = worker
        self._name = name
        self._asked_at_ns: int | None = None

    def may_ask(self) -> bool:
        """Whether to ask now: never asked, or too long ago. Counts as asked from now on."""
        if not self.is_due():
            return False
        self._asked_at_ns = self._worker.now_ns()
        self._worker.after(ASK_AGAIN_NS, LookAgain(), key=self._name)
        return True

    def is_due(self) -> bool:
        """Whether to ask (again)."""
        return self._asked_at_ns is None or self._worker.now_ns() - self._asked_at_ns >= ASK_AGAIN_NS

    def answered(self) -> None:
        """The answer has come, or is no longer needed."""
        if self._asked_at_ns is not None:
            self._asked_at_ns = None
            self._worker.cancel_timer(self._name)


class StartLives:
    """How far the starts of a pod's containers have come, by name. The rules are in
    `actors.pod_rules.container_start`.
    """

    def __init__(self) -> None:
        self._lives: dict[str, StartLife] = {}
        self.unstarted = _NONE
        """Ids of containers that run while their postStart hook has not succeeded."""

    def meet(self, name: str, event: Event) -> StartLife:
        """Apply an event to the start of container `name`."""
        before = self.of(name)
        life = self._lives[name] = advance(before, event)
        if before.stage in RUNS_UNSTARTED or life.stage in RUNS_UNSTARTED:
            ids = {before.id} if before.stage in RUNS_UNSTARTED else _NONE
            now = {life.id} if life.stage in RUNS_UNSTARTED else _NONE
            if ids != now:
                self.unstarted = (self.unstarted - ids | now) or _NONE
        return life

    def of(self, name: str) -> StartLife:
        return self._lives.get(name, NOT_STARTED)

    def all(self) -> Mapping[str, StartLife]:
        """The lives of all containers that were ever to be started, by name."""
        return self._lives


class PodView:
    """See the module. `pod` is None for an orphan, and until the worker has been told its pod."""

    def __init__(
        self,
        worker: Actor,
        uid: str,
        services: PodServices,
        orphan: RuntimePod | None,
        observer: PodObserver,
        history: PodHistory,
    ) -> None:
        self._worker = worker
        self._services = services
        self._orphan = orphan
        self._observer = observer
        self._history = history
        self.uid = uid
        self.pod: Pod | None = None
        self.life = BEGINNING
        self.runtime = RuntimeStateObserved("", "")
        self.node = StatusNodeView(
            services.node.host_ips,
            services.node.runtime_name,
            image_volume_refs=services.node.rules.image_volume_refs,
            device_messages=services.node.rules.device_messages,
            memory_unlimited=MEMORY_UNLIMITED_V1 if services.node.cgroup_version == 1 else "",
        )
        """What a status says of the node. The runtime's name is a guess until the runtime has reported it."""
        self.published: PodStatus | None = None
        self.final = False
        """Whether `published` is the last status of the pod."""
        self.born_ns = worker.now_ns()
        """When this worker began. No two workers of one UID begin at the same time."""
        self.waiting: dict[str, tuple[str, str]] = {}
        """Container name -> (reason, message) of its last failed start."""
        self.messages: dict[str, str] = {}
        """Container id -> termination message."""
        self.told = NOTHING_TOLD
        """The resources of which the runtime was told since it made the containers."""
        self.resizes: tuple[ResizeCondition, ...] | None = None
        """What the status says of resizes; None: it is not known yet."""
        self.devices: DevicesGiven | None = None
        """What the node has told of the devices of plugins that the pod has."""
        self.claimed: ClaimedDevices | None = None
        """The devices of its claims, for the status."""
        self.forced = NOT_FORCED
        """A status that overrides the computed one: rejection, eviction, deadline."""
        self.is_admission_decided = False
        """Whether the node has decided to take or to refuse the pod."""
        self.start_lives = StartLives()
        self.decided = DecidedEnds(worker, services.files, services.node.root_directory, uid, self.on_disk)
        """What was decided about its containers."""
        self._seen = ObservedPod(uid)
        self._seen_from: ObservedPod | None = None
        self._seen_with: Set[str] = _NONE
        """The `start_lives.unstarted` that `_seen` shows."""
        self._disk: Lane | None = None

    def has_started(self) -> bool:
        """Whether a container has started."""
        return any(each.running or each.exited for each in self._seen.containers())

    def has_started_or_waits(self) -> bool:
        """Whether a container has started, or the start waits for a pull, a hook or another try.

        True for a pod that is to end, too.
        """
        return (
            self.life.stage is not PodStage.SYNCING
            or self.has_started()
            or any(life.stage in WAITS for life in self.start_lives.all().values())
        )

    def containers(self) -> int:
        """How many containers the pod has, or is to have."""
        spec = None if self.pod is None else self.pod.spec
        asked = 0 if spec is None else len(spec.init_containers) + len(spec.containers) + len(spec.ephemeral_containers)
        return max(asked, len(self._seen.by_name))

    def runtime_observed(self, runtime: RuntimeStateObserved) -> None:
        """Keep what the runtime says of itself. A runtime that is away says nothing, so its name stays."""
        self.runtime = runtime
        if runtime.runtime_name:
            handlers = runtime.recursive_read_only_handlers
            self.node = msgspec.structs.replace(
                self.node, runtime_name=runtime.runtime_name, recursive_read_only_handlers=handlers
            )

    @property
    def name(self) -> str:
        """The name of the pod, for people."""
        if self.pod is not None:
            return f"{self.pod.metadata.namespace}/{self.pod.metadata.name}"
        return f"{self._orphan.namespace}/{self._orphan.name}" if self._orphan is not None else self.uid

    def log_directory(self) -> str:
        """The directory of the pod's logs; empty when its name is unknown."""
        known = self.pod.metadata if self.pod is not None else self._orphan
        if known is None:
            return ""
        return f"{self._services.configuration.pod_logs_dir}/{known.namespace}_{known.name}_{self.uid}"

    def on_disk(self, call: Callable[..., T], *args: Any, deadline_ns: int = DISK_TIMEOUT_NS) -> Pending[T]:
        """Run a short call on the pod's files on a lane, because the disk may hang."""
        if self._disk is None:
            self._disk = self._worker.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        rank = Rank.FIRST if self.pod is not None and is_critical(self.pod) else Rank.NORMAL
        return self._disk.submit(self.uid, call, *args, deadline_ns=deadline_ns, rank=rank)

    def observe(self, what: str, look: Callable[[], T]) -> T:
        """See `Actor.observe`."""
        return self._worker.observe(what, look)

    def seen(self) -> ObservedPod:
        """The picture after the last look and the calls since."""
        picture, unstarted = self._observer.picture(), self.start_lives.unstarted
        if picture is not self._seen_from or unstarted is not self._seen_with:
            self._seen = with_starting(picture, unstarted) if unstarted else picture
            self._seen_from, self._seen_with = picture, unstarted
        return self._seen

    def ip(self) -> str:
        """The address at which hooks reach the pod; empty when it has none."""
        sandboxes = self.seen().sandboxes
        host_network = bool(sandboxes) and bool(sandboxes[0].host_network)
        if self.pod is not None:
            host_network = bool(self.pod.spec.host_network)
        ips = pod_ips(host_network, self.seen().ips(), (), self._services.node.host_ips, True)
        return ips[0] if ips else ""

    def show_start(self, name: str, life: StartLife) -> None:
        """Update the waiting reason that the status shows for a container."""
        if life.stage in HELD_UP:
            self.waiting[name] = (life.reason, life.message)
        elif life.stage in BEGUN:
            self.waiting.pop(name, None)

    def publish(self, status: PodStatus, *, final: bool = False) -> None:
        """Tell the status manager a status that it does not have yet."""
        pod = self.pod
        if pod is not None and (status != self.published or final != self.final):
            if self.published is not None and status is not self.published:
                count_changes(self._services.meters, self.published, status)
            self.published, self.final = status, final
            self._services.status_manager.tell(PodStatusChanged(pod, status, final, life=self.born_ns))

    def publish_again(self, final: bool) -> None:
        """Tell the last status again to a status manager that may have lost it."""
        if self.pod is not None and self.published is not None:
            self.final = final
            self._services.status_manager.tell(PodStatusChanged(self.pod, self.published, final, life=self.born_ns))

    def say(self, event_type: str, reason: str, message: str, container: str = "", detail: str = "") -> None:
        """Record an event of the pod, or of one of its containers.

        `detail` goes only to the node's log and to `explain`, since many people read events.
        """
        self._history.said(event_type, reason, f"{message}: {detail}" if detail else message, container)
        if detail:
            self._worker.log.warning("pod %s, container %s: %s: %s", self.name, container, message, detail)
        pod = self.pod
        if pod is not None:
            path = field_path(pod, container) if container else ""
            self._services.events.tell(pod_event(pod, event_type, reason, message, path))
