"""`NodeAgent`: a whole node agent as one object.

The command line, the HTTP server, simulations and tests use it.

It builds the actor system on a dispatcher, starts and stops it, and answers questions by asking actors. It is not an
actor and decides nothing. Stopping ends the agent only: containers run on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import pykka

from actors.kernel import ActorSystem, Dispatcher, LaneReport, LateActor, SystemReport, outcome_of
from actors.messages.counts import (
    CountPlugins,
    CountPods,
    CountRunning,
    CountVolumes,
    PluginCount,
    PodCount,
    RunningCount,
    VolumeCount,
)
from actors.messages.events import RecordedEvent
from actors.messages.history import KnownPod, ListHistories, PodStory, TellHistory
from actors.messages.island import IslandState, TellIsland
from actors.messages.manifests import (
    HeldManifest,
    ListManifests,
    ManifestsRefused,
    ManifestsTaken,
    TakeManifests,
    WithdrawManifest,
)
from actors.messages.node import TellConditions
from actors.messages.pods import (
    ListAwaitedSources,
    ListDesiredPods,
    ListEvents,
    ListPods,
    ListProblems,
    ListPulls,
    PullInProgress,
    SourceProblem,
)
from actors.messages.resource_claims import ListClaims
from actors.messages.shares import ListShares, NodeShares
from actors.messages.stats import HOUSEKEEPING_NS, TakeStats
from actors.messages.volumes import ListPodVolumes, PodVolume
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.model.resource_claims import PodClaims
from actors.node.plan import NodeCapabilities, NodePlan
from actors.node.supervisor import NodeSupervisor
from actors.node.wiring.known_actors import LONG_LIVED
from actors.node_object.conditions import ConditionVerdict
from actors.resources.what_if import KnownNode, Refusal, TellNode, TellRefusal
from config.objects import ContainerStatus, Pod
from runtime.api.settling import SettlingApi
from runtime.cri.paced import PacedCri
from runtime.logs.pod_logs import log_path, pod_log_directory
from runtime.metrics.kubelet_api import CLIENT_CERTIFICATE_TTL, CREDENTIAL_PLUGIN_TTL, SERVER_CERTIFICATE_TTL
from runtime.metrics.measured_api import measured_lines
from runtime.metrics.measured_cri import MeasuredCri
from runtime.metrics.measured_volumes import MeasuredVolumes
from runtime.stats.samples import NodeSample

T = TypeVar("T")

PUSH = "source-http-push"
ASK_TIMEOUT_S = 5.0
"""An actor that is asked from outside answers at once; otherwise something is wrong with it."""
LOG_TAIL_BYTES = 2048
LOG_LIMIT_NS = 1_000_000_000
"""A disk that takes longer does not delay an explanation."""
STATS_TIMEOUT_S = 20.0
"""The limit for statistics, which take longer to collect."""


Edges = Callable[[NodeCapabilities], NodeCapabilities]
"""Makes of the node's capabilities those that its actors get."""


class NodeAgent:
    """See the module.

    `start` once, `stop` once. `edges`: those of a record or a replay; None without either.
    """

    def __init__(
        self, dispatcher: Dispatcher, plan: NodePlan, capabilities: NodeCapabilities, edges: Edges | None = None
    ) -> None:
        self.plan = plan
        self.system = ActorSystem(dispatcher, name=f"actorlet.{plan.facts.name}")
        self.meters = capabilities.meters
        for family in (CLIENT_CERTIFICATE_TTL, SERVER_CERTIFICATE_TTL, CREDENTIAL_PLUGIN_TTL):
            if not self.meters.has(family):
                self.meters.put(family, math.inf)  # until the owner of a certificate reports its expiry
        self._measured = _measured(capabilities, dispatcher.beneath())
        self._capabilities = self._measured if edges is None else edges(self._measured)

    def start(self) -> None:
        """Start the actors. Returns at once."""
        self.system.spawn(NodeSupervisor, self.plan, self._capabilities, name="node", strategy=LONG_LIVED)
        self.system.dispatcher.release()

    def stop(self, timeout_ns: int = 30_000_000_000) -> bool:
        """End the agent and leave the containers running. False when an actor did not end within `timeout_ns`."""
        return self.system.stop(timeout_ns)

    def start_over(self, next_life: Callable[[], tuple[Dispatcher, Edges]], timeout_ns: int = 30_000_000_000) -> bool:
        """Start new actors in the place of these, as a new process would: they find out all that is.

        The dispatcher of these must leave the one beneath it open. `next_life` is called when they have ended. False
        when one did not end within `timeout_ns`. No question has an answer meanwhile.
        """
        ended = self.system.stop(timeout_ns)
        dispatcher, edges = next_life()
        self.system = ActorSystem(dispatcher, name=self.system.name)
        self._capabilities = edges(self._measured)
        self.start()
        return ended

    def pods(self) -> tuple[Pod, ...]:
        """Every pod of this node with its published status, by namespace and name.

        () also when they are unknown.
        """
        return self.pods_if_known() or ()

    def pods_if_known(self) -> tuple[Pod, ...] | None:
        """All pods with a status, by namespace and name; None if they are unknown now."""
        unknown: tuple[Pod, ...] | None = None
        pods = self._ask("status-manager", ListPods(), unknown)
        if pods is None:
            return None
        return tuple(sorted(pods, key=lambda pod: (pod.metadata.namespace, pod.metadata.name)))

    def every_pod(self) -> tuple[Pod, ...] | None:
        """Like `pods_if_known`, plus desired pods without a status yet, as their sources have them.

        With a runtime that hangs from the start, no pod has a status.
        """
        seen = self.pods_if_known()
        if seen is None:
            return None
        nothing: tuple[Pod, ...] = ()
        uids = {pod.metadata.uid for pod in seen}
        unseen = (pod for pod in self._ask("sync-loop", ListDesiredPods(), nothing) if pod.metadata.uid not in uids)
        return tuple(sorted((*seen, *unseen), key=lambda pod: (pod.metadata.namespace, pod.metadata.name)))

    def pods_are_told(self) -> bool:
        """Whether each source has told its pods. Before that, `every_pod` may lack pods that run."""
        unknown: frozenset[str] | None = None
        return self._ask("sync-loop", ListAwaitedSources(), unknown) == frozenset()

    def events(self) -> tuple[RecordedEvent, ...]:
        """The latest events, oldest first."""
        return self._ask("events", ListEvents(), ())

    def problems(self) -> tuple[SourceProblem, ...]:
        """The current problems of the sources."""
        none: tuple[SourceProblem, ...] = ()
        sources = ("source-file", "source-http", "source-http-push", "source-api")
        return tuple(problem for name in sources for problem in self._ask(name, ListProblems(), none))

    def pulls(self) -> tuple[PullInProgress, ...]:
        """The image pulls wanted now, oldest first."""
        return self._ask("image-pull", ListPulls(), ())

    def stats(self, max_age_ns: int = HOUSEKEEPING_NS) -> NodeSample | None:
        """The node's usage, at most `max_age_ns` old; None when unknown. The first answer takes half a second."""
        unknown: NodeSample | None = None
        return self._ask("stats", TakeStats(max_age_ns), unknown, STATS_TIMEOUT_S)

    def volumes(self) -> tuple[PodVolume, ...]:
        """The usable volumes of all pods."""
        return self._ask("volume-reconciler", ListPodVolumes(), ())

    def volume_count(self) -> VolumeCount | None:
        """How many volumes pods want, and how many they have; None while unknown."""
        unknown: VolumeCount | None = None
        return self._ask("volume-reconciler", CountVolumes(), unknown)

    def plugin_count(self) -> PluginCount:
        """The sockets of plugins of this node."""
        return self._ask("plugins", CountPlugins(), PluginCount((), ()))

    def running_count(self) -> RunningCount | None:
        """The running pods and containers; None before the runtime was listed."""
        unknown: RunningCount | None = None
        return self._ask("pleg", CountRunning(), unknown)

    def pod_count(self) -> PodCount | None:
        """The numbers of pods in the sync loop; None while it does not answer."""
        unknown: PodCount | None = None
        return self._ask("sync-loop", CountPods(), unknown)

    def known_pods(self) -> tuple[KnownPod, ...]:
        """Every pod with a history, including pods that are gone."""
        none: tuple[KnownPod, ...] = ()
        return self._ask("historian", ListHistories(), none)

    def story(self, uid: str) -> PodStory | None:
        """The history of the pod, and what it waits for; None when the UID is unknown."""
        nothing: PodStory | None = None
        return self._ask("historian", TellHistory(uid), nothing)

    def take_manifests(self, content: bytes) -> ManifestsTaken | ManifestsRefused | None:
        """Run the pods of this manifest from now on. None: no source takes manifests."""
        nobody: ManifestsTaken | ManifestsRefused | None = None
        return self._ask(PUSH, TakeManifests(content), nobody)

    def withdraw_manifest(self, namespace: str, name: str) -> ManifestsTaken | ManifestsRefused | None:
        """Stop running the pod of that manifest. None: no source takes manifests."""
        nobody: ManifestsTaken | ManifestsRefused | None = None
        return self._ask(PUSH, WithdrawManifest(namespace, name), nobody)

    def held_manifests(self) -> tuple[HeldManifest, ...] | None:
        """The manifests handed over, by namespace and name. None: no source takes manifests."""
        nobody: tuple[HeldManifest, ...] | None = None
        return self._ask(PUSH, ListManifests(), nobody)

    def island(self) -> IslandState | None:
        """Which pods are desired from memory; None on a node that is no island."""
        nobody: IslandState | None = None
        return self._ask("island", TellIsland(), nobody)

    def shares(self) -> NodeShares | None:
        """What pods have for themselves; None while unknown."""
        unknown: NodeShares | None = None
        return self._ask("resources", ListShares(), unknown)

    def claims(self) -> Mapping[str, PodClaims]:
        """The claims of devices that are ready, by the UID of the pod."""
        none: Mapping[str, PodClaims] = {}
        return self._ask("resource-claims", ListClaims(), none)

    def known_node(self) -> KnownNode | None:
        """What admission decides by; None while unknown."""
        unknown: KnownNode | None = None
        return self._ask("resources", TellNode(), unknown)

    def refusal(self, uid: str) -> Refusal | None:
        """What admission decided by when it refused that pod; None if that is not remembered."""
        forgotten: Refusal | None = None
        return self._ask("resources", TellRefusal(uid), forgotten)

    def conditions(self) -> tuple[ConditionVerdict, ...]:
        """The node conditions that the agent wants to publish."""
        none: tuple[ConditionVerdict, ...] = ()
        return self._ask("node-status", TellConditions(), none)

    def wall_ns(self) -> int:
        """The wall time of the node, in ns."""
        return self.system.dispatcher.wall_ns()

    def worker_waits_for(self, uid: str) -> tuple[str, int]:
        """The current wait of the pod's worker within a pass, and its length in ns; ("", 0) without one."""
        path = f"/node/sync-loop/{uid}"
        for actor in self.system.report().actors:
            if actor.path == path and actor.waiting_for:
                return actor.waiting_for, actor.handling_for_ns
        return "", 0

    def end_of_log(self, pod: Pod, container: ContainerStatus, lines: int) -> tuple[str, ...]:
        """The last lines of the newest log of a container; () when it has none, or its disk does not answer."""
        meta = pod.metadata
        directory = pod_log_directory(self.plan.configuration.pod_logs_dir, meta.namespace, meta.name, meta.uid)
        path = f"{directory}/{log_path(container.name, container.restart_count)}"
        container_id = (container.container_id or "").rpartition("/")[2]
        dispatcher = self.system.dispatcher
        lane = dispatcher.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        reading = lane.submit(
            meta.uid, self._capabilities.files.read_log_tail, path, container_id, lines, LOG_TAIL_BYTES
        )
        if not dispatcher.wait_until_done(reading, LOG_LIMIT_NS):
            return ()
        return tuple((outcome_of(reading).value or "").splitlines())

    def report(self) -> SystemReport:
        """The tree of actors, as data."""
        return self.system.report()

    def lanes(self) -> tuple[LaneReport, ...]:
        """The lanes, with the place of each pod that has calls there."""
        return self.system.dispatcher.lanes()

    def late_actors(self) -> tuple[LateActor, ...]:
        """The actors that fail the health check; empty when all are healthy."""
        return self.system.late_actors()

    def _ask(self, name: str, question: Any, otherwise: T, timeout_s: float = ASK_TIMEOUT_S) -> T:
        """The answer of a long-lived actor, or `otherwise` when it is missing or silent."""
        ref = self.system.find(f"/node/{name}")
        if ref is None:
            return otherwise
        try:
            answer: Any = ref.ask(question, timeout=timeout_s)
        except (pykka.ActorDeadError, pykka.Timeout):
            return otherwise
        return cast(T, answer)


def _measured(can: NodeCapabilities, dispatcher: Dispatcher) -> NodeCapabilities:
    """The same capabilities, measured: runtime (which is paced as well), volumes and API server."""
    meters, now_ns = can.meters, dispatcher.now_ns
    lines = None if can.api is None else measured_lines(can.api, meters, now_ns)
    return replace(
        can,
        cri=PacedCri(MeasuredCri(can.cri, meters, now_ns, dispatcher.wall_ns), now_ns, dispatcher.schedule),
        volumes=MeasuredVolumes(can.volumes, meters, now_ns),
        api=lines and replace(lines, references=SettlingApi(lines.main, now_ns, dispatcher.schedule)),
    )
