"""The status of a pod as it is published: everything of spec 4.1 to 4.4 put together. Pure.

What is unknown keeps its last published value: without a look at the runtime the old status stays. A status with equal
content *is* the previous object, so the caller may compare by identity.

Addresses of a pod and its host are published in a fixed order, primary family first (spec 4.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter

import msgspec

from actors.model.observed import NO_RESULTS, ObservedPod, ProbeResults, sandbox_serves
from actors.pod_rules.resize import NOTHING_TOLD, Told
from actors.pod_rules.restart_all import in_progress, marked
from actors.pod_status.conditions import (
    RUNNING,
    TERMINAL,
    ResizeCondition,
    all_run,
    foreign,
    pod_conditions,
    pod_phase,
    with_disruption,
)
from actors.pod_status.container_statuses import (
    ContainerKind,
    ContainerWaiting,
    StatusView,
    container_status,
)
from actors.pod_status.whole_resources import resources_shown
from config.caches import KIB, kept
from config.objects import Container, ContainerStatus, HostIP, Pod, PodIP, PodStatus
from config.pods.identity import CONFIG_SEEN, is_sidecar, qos_class, restarts_all_containers
from config.values.api_time import api_time, seconds_of
from runtime.cri.messages import ContainerState as CriState


def order_ips(ips: Iterable[str], node_ips: tuple[str, ...]) -> tuple[str, ...]:
    """At most one address per family.

    First the family of the node's first address (IPv4 when it has none).
    """
    primary_v6 = bool(node_ips) and is_ipv6(node_ips[0])
    primary = secondary = ""
    for ip in ips:
        if not ip:
            continue
        if is_ipv6(ip) == primary_v6:
            primary = primary or ip
        else:
            secondary = secondary or ip
    return tuple(ip for ip in (primary, secondary) if ip)


def pod_ips(
    host_network: bool,
    observed: tuple[str, ...],
    previous: tuple[str, ...],
    node_ips: tuple[str, ...],
    sandbox_ready: bool,
) -> tuple[str, ...]:
    """The host's addresses for a pod in the host's network; else those of the sandbox.

    While no sandbox is ready, the last published addresses stay: an ended pod keeps them.
    """
    if host_network:
        return order_ips(node_ips, node_ips)
    if observed:
        return observed if len(observed) == 1 else order_ips(observed, node_ips)
    return () if sandbox_ready else previous


def family_differs(host_ip: str | None, node_ips: tuple[str, ...]) -> bool:
    """Whether the host address published last and the node's first address now differ in family."""
    if not host_ip or not node_ips or host_ip == node_ips[0]:
        return False
    return is_ipv6(host_ip) != is_ipv6(node_ips[0])


def is_ipv6(ip: str) -> bool:
    """Whether an address is written as IPv6."""
    return ":" in ip


NO_WAITING: Mapping[str, ContainerWaiting] = {}
_NOBODY: frozenset[str] = frozenset()
_name_of = attrgetter("name")


class Forced(msgspec.Struct, frozen=True):
    """A status that is decided elsewhere (eviction, rejection, deadline); empty parts are not forced.

    `disrupted`: the pod could have gone on, and controllers should not count it as its own failure (KEP-3329).
    `rejected`: the node did not take the pod, so its containers have no status (spec 2.4). `at_once`: the pod is not
    ready from now on, although its containers still run.
    """

    phase: str = ""
    reason: str = ""
    message: str = ""
    disrupted: bool = False
    rejected: bool = False
    at_once: bool = False


NOT_FORCED = Forced()


class StatusNodeView(msgspec.Struct, frozen=True):
    """The node in a status: its addresses, primary family first, and the runtime's name in container ids."""

    ips: tuple[str, ...] = ()
    runtime_name: str = "containerd"
    recursive_read_only_handlers: tuple[str, ...] = ()
    """Names of the runtime's handlers that can make mounts recursively read only."""
    image_volume_refs: bool = False
    """Whether mounts of images show the id of the image (feature gate ImageVolumeWithDigest)."""
    device_messages: bool = True
    """Whether the words of drivers are shown (feature gate ResourceHealthStatusMessage)."""
    memory_unlimited: str = ""
    """The limit that the kernel reports of a pod's cgroup without one; "": none."""


def compute_pod_status(
    pod: Pod,
    observed: ObservedPod | None,
    *,
    previous: PodStatus | None,
    wall_ns: int,
    node: StatusNodeView,
    probes: ProbeResults = NO_RESULTS,
    waiting: Mapping[str, ContainerWaiting] = NO_WAITING,
    ended: bool = False,
    forced: Forced = NOT_FORCED,
    coming: frozenset[str] = _NOBODY,
    told: Told = NOTHING_TOLD,
    resizes: tuple[ResizeCondition, ...] | None = (),
) -> PodStatus:
    """The status to publish; `previous` itself when nothing has changed.

    `previous`: the last published status; None: the pod's own. `waiting`: container name -> why it does not start.
    `ended`: the end of the pod has been decided, and nothing is started any more. `coming`: names of containers that
    will be started again, whatever their policy says of their end. `told`: the resources that the runtime was told
    since it made the containers. `resizes`: see `pod_conditions`.
    """
    if previous is None:
        previous = pod.status if pod.status is not None else _NOTHING_YET
    if forced.rejected:
        return _rejected(pod, previous, forced, wall_ns)
    if observed is None:
        if previous.container_statuses:
            return _forced_onto(previous, forced)
        observed = ObservedPod(pod.metadata.uid)
    spec = pod.spec
    inits = spec.init_containers
    begun = any(container.name in observed.by_name for container in spec.containers) if inits else False
    ruled = restarts_all_containers(spec)
    restarting_all = ruled and not ended and in_progress(pod, observed, previous)
    if restarting_all:
        coming = frozenset(each.name for each in (*inits, *spec.containers))
    handler = observed.sandboxes[0].handler if observed.sandboxes else ""
    able = handler in node.recursive_read_only_handlers
    view = StatusView(
        pod,
        observed,
        probes,
        waiting,
        node.runtime_name,
        begun,
        ended,
        coming,
        restarting_all,
        able,
        told,
        node.image_volume_refs,
    )
    init = _group(view, inits, ContainerKind.INIT, previous.init_container_statuses) if inits else ()
    regular = _group(view, spec.containers, ContainerKind.REGULAR, previous.container_statuses)
    if len(regular) > 1:
        regular = _sorted(regular)
    ephemeral: tuple[ContainerStatus, ...] = ()
    if spec.ephemeral_containers:
        known = previous.ephemeral_container_statuses
        ephemeral = _sorted(_group(view, spec.ephemeral_containers, ContainerKind.EPHEMERAL, known))
    everyone = init + regular
    shown = dict(zip(map(_name_of, everyone), everyone, strict=True))
    phase = _phase(pod, observed, shown, previous, ended, forced, coming)
    generation = pod.metadata.generation
    if generation != previous.observed_generation:
        generation = _newer(generation, previous.observed_generation)
    now = api_time(wall_ns)
    sandbox_ready = sandbox_serves(pod, observed)
    shown_ips = _pod_ips(pod, observed, previous.pod_ips, node.ips)
    host_ips = _host_ips(node.ips)
    same_phase = phase == previous.phase
    # A pod that is being evicted stays ready as long as its containers run.
    settled = not forced.phase or forced.at_once or not observed.anything_runs()
    conditions = pod_conditions(
        pod,
        phase if settled else _phase_of_containers(pod, observed, shown, ended, coming),
        shown,
        sandbox_ready=sandbox_ready,
        restarting_all=restarting_all if ruled else None,
        resizes=resizes,
        previous=previous.conditions,
        generation=generation,
        now=now,
    )
    if forced.disrupted:
        before = previous.conditions
        conditions = with_disruption(conditions, forced.message, previous=before, generation=generation, now=now)
    given, resources = resources_shown(pod, phase, previous, resizes, node.memory_unlimited)
    status = msgspec.structs.replace(
        previous,
        phase=phase,
        allocated_resources=given,
        resources=resources,
        reason=forced.reason or (previous.reason if same_phase else None),
        message=forced.message or (previous.message if same_phase else None),
        init_container_statuses=init,
        container_statuses=regular,
        ephemeral_container_statuses=ephemeral,
        conditions=conditions,
        observed_generation=generation,
        start_time=previous.start_time or _start_time(pod, observed, wall_ns),
        qos_class=previous.qos_class or str(qos_class(pod)),
        pod_ip=shown_ips[0].ip if shown_ips else None,
        pod_ips=shown_ips,
        host_ip=host_ips[0].ip if host_ips else previous.host_ip,
        host_ips=host_ips or previous.host_ips,
    )
    return previous if status == previous else status


_NOTHING_YET = PodStatus()


def _pod_ips(
    pod: Pod, observed: ObservedPod, previous: tuple[PodIP, ...], node_ips: tuple[str, ...]
) -> tuple[PodIP, ...]:
    """The addresses to show; `previous` itself when they are the same."""
    shown = observed.ips()
    if not pod.spec.host_network:
        if len(shown) == 1:  # true of nearly all pods
            return previous if len(previous) == 1 and previous[0].ip == shown[0] else (PodIP(ip=shown[0]),)
        if not shown and not previous:
            return previous
    before = tuple([each.ip for each in previous])
    ips = pod_ips(bool(pod.spec.host_network), shown, before, node_ips, observed.any_sandbox_ready())
    return previous if ips == before else tuple([PodIP(ip=ip) for ip in ips])


@kept(16 * KIB)
def _host_ips(node_ips: tuple[str, ...]) -> tuple[HostIP, ...]:
    """The addresses of the node, for `hostIPs`; equal for all of its pods."""
    return tuple(HostIP(ip=ip) for ip in order_ips(node_ips, node_ips))


def _start_time(pod: Pod, observed: ObservedPod, wall_ns: int) -> str:
    """When the node first saw the pod, unless the runtime has an older trace of it.

    A restarted agent takes a pod over as it is: its active deadline does not begin anew. A sandbox carries the time
    when its agent first saw the pod, so a new agent publishes the same second.
    """
    traces = [wall_ns]
    for sandbox in observed.sandboxes:
        if sandbox.seen_s is not None:
            traces.append(sandbox.seen_s * 1_000_000_000)
        elif sandbox.created_at_ns > 0:
            traces.append(sandbox.created_at_ns)
    seen_s = seconds_of(pod.metadata.annotations.get(CONFIG_SEEN))
    if seen_s is not None:
        traces.append(seen_s * 1_000_000_000)
    return api_time(min(traces)) or ""


def _group(
    view: StatusView, containers: Iterable[Container], kind: ContainerKind, previous: tuple[ContainerStatus, ...]
) -> tuple[ContainerStatus, ...]:
    old = dict(zip(map(_name_of, previous), previous, strict=True))
    statuses: list[ContainerStatus] = []
    for container in containers:
        of_kind = ContainerKind.SIDECAR if kind is ContainerKind.INIT and is_sidecar(container) else kind
        statuses.append(container_status(view, container, of_kind, old.get(container.name)))
    return tuple(statuses)


def _sorted(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...]:
    """Sort by name, so that the order in the spec makes no difference."""
    return tuple(sorted(statuses, key=_name_of))


def _phase(
    pod: Pod,
    observed: ObservedPod,
    statuses: Mapping[str, ContainerStatus],
    previous: PodStatus,
    ended: bool,
    forced: Forced,
    coming: frozenset[str],
) -> str:
    """The phase. Terminal phases never change again, whoever reported them (spec 4.1)."""
    if previous.phase in TERMINAL:
        return str(previous.phase)
    if pod.status is not None and pod.status.phase in TERMINAL:
        return str(pod.status.phase)
    return forced.phase or _phase_of_containers(pod, observed, statuses, ended, coming)


def _phase_of_containers(
    pod: Pod,
    observed: ObservedPod,
    statuses: Mapping[str, ContainerStatus],
    ended: bool,
    coming: frozenset[str],
) -> str:
    spec = pod.spec
    if not spec.init_containers and all_run(spec.containers, statuses):  # true of nearly all pods most of the time
        return RUNNING
    started = bool(spec.init_containers) and _started_here(pod, observed)
    if restarts_all_containers(spec):
        coming |= marked(statuses.values())
    return pod_phase(pod, statuses, ended=ended, started_here=started, coming=coming)


def _started_here(pod: Pod, observed: ObservedPod) -> bool:
    """Whether a regular container was started in the newest sandbox."""
    if not observed.sandboxes or not observed.sandboxes[0].ready:
        return False
    attempt = observed.sandboxes[0].attempt
    return any(
        each.sandbox_attempt == attempt and each.state != CriState.CONTAINER_CREATED
        for container in pod.spec.containers
        for each in observed.by_name.get(container.name, ())
    )


def _forced_onto(status: PodStatus, forced: Forced) -> PodStatus:
    if status.phase in TERMINAL or not (forced.phase or forced.reason or forced.message):
        return status
    return msgspec.structs.replace(
        status,
        phase=forced.phase or status.phase,
        reason=forced.reason or status.reason,
        message=forced.message or status.message,
    )


def _rejected(pod: Pod, before: PodStatus, forced: Forced, wall_ns: int) -> PodStatus:
    """The status of a rejected pod, as upstream.

    It has no addresses, no resources, and only the conditions of other writers.
    """
    status = msgspec.structs.replace(
        before,
        phase=forced.phase,
        reason=forced.reason,
        message=forced.message,
        start_time=before.start_time or api_time(wall_ns),
        observed_generation=_newer(pod.metadata.generation, before.observed_generation),
        qos_class=before.qos_class or str(qos_class(pod)),
        init_container_statuses=(),
        container_statuses=(),
        ephemeral_container_statuses=(),
        conditions=foreign(before.conditions),
        allocated_resources={},
        resources=None,
        host_ip=None,
        host_ips=(),
        pod_ip=None,
        pod_ips=(),
    )
    return before if status == before else status


def _newer(generation: int | None, published: int | None) -> int | None:
    """The newer generation. It never goes back, even if an old object comes late."""
    if generation is None or published is None:
        return generation if published is None else published
    return generation if generation > published else published
