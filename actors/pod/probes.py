"""The worker's side of its pod's probes (spec 5).

It tells the runner what runs, and keeps the verdicts.

The runner (`actors.probes.runner`) is a child of the worker, spawned at the first look at a pod with probes. Verdicts
are kept by container id. For a container older than this agent, the published state holds until its probes answer, so a
restart of the agent does not flip readiness. If no state was published (a node without an API server), the status is
held back until its probes have answered.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.kernel import ActorRef, handles
from actors.messages.pods import LookAgain
from actors.messages.probes import ContainersSeen, ProbeRunnerStarted, ProbesJudged, RunningContainer, TellVerdicts
from actors.model.observed import ObservedContainer, ObservedPod, ProbeResults, say_the_same
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from actors.pod.view import PodView
from actors.pod_rules.lifecycle import PodStage
from actors.pod_status.api_status import pod_ips
from actors.probes.rules import ADOPTED_JITTER_NS, ProbeKind, terms_of
from actors.probes.runner import ProbeRunner, probed_containers
from config.frozen_map import FrozenMap
from config.objects import Container, ContainerStatus, Pod, PodStatus
from config.pods.identity import containers_by_name

RUNNER = "probes"
HOLD_NS = 5_000_000_000
"""How long to hold back a status that would say "not ready" only because no probe has run yet.

`MAX_HOLD_NS` is the limit if answers may take longer.
"""
MAX_HOLD_NS = 60_000_000_000
_NOTHING = ProbeResults(active=True)


class PodProbes:
    def __init__(self, worker: PodActor, services: PodServices, view: PodView) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._runner: ActorRef | None = None
        self._heard = False
        self._told: ContainersSeen | None = None
        self._observed: tuple[object, ...] = ()
        """The last input of `observe`: while it is unchanged, there is nothing to tell."""
        self._adopted: dict[str, tuple[int, Container]] = {}
        """Containers older than the agent that no probe has checked, and until when to wait for them."""
        self.results = _NOTHING
        """The input for decisions and for the status."""

    def runner_outlived(self, runner: ActorRef) -> None:
        """The worker has restarted, and its probe runner has not: ask the runner for its verdicts."""
        self._runner = runner
        runner.tell(TellVerdicts())

    def unheard(self) -> bool:
        """Whether the runner's verdicts are still missing; until then readiness is unknown."""
        return self._runner is not None and not self._heard and self._told is None

    def observe(self, pod: Pod, observed: ObservedPod, published: PodStatus | None, *, ending: bool) -> None:
        """Process a look at a pod with probes. `published`: its last published status."""
        seen = (pod, observed, published, ending, self.results)
        if seen == self._observed:
            return
        self._observed = seen
        running = self._running(pod, observed, published if published is not None else pod.status)
        ips = pod_ips(bool(pod.spec.host_network), observed.ips(), (), self._services.node.host_ips, True)
        self._tell(ContainersSeen(pod, running, ips[0] if ips else "", ending))
        self._know(running)
        self._adopt(pod, running)

    def undecided(self) -> bool:
        """Whether readiness is still unknown.

        A container is older than the agent, and its probes have not answered.

        True for `MAX_HOLD_NS` at most.
        """
        if not self._adopted:
            return False
        now_ns, ready, started = self._worker.now_ns(), self.results.readiness, self.results.startup
        return any(
            now_ns < until_ns
            and (
                (container.readiness_probe is not None and not ready.get(each))
                or (container.startup_probe is not None and not started.get(each))
            )
            for each, (until_ns, container) in self._adopted.items()
        )

    @handles(ProbesJudged)
    def judged(self, message: ProbesJudged) -> Pass | None:
        waited, self._heard = self.unheard(), True
        before, self.results = self.results, message.results
        is_news = waited or not say_the_same(before, self.results)
        return (
            self._worker.go_on()
            if is_news and self._view.life.stage in (PodStage.SYNCING, PodStage.TERMINATING)
            else None
        )

    @handles(ProbeRunnerStarted)
    def runner_started(self, _: ProbeRunnerStarted) -> None:
        """The runner has (re)started and knows nothing."""
        if self._told is not None and self._runner is not None:
            running = tuple(self._as_judged(each) for each in self._told.running)
            self._told = msgspec.structs.replace(self._told, running=running)
            self._runner.tell(self._told)

    def _tell(self, message: ContainersSeen) -> None:
        if self._told == message:
            return
        self._told = message
        if self._runner is None:
            self._runner = self._worker.spawn(ProbeRunner, self._worker.ref, self._services, name=RUNNER)
        self._runner.tell(message)

    def _running(self, pod: Pod, observed: ObservedPod, status: PodStatus | None) -> tuple[RunningContainer, ...]:
        """Keep a container's entry even when the published state changes, so its probes do not restart."""
        told = {each.id: each for each in self._told.running} if self._told is not None else {}
        published = _Published(status)
        running: list[RunningContainer] = []
        for container in probed_containers(pod):
            found = observed.newest(container.name)
            if found is not None and found.running and not found.starting:
                running.append(told.get(found.id) or seen_first(container, found, published.of(found.id)))
        return tuple(running)

    def _as_judged(self, told: RunningContainer) -> RunningContainer:
        results = self.results
        ready, started = results.readiness.get(told.id), results.startup.get(told.id)
        return msgspec.structs.replace(
            told,
            ready=told.ready if ready is None else ready,
            started=told.started if started is None else started,
        )

    def _adopt(self, pod: Pod, running: tuple[RunningContainer, ...]) -> None:
        """Give containers that an earlier agent started time for the first probes of this one."""
        began_wall_ns = self._worker.wall_ns() - (self._worker.now_ns() - self._services.began_ns)
        for each in running:
            unknown = each.ready is None and each.started is None and each.id not in self._adopted
            if unknown and each.started_wall_ns < began_wall_ns:
                container = containers_by_name(pod.spec)[each.name]
                hold_ns = _hold_ns(container)
                self._adopted[each.id] = (self._worker.now_ns() + hold_ns, container)
                self._worker.after(hold_ns, LookAgain(), key=f"first probes {each.id}")

    def _know(self, running: tuple[RunningContainer, ...]) -> None:
        """Apply the published state to containers that have no verdict yet."""
        readiness = {each.id: each.ready for each in running if each.ready and each.id not in self.results.readiness}
        startup = {each.id: each.started for each in running if each.started and each.id not in self.results.startup}
        if readiness or startup:
            self.results = msgspec.structs.replace(
                self.results,
                readiness=FrozenMap({**self.results.readiness, **readiness}),
                startup=FrozenMap({**self.results.startup, **startup}),
            )


def _hold_ns(container: Container) -> int:
    """How long the first probes of a container may take to answer."""
    asked = (container.startup_probe, container.readiness_probe)
    timeouts_ns = sum(terms_of(ProbeKind.READINESS, each).timeout_ns for each in asked if each is not None)
    return min(MAX_HOLD_NS, max(HOLD_NS, 2 * ADOPTED_JITTER_NS + timeouts_ns))


class _Published:
    """The published statuses of containers, by the id of the runtime.

    They are read when one is looked for.
    """

    def __init__(self, status: PodStatus | None) -> None:
        self._status = status
        self._by_id: Mapping[str, ContainerStatus] | None = None

    def of(self, container_id: str) -> ContainerStatus | None:
        if self._by_id is None:
            status = self._status
            shown = () if status is None else (*status.init_container_statuses, *status.container_statuses)
            self._by_id = {each.container_id.partition("://")[2]: each for each in shown if each.container_id}
        return self._by_id.get(container_id)


def seen_first(container: Container, found: ObservedContainer, shown: ContainerStatus | None) -> RunningContainer:
    """A container seen for the first time. `shown`: its published status, or None."""
    ready = started = None
    if shown is not None:
        ready = shown.ready if container.readiness_probe is not None else None
        started = shown.started if container.startup_probe is not None else None
    return RunningContainer(found.name, found.id, found.started_at_ns, ready, started)
