"""What one pass of a pod's worker knows, and the parts of the worker that its steps may use.

`PodPass` is made anew for each pass. The steps read the pod, what was seen of it and what is to be done, and leave what
later steps need. `PodParts` lives as long as the worker. A part that asks another actor handles the answer itself.
"""

from __future__ import annotations

from actors.kernel import part
from actors.messages.history import PodWait
from actors.messages.pods import RuntimePod
from actors.model.observed import ObservedPod
from actors.pod.container_starts import ContainerStarts, StartPlace
from actors.pod.container_stops import ContainerStops
from actors.pod.decided_ends import DecidedEnds, path_of
from actors.pod.grants import PodAdmission, PodLeases, PodUsers
from actors.pod.history import PodHistory
from actors.pod.hook_runner import HookRunner
from actors.pod.pod_actor import PodActor
from actors.pod.post_starts import PostStarts
from actors.pod.probes import PodProbes
from actors.pod.references import PodReferences
from actors.pod.runtime import PodCalls, PodObserver
from actors.pod.services import PodServices
from actors.pod.show import PodShow
from actors.pod.sources import PodNames
from actors.pod.view import PodView
from actors.pod.volumes import PodMounts, PodSubPaths, PodVolumeImages, PodVolumes
from actors.pod_rules.action_types import PodActions, in_flight_of
from actors.pod_rules.actions import compute_pod_actions
from actors.pod_status.conditions import TERMINAL
from config.objects import Pod


class PodParts:
    """See the module. Each part gets the parts that it uses; there are no cycles among them."""

    admission = part(PodAdmission)
    calls = part(PodCalls)
    hooks = part(HookRunner)
    leases = part(PodLeases)
    probes = part(PodProbes)
    references = part(PodReferences)
    starts = part(ContainerStarts)
    stops = part(ContainerStops)
    sub_paths = part(PodSubPaths)
    users = part(PodUsers)
    volumes = part(PodVolumes)

    def __init__(self, worker: PodActor, uid: str, services: PodServices, orphan: RuntimePod | None) -> None:
        self.worker = worker
        self.services = services
        self.history = PodHistory(worker, uid, services.historian)
        self.observer = PodObserver(worker, services.cri, uid)
        self.calls = PodCalls(worker, services.cri, self.observer)
        self.view = PodView(worker, uid, services, orphan, self.observer, self.history)
        self.decided = DecidedEnds(
            worker, services.files, path_of(services.node.root_directory, uid), self.view.on_disk
        )
        self.hooks = HookRunner(worker, services)
        self.stops = ContainerStops(
            worker, self.view, self.history, self.observer, self.calls, self.decided, self.hooks
        )
        self.post_starts = PostStarts(self.view, self.history, self.hooks, self.stops)
        self.probes = PodProbes(worker, services, self.view)
        self.show = PodShow(worker, services, self.view, self.history, self.probes, self.decided)
        self.references = PodReferences(worker, services, self.view)
        self.names = PodNames(worker, services, self.view)
        self.admission = PodAdmission(worker, services, self.view)
        self.leases = PodLeases(worker, services.image_gc)
        self.users = PodUsers(worker, services.ids)
        self.volumes = PodVolumes(worker, services.volumes, self.view, self.history, self.references, self.names)
        self.sub_paths = PodSubPaths(worker, services.volumes)
        volume_images = PodVolumeImages(worker, services, self.references)
        self.starts = ContainerStarts(
            worker,
            services,
            self.view,
            self.history,
            self.observer,
            self.calls,
            self.references,
            self.names,
            self.users,
            volume_images,
            PodMounts(volume_images, self.sub_paths),
            self.post_starts,
        )
        self._settled: ObservedPod | None = None

    async def look(self) -> ObservedPod:
        """The whole pod in the runtime, as it is now. Raises CriError; what was known before then stays.

        The first look recalls what an earlier worker has decided about the containers. Ends and hooks in progress are
        updated by each look.
        """
        if self.observer.in_doubt():
            await self.observer.look()
        observed = self.view.seen()
        if not self.decided.recalled:
            await self.decided.recall(anything=bool(observed.sandboxes))
            observed = self.view.seen()
        if observed is not self._settled or self.stops.stop_unsettled:
            if self.stops.ends or self.decided.ends or self.decided.killed:
                self.stops.settle(observed)
            if self.post_starts.hooked:
                self.post_starts.settle(observed)
            observed = self._settled = self.view.seen()
        return observed

    def busy(self) -> frozenset[str]:
        """Names of containers that are being started or ended: nothing new is decided about them."""
        return self.starts.busy() | self.stops.busy() if self.stops.ends else self.starts.busy()

    def waits(self) -> tuple[PodWait, ...]:
        """What ends and hooks wait for."""
        stops = self.stops.waits() if self.stops.ends else ()
        return (*stops, *self.post_starts.waits()) if self.post_starts.hooked else stops


class PodPass:
    """What one pass knows. `observed` and `phase` are set by the look, `actions` by the decision."""

    def __init__(self, parts: PodParts, pod: Pod) -> None:
        self.parts = parts
        self.pod = pod
        self.observed = ObservedPod(parts.view.uid)
        self.phase = ""
        """The phase that was published last."""
        self.actions = PodActions()
        self.decided = False
        """Whether this pass has set `actions`."""
        self.place: StartPlace | None = None
        """Where containers are started, once the sandbox exists."""

    @property
    def is_over(self) -> bool:
        """Whether the phase is final: the rest of the pod is to be ended."""
        return self.phase in TERMINAL

    async def publish(self) -> None:
        """Publish the status of what was seen. Raises CriError."""
        self.phase = await self.parts.show.publish(self.observed)

    def what_to_do(self) -> PodActions:
        """Compute what to do now."""
        parts = self.parts
        return compute_pod_actions(
            self.pod,
            self.observed,
            wall_ns=parts.worker.wall_ns(),
            crash_loop=parts.services.crash_loop,
            probes=parts.probes.results,
            in_flight=in_flight_of(parts.calls.under_way(), parts.busy()),
            killed=parts.decided.killed,
            owed=parts.decided.owed,
        )
