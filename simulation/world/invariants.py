"""The rules that must hold at every change of a world: a few lines each, with the reason.

A rule gets the record so far (`simulation.world.chronicle`) and the change. It returns the violation, or None. Rules of
starts are asked when a container begins to run, those of statuses when the API shows one. Rules of gone pods are asked
when an object is removed. `at_the_end` is asked of a world that was healed and given its time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.cri.messages import Image
from simulation.cri.behaviour_values import duration_ns
from simulation.cri.state import ContainerRecord
from simulation.scenarios.pods import PodMix
from simulation.world.seen import ContainerSeen, PodSeen, StaticPod
from simulation.world.statuses import is_ready

ENDED = ("Succeeded", "Failed")
_ORDER = {"": 0, "Pending": 1, "Running": 2, "Succeeded": 3, "Failed": 3}
SECOND_NS = 10**9

Json = dict[str, Any]


# --- when a container begins to run -----------------------------------------------------------------------------------


def never_two_live_containers(pod: PodSeen, name: str, seen: ContainerSeen) -> str | None:
    """Two processes of one container write the same files: what users of databases fear most (pains 3)."""
    return f"container {name} of {pod.name} runs {len(seen.live)} times" if len(seen.live) > 1 else None


def never_means_once(pod: PodSeen, name: str, seen: ContainerSeen) -> str | None:
    """restartPolicy Never is a promise to jobs that must not be done twice (spec 3)."""
    if pod.restart_policy == "Never" and seen.starts > 1:
        return f"container {name} of {pod.name}, which is never to be restarted, starts for the {seen.starts}. time"
    return None


def an_ended_pod_stays_ended(pod: PodSeen, name: str, seen: ContainerSeen) -> str | None:
    """Succeeded and Failed are final: readers have acted on them, so no work begins again (spec 4)."""
    return f"container {name} of {pod.name} starts after the pod was {pod.phase}" if pod.phase in ENDED else None


def the_steady_start_once(pod: PodSeen, name: str, seen: ContainerSeen) -> str | None:
    """A fault of the agent or its connections must not restart a container (pains 8)."""
    if pod.mix is not None and pod.mix.steady and seen.starts > 1:
        return f"container {name} of {pod.name} starts for the {seen.starts}. time, and nothing had ended it"
    return None


# --- when the API shows a status --------------------------------------------------------------------------------------


def phase_never_goes_back(pod: PodSeen, status: Json) -> str | None:
    """Controllers act on phases once; one that goes back was a lie (spec 4)."""
    phase = status.get("phase", "")
    if phase == pod.phase:
        return None
    back = _ORDER[phase] < _ORDER[pod.phase] or pod.phase in ENDED
    return f"{pod.name} was {pod.phase} and is {phase}" if back else None


def restart_counts_never_fall(pod: PodSeen, status: Json) -> str | None:
    """Alerts watch the rise of these counts; an agent that forgets must not take them back (pains 8)."""
    before = pod.restarts_before
    return f"{pod.name} had {before} restarts and has {pod.restarts}" if pod.restarts < before else None


def the_ended_do_not_run(pod: PodSeen, status: Json) -> str | None:
    """No container runs in a Succeeded or Failed pod: these phases free its resources (spec 4)."""
    if status.get("phase") in ENDED and pod.live():
        return f"{pod.name} is {status['phase']} while {', '.join(pod.live())} runs"
    return None


def success_is_earned(pod: PodSeen, status: Json) -> str | None:
    """A Succeeded pod has no container that failed last: others wait for its success (spec 4)."""
    if status.get("phase") != "Succeeded":
        return None
    failed = [name for name, seen in pod.containers.items() if seen.exit_code]
    if failed:
        return f"{pod.name} is Succeeded, and {failed[0]} ended with code {pod.containers[failed[0]].exit_code}"
    return None


def the_steady_stay_ready(pod: PodSeen, status: Json) -> str | None:
    """An endpoint that flickers loses its clients; a restart of the agent is no reason for it (pains 8)."""
    steady = pod.mix is not None and pod.mix.steady and pod.deleted_ns is None
    return f"{pod.name} was ready and is not" if steady and pod.was_ready and not is_ready(status) else None


def the_truth_is_shown_in_time(pod: PodSeen, status: Json) -> str | None:
    """The API must show a death in time (pains 1).

    A pod that waits to hear of it waits for the node: one sick pod must not slow down the others.
    """
    if pod.mix is None or pod.unshown_since_ns is None or pod.deleted_ns is not None:
        return None
    what = f"it took {{}} until it was shown which containers of {pod.name} run"
    return _too_long(what, pod.now_ns - pod.unshown_since_ns, pod.mix.shown_within)


def few_writes_on_the_way(pod: PodSeen, status: Json) -> str | None:
    """An API server serves thousands of nodes.

    A pod that starts is worth one write of its status (pains 9).
    """
    if pod.mix is None or pod.mix.writes_until_running is None or pod.running_ns is not None:
        return None
    if pod.writes <= pod.mix.writes_until_running:
        return None
    return f"the status of {pod.name} is written for the {pod.writes}. time, and it is not shown Running yet"


# --- of pods whose manifests lie on a node ----------------------------------------------------------------------------


def one_live_incarnation(pod: StaticPod, now_ns: int, version: int) -> str | None:
    """Two static pods of one name use the same ports and files.

    The old one must have stopped before (pains 7).
    """
    for name, live in pod.live.items():
        if len(live) > 1:
            return f"container {name} of the static pod {pod.name} runs as versions {sorted(live.values())}"
    return None


def the_newest_starts_in_time(pod: StaticPod, now_ns: int, version: int) -> str | None:
    """Manifests are what an API server itself is started from: they cannot wait for one (pains 7)."""
    if pod.runs or version != pod.version:
        return None
    what = f"version {version} of the static pod {pod.name} took {{}} to run"
    return _too_long(what, now_ns - pod.since_ns, pod.mix.starts_within)


OF_STATIC_STARTS: tuple[Callable[[StaticPod, int, int], str | None], ...] = (
    one_live_incarnation,
    the_newest_starts_in_time,
)


# --- when a pod was removed from the API ------------------------------------------------------------------------------


def nothing_runs_of_the_gone(pod: PodSeen, now_ns: int) -> str | None:
    """A pod still runs that the API has removed: its name and disk may be in use again (spec 2)."""
    return f"{pod.name} is gone from the API while {', '.join(pod.live())} runs" if pod.live() else None


def of_the_gone(record: ContainerRecord) -> str:
    """The fault of a container that begins to run although the API has no such pod."""
    return f"container {record.name} begins to run, and the API has no such pod"


def ends_in_time(pod: PodSeen, now_ns: int) -> str | None:
    """A pod stuck in Terminating holds up a rollout, and its node (pains 5)."""
    if pod.mix is None or pod.deleted_ns is None:
        return None
    return _too_long(f"{pod.name} took {{}} to end", now_ns - pod.deleted_ns, pod.mix.ends_within)


def starts_in_time(pod: PodSeen) -> str | None:
    """A healthy pod starts in time, whatever the trouble of others (pains 1, 4, 9, 10).

    Asked when a pod is first shown Running, or is deleted before it was.
    """
    until_ns = pod.deleted_ns if pod.running_ns is None else pod.running_ns
    if pod.mix is None or until_ns is None:
        return None
    what = f"{pod.name} did not run for {{}}" if pod.running_ns is None else f"{pod.name} took {{}} to run"
    return _too_long(what, until_ns - pod.created_ns, pod.mix.starts_within)


# --- when an agent has decided, or removed something ------------------------------------------------------------------


def one_kill_for_one_reading(kills: int, fresh_readings: int) -> str | None:
    """One reading leads to one eviction at most; a second one may be needless (pains 12, spec 7.2)."""
    if kills <= min(1, fresh_readings):
        return None
    return f"{kills} pods are to go by {fresh_readings} new looks at the node"


def a_critical_pod_stays(pod: PodSeen) -> str | None:
    """The cluster itself is made of them: a node that ends them to save itself is of no use (spec 7.5)."""
    return f"{pod.name} is critical, and is to go" if pod.critical else None


def evictions_are_published_first(pod: PodSeen, status: Json) -> str | None:
    """An eviction must be written before the pod is killed (pains 12).

    Otherwise the next agent forgets it, and kills another pod.
    """
    if status.get("reason") == "Evicted" and pod.phase not in ENDED and pod.containers and not pod.doomed:
        return f"{pod.name} was evicted, and nobody had published that it would be"
    return None


def what_is_in_use_stays(image: Image, users: list[str]) -> str | None:
    """A container whose image has gone cannot be made again, and some runtimes lose its layers (pains 11)."""
    return f"{', '.join(image.repo_tags)} was removed, and {users[0]} is made of it" if users else None


def what_is_leased_stays(image: Image, leased: bool) -> str | None:
    """An image that a starting pod has leased must stay (pains 11).

    The pod has looked for it. Without the image it pulls again, or fails.
    """
    if image.pinned:
        return f"{', '.join(image.repo_tags)} is pinned, and was removed"
    return f"{', '.join(image.repo_tags)} was removed, and a pod has a lease of it" if leased else None


OF_STARTS: tuple[Callable[[PodSeen, str, ContainerSeen], str | None], ...] = (
    never_two_live_containers,
    never_means_once,
    an_ended_pod_stays_ended,
    the_steady_start_once,
)
OF_STATUSES: tuple[Callable[[PodSeen, Json], str | None], ...] = (
    phase_never_goes_back,
    restart_counts_never_fall,
    the_ended_do_not_run,
    success_is_earned,
    the_steady_stay_ready,
    few_writes_on_the_way,
    evictions_are_published_first,
)
_OF_THE_ENDED = (the_ended_do_not_run, success_is_earned)
_OF_MIXES = (the_steady_stay_ready, few_writes_on_the_way)
OF_PLAIN_STATUSES = tuple([rule for rule in OF_STATUSES if rule not in _OF_THE_ENDED + _OF_MIXES])
"""The rules for a pod that has not ended and whose mix has no rules of its own."""


def asks_of_statuses(mix: PodMix | None) -> bool:
    """Whether the mix asks for more than what holds of every pod."""
    return mix is not None and (mix.steady or mix.writes_until_running is not None)


# --- when the agent does something ------------------------------------------------------------------------------------


def no_live_volume_is_touched(pod: PodSeen, operation: str) -> str | None:
    """Volumes of a running pod must stay mounted and unremoved (pains 6).

    A database writes on until it has stopped.
    """
    return f"{operation}, of {pod.name}, whose {', '.join(pod.live())} runs" if pod.live() else None


def probes_come_in_time(pod: PodSeen, container: str, kind: str, gap_ns: int) -> str | None:
    """A probe that comes late is taken for a failure of its container, or hides one (pains 13)."""
    if pod.mix is None or pod.mix.probed_within is None:
        return None
    late_ns = gap_ns - probes_of(pod.mix, container).get(kind, 0) * SECOND_NS
    return _too_long(f"the {kind} probe of {container} of {pod.name} came {{}} late", late_ns, pod.mix.probed_within)


def probes_of(mix: PodMix, container: str) -> dict[str, int]:
    """Kinds of probes of that container -> seconds between two."""
    for each in mix.containers:
        if each.name == container:
            both = {"readiness": each.readiness_every, "liveness": each.liveness_every}
            return {kind: every for kind, every in both.items() if every}
    return {}


OF_GONE: tuple[Callable[[PodSeen, int], str | None], ...] = (nothing_runs_of_the_gone, ends_in_time)


# --- words ----------------------------------------------------------------------------------------------------------


def _too_long(what: str, took_ns: int, at_most: str | None) -> str | None:
    """`what` with the time that it took, and how long it may take.

    None where it may take as long, or any time.
    """
    if at_most is None or took_ns <= duration_ns(at_most):
        return None
    return f"{what.format(f'{took_ns / SECOND_NS:g} s')}; at most {at_most} are allowed"


def name_of(rule: Callable[..., object]) -> str:
    """The rule's name in reports: `phase-never-goes-back`."""
    return rule.__name__.replace("_", "-")
