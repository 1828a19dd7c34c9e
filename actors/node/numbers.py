"""`NodeNumbers`: the node's summary and metrics, for requests over HTTP (spec 11.6, 11.7).

It asks actors and decides nothing. Measured values lie in the node's `Meters`; counts are made on request. The number
of series depends on the classes of actors, lanes and verbs. Only series about containers and volumes grow with pods.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from actors.kernel import ActorInfo, EndedActors
from actors.messages.counts import ADMITTED, OF_A_CONTAINER, OF_A_POD, OF_A_VOLUME, VolumeCount
from actors.messages.volumes import PodVolume
from actors.model.shares import exclusive_cpus
from actors.node.node import NodeAgent
from actors.node_object.settings import KUBERNETES_VERSION
from config.kubelet.feature_gates import GATES, FeatureStage
from runtime.metrics import kubelet as names
from runtime.metrics import own, selinux, shares
from runtime.metrics.cadvisor import cadvisor_metrics
from runtime.metrics.exposition import FamilyRows, MetricRow, exposition
from runtime.metrics.families import Family
from runtime.metrics.process import process_metrics
from runtime.metrics.resource import resource_metrics
from runtime.stats.samples import NodeSample
from runtime.stats.summary import summary_of

SECOND_NS = 1_000_000_000
MINUTE_NS = 60 * SECOND_NS
NOTHING = NodeSample(0)
ACTUAL, DESIRED = "actual_state_of_world", "desired_state_of_world"
"""The states of volumes and plugins, in upstream's words."""


class NodeNumbers:
    """See the module. Every method may wait for actors, and runs on a thread of the HTTP server."""

    def __init__(self, node: NodeAgent, version: str) -> None:
        self._node = node
        self._version = version

    def summary(self, *, only_cpu_and_memory: bool = False) -> bytes | None:
        """The document of `/stats/summary`.

        None when pods are unknown: an empty list would claim there are none.
        """
        node = self._node
        sample = node.stats()
        pods = () if only_cpu_and_memory else node.pods_if_known()
        if sample is None or sample.blind or pods is None:
            return None
        volumes = () if only_cpu_and_memory else node.volumes()
        told = summary_of(
            node.plan.facts.name,
            sample,
            pods,
            volumes_by_place(volumes),
            {(each.uid, each.name): each.abnormal for each in volumes if each.abnormal is not None},
            only_cpu_and_memory=only_cpu_and_memory,
        )
        return msgspec.json.encode(told)

    def resource(self) -> bytes:
        """`/metrics/resource`."""
        return exposition(resource_metrics(self._node.stats() or NOTHING))

    def cadvisor(self) -> bytes:
        """`/metrics/cadvisor`."""
        return exposition(cadvisor_metrics(self._node.stats() or NOTHING))

    def probes(self) -> bytes:
        """`/metrics/probes`."""
        start = [told for told in process_metrics() if told.family is names.PROCESS_START]
        return exposition((*self._node.meters.told(*names.AT_PROBES), *start))

    def metrics(self) -> bytes:
        """`/metrics`: the measured values, with the present counts in their places."""
        counts = (*self._actors(), *self._facts(), *self._pods(), *self._disks(), *self._volumes(), *self._shares())
        counted = {each.family.name: each for each in counts}
        measured = self._node.meters.told(*(each for each in ALL if each.name not in counted))
        every = {each.family.name: each for each in measured} | counted
        return exposition(every[name] for name in sorted(every))

    # --- counts -----------------------------------------------------------------------------------------------------

    def _facts(self) -> Iterable[FamilyRows]:
        plan = self._node.plan
        major, _, rest = KUBERNETES_VERSION.removeprefix("v").partition(".")
        git_version = f"v{major}.{rest}"
        system = f"{platform.system().lower()}/{platform.machine()}"
        build = (major, rest.partition(".")[0], git_version, "", "", "", "", platform.python_implementation(), system)
        yield FamilyRows(names.BUILD_INFO, [MetricRow(build, 1)])
        yield FamilyRows(own.BUILD_INFO, [MetricRow((self._version,), 1)])
        yield FamilyRows(names.NODE_NAME, [MetricRow((plan.facts.name,), 1)])
        yield FamilyRows(names.CGROUP_VERSION, [MetricRow((), plan.facts.cgroup_version)])
        yield FamilyRows(names.METRICS_PROVIDER, [MetricRow(("cri",), 1)])
        gates = [
            MetricRow(
                (name, "" if gate.stage is FeatureStage.GA else gate.stage.value), float(plan.gates.enabled(name))
            )
            for name, gate in sorted(GATES.items())
        ]
        yield FamilyRows(names.FEATURE_ENABLED, gates)
        process = process_metrics()
        yield from process
        boot = {told.family: told.rows[0].value for told in process}
        before = boot.get(names.STARTUP_PRE_KUBELET, 0)
        since = self._node.meters.value(names.STARTUP)
        yield FamilyRows(names.STARTUP, [MetricRow((), before + since if since else 0)])

    def _pods(self) -> Iterable[FamilyRows]:
        running, pods = self._node.running_count(), self._node.pod_count()
        if running is not None:
            yield FamilyRows(names.RUNNING_PODS, [MetricRow((), running.pods)])
            states = sorted(running.containers.items())
            yield FamilyRows(names.RUNNING_CONTAINERS, [MetricRow((state,), count) for state, count in states])
        if pods is not None:
            for family, (static, others) in ((names.DESIRED_PODS, pods.desired), (names.ACTIVE_PODS, pods.active)):
                yield FamilyRows(family, [MetricRow(("true",), static), MetricRow(("",), others)])
            yield FamilyRows(names.MIRROR_PODS, [MetricRow((), pods.mirrors)])
            yield FamilyRows(names.EPHEMERAL_CONTAINERS, [MetricRow((), pods.ephemeral)])
            yield FamilyRows(names.WORKING_PODS, _working_rows(pods.working))

    def _disks(self) -> Iterable[FamilyRows]:
        """Volumes of claims, and logs. The sample may be a minute old, which is good enough for disks."""
        sample = self._node.stats(MINUTE_NS)
        if sample is None:
            return
        yield FamilyRows(own.STATS_PROBLEMS, [MetricRow((), len(sample.problems))])
        volumes = self._node.volumes()
        named = volumes_by_place(volumes)
        rows: dict[str, list[MetricRow]] = {family.name: [] for family, _ in _OF_VOLUMES}
        seen: set[tuple[str, str]] = set()
        logs: list[MetricRow] = []
        for pod in sample.pods:
            for _, name, reading in pod.disk.volumes:
                labels = (pod.namespace, named.get((pod.uid, name), ("", ""))[1])
                if not labels[1] or labels in seen:
                    continue  # a claim that two pods share has one series
                seen.add(labels)
                for family, field in _OF_VOLUMES:
                    rows[family.name].append(MetricRow(labels, getattr(reading, field)))
            for container, reading in pod.disk.logs:
                logs.append(MetricRow((pod.uid, pod.namespace, pod.name, container), reading.used))
        yield FamilyRows(names.LOG_BYTES, logs)
        yield FamilyRows(names.VOLUME_ABNORMAL, _abnormal_rows(sample, volumes))
        for family, _ in _OF_VOLUMES:
            yield FamilyRows(family, rows[family.name])

    def _shares(self) -> Iterable[FamilyRows]:
        node = self._node.shares()
        if node is None:
            return
        taken = frozenset[int]().union(*map(exclusive_cpus, node.book.values()))
        yield FamilyRows(shares.EXCLUSIVE_CPUS, [MetricRow((), len(taken))])
        free = node.pool & node.allocatable.cpus
        yield FamilyRows(shares.SHARED_POOL, [MetricRow((), len(free) * 1000)])
        by_node = node.machine.by_node.items() if node.allocatable.cpus else ()
        rows = [MetricRow((str(number),), len(cpus & taken)) for number, cpus in by_node]
        yield FamilyRows(shares.CPUS_BY_NODE, rows)

    def _volumes(self) -> Iterable[FamilyRows]:
        plugins = self._node.plugin_count()
        sockets = ((ACTUAL, plugins.registered), (DESIRED, plugins.there))
        found = [MetricRow((socket, state), 1) for state, named in sockets for socket in named]
        yield FamilyRows(names.PLUGINS, found)
        counted = self._node.volume_count()
        if counted is None:
            return
        by_state = ((ACTUAL, counted.actual), (DESIRED, counted.desired))
        rows = [MetricRow((plugin, state), n) for state, by in by_state for plugin, n in sorted(by.items())]
        yield FamilyRows(names.MANAGED_VOLUMES, rows)
        yield from _context_rows(counted)

    def _actors(self) -> Iterable[FamilyRows]:
        node = self._node
        report = node.report()
        by_class: dict[str, list[ActorInfo]] = {}
        for actor in report.actors:
            by_class.setdefault(actor.actor_class, []).append(actor)
        states = Counter((actor.actor_class, actor.state) for actor in report.actors)
        yield FamilyRows(own.ACTORS, [MetricRow(key, count) for key, count in sorted(states.items())])
        yield _by_class(own.MAILBOX_DEPTH, by_class, lambda group: sum(each.mailbox_depth for each in group))
        yield _by_class(own.MAILBOX_DEEPEST, by_class, lambda group: max(each.mailbox_depth for each in group))
        yield _by_class(own.MAILBOX_AGE, by_class, lambda group: _seconds(max(each.oldest_age_ns for each in group)))
        yield _by_class(own.MAILBOX_DROPPED, by_class, lambda group: sum(each.mailbox_dropped for each in group))
        yield _by_class(own.SLOWEST, by_class, lambda group: _seconds(max(each.slowest_ns for each in group)))
        yield _by_class(own.WAITING, by_class, lambda group: sum(bool(each.waiting_for) for each in group))
        yield _by_class(own.EFFECTS, by_class, lambda group: sum(each.effects for each in group))
        handled, busy, restarts = Counter[str](), Counter[str](), Counter[str]()
        everybody: tuple[ActorInfo | EndedActors, ...] = (*report.actors, *report.ended)
        for known in everybody:
            handled[known.actor_class] += known.handled
            busy[known.actor_class] += known.busy_ns
            restarts[known.actor_class] += known.restarts
        yield _by_class(names.QUEUE_DEPTH, by_class, lambda group: sum(each.mailbox_depth for each in group))
        waiting = {name: sum(each.mailbox_depth for each in group) for name, group in by_class.items()}
        added = [MetricRow((name,), count + waiting.get(name, 0)) for name, count in sorted(handled.items())]
        yield FamilyRows(names.QUEUE_ADDS, added)
        yield FamilyRows(names.QUEUE_RETRIES, [MetricRow((name,), count) for name, count in sorted(restarts.items())])
        longest, unfinished = names.QUEUE_LONGEST, names.QUEUE_UNFINISHED
        yield _by_class(longest, by_class, lambda group: _seconds(max(each.handling_for_ns for each in group)))
        yield _by_class(unfinished, by_class, lambda group: _seconds(sum(each.handling_for_ns for each in group)))
        yield FamilyRows(own.HANDLED, [MetricRow((name,), count) for name, count in sorted(handled.items())])
        yield FamilyRows(own.HANDLING, [MetricRow((name,), ns / SECOND_NS) for name, ns in sorted(busy.items())])
        yield FamilyRows(own.RESTARTS, [MetricRow((name,), count) for name, count in sorted(restarts.items())])
        yield FamilyRows(own.LATE, [MetricRow((), len(node.late_actors()))])
        yield FamilyRows(own.STUCK, [MetricRow((), len(report.stuck))])
        letters = node.system.dead_letters.counts()
        yield FamilyRows(
            own.DEAD_LETTERS, [MetricRow((reason.lower(), kind), n) for (reason, kind), n in sorted(letters.items())]
        )
        lanes = report.lanes
        yield FamilyRows(own.LANE_RUNNING, [MetricRow((lane.name,), lane.running) for lane in lanes])
        yield FamilyRows(own.LANE_WAITING, [MetricRow((lane.name,), lane.waiting) for lane in lanes])
        waiting_keys = [(lane.name, sum(key.waiting > 0 for key in lane.keys)) for lane in lanes]
        yield FamilyRows(own.LANE_KEYS_WAITING, [MetricRow((name,), count) for name, count in waiting_keys])
        yield FamilyRows(own.LANE_HANGING, [MetricRow((lane.name,), lane.hanging) for lane in lanes])
        yield FamilyRows(own.LANE_THREADS, [MetricRow((lane.name,), lane.threads) for lane in lanes])
        yield FamilyRows(own.LANE_WRITTEN_OFF, [MetricRow((lane.name,), len(lane.written_off)) for lane in lanes])


ALL: Sequence[Family] = (*names.FAMILIES, *own.FAMILIES)
"""The metric families of `/metrics`."""

_OF_VOLUMES = (
    (names.VOLUME_CAPACITY, "capacity"),
    (names.VOLUME_AVAILABLE, "available"),
    (names.VOLUME_USED, "used"),
    (names.VOLUME_INODES, "inodes"),
    (names.VOLUME_INODES_FREE, "inodes_free"),
    (names.VOLUME_INODES_USED, "inodes_used"),
)


def _seconds(ns: int) -> float:
    return ns / SECOND_NS


def volumes_by_place(volumes: Iterable[PodVolume]) -> dict[tuple[str, str], tuple[str, str]]:
    """(UID, name on disk) -> (name in the pod, claim). A persistent volume has another name on disk."""
    found = {}
    for each in volumes:
        top = "volumeDevices" if each.block else "volumes"
        _, below, rest = each.path.partition(f"/{each.uid}/{top}/{each.plugin.replace('/', '~')}/")
        if below:
            found[each.uid, rest.partition("/")[0]] = (each.name, each.claim)
    return found


def _working_rows(working: Mapping[tuple[str, str, bool], int]) -> list[MetricRow]:
    """All series of a kubelet, zeros included: dashboards and tests take a missing one for a fault."""
    counts = {
        (lifecycle, config, static): 0
        for config, statics in (("desired", ("", "true")), ("orphan", ("", "true")), ("runtime_only", ("unknown",)))
        for static in statics
        for lifecycle in ("sync", "terminating", "terminated")
    }
    for (lifecycle, config, static), count in working.items():
        counts[lifecycle, config, "unknown" if config == "runtime_only" else "true" if static else ""] += count
    return [MetricRow(labels, count) for labels, count in counts.items()]


def _abnormal_rows(sample: NodeSample, volumes: Iterable[PodVolume]) -> list[MetricRow]:
    """Rows for the claims whose drivers report a volume condition."""
    namespaces = {pod.uid: pod.namespace for pod in sample.pods}
    told = {
        (namespaces[each.uid], each.claim): each.abnormal
        for each in volumes
        if each.claim and each.abnormal is not None and each.uid in namespaces
    }
    return [MetricRow(claim, float(abnormal)) for claim, abnormal in sorted(told.items())]


_LABELS = {
    (ADMITTED, True): selinux.LABELS_ADMITTED,
    (OF_A_CONTAINER, True): selinux.LABEL_ERRORS,
    (OF_A_CONTAINER, False): selinux.LABEL_WARNINGS,
    (OF_A_POD, True): selinux.POD_LABEL_ERRORS,
    (OF_A_POD, False): selinux.POD_LABEL_WARNINGS,
    (OF_A_VOLUME, True): selinux.VOLUME_LABEL_ERRORS,
    (OF_A_VOLUME, False): selinux.VOLUME_LABEL_WARNINGS,
}
"""By what the label is about, and whether it is an error."""


def _context_rows(counted: VolumeCount) -> Iterable[FamilyRows]:
    """About the SELinux labels of volumes.

    Troubles of containers and pods are counted for all plugins together.
    """
    families: dict[Family, Counter[tuple[str, ...]]] = {}
    for key, count in counted.contexts.items():
        family = _LABELS[key.about, key.is_error]
        labels = (key.plugin, key.mode) if len(family.labels) > 1 else (key.mode,)
        families.setdefault(family, Counter())[labels] += count
    for family, by in families.items():
        yield FamilyRows(family, [MetricRow(labels, count) for labels, count in sorted(by.items())])


def _by_class(
    family: Family, by_class: dict[str, list[ActorInfo]], value: Callable[[list[ActorInfo]], float]
) -> FamilyRows:
    return FamilyRows(family, [MetricRow((name,), value(group)) for name, group in sorted(by_class.items())])
