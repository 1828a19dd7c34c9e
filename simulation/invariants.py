"""What must hold of every world, at every change: each rule a few lines, with its reason.

A rule gets what was seen so far (`simulation.chronicle`) and what is new, and says what is wrong, or None. Rules of
starts are asked when a container begins to run, of statuses when the API shows one, of gone pods when an object is
removed; `at_the_end` is asked of a world that was healed and given its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from simulation.cri.behaviour_values import duration_ns
from simulation.simulated_node import ROOT

if TYPE_CHECKING:
    from simulation.chronicle import ContainerSeen, PodSeen
    from simulation.world import World

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
    """Who has read Succeeded or Failed has gone on: its work is not begun again (spec 4)."""
    return f"container {name} of {pod.name} starts after the pod was {pod.phase}" if pod.phase in ENDED else None


def the_steady_start_once(pod: PodSeen, name: str, seen: ContainerSeen) -> str | None:
    """What happens to the agent or to its ways is no reason to disturb a container (pains 8)."""
    if pod.mix is not None and pod.mix.steady and seen.starts > 1:
        return f"container {name} of {pod.name} starts for the {seen.starts}. time, and nothing had ended it"
    return None


# --- when the API shows a status --------------------------------------------------------------------------------------


def phase_never_goes_back(pod: PodSeen, status: Json) -> str | None:
    """Controllers act on phases once; one that goes back was a lie (spec 4)."""
    phase = status.get("phase", "")
    back = _ORDER[phase] < _ORDER[pod.phase] or (pod.phase in ENDED and phase != pod.phase)
    return f"{pod.name} was {pod.phase} and is {phase}" if back else None


def restart_counts_never_fall(pod: PodSeen, status: Json) -> str | None:
    """Alerts watch the rise of these counts; an agent that forgets must not take them back (pains 8)."""
    restarts = restarts_in(status)
    return f"{pod.name} had {pod.restarts} restarts and has {restarts}" if restarts < pod.restarts else None


def the_ended_do_not_run(pod: PodSeen, status: Json) -> str | None:
    """Succeeded and Failed free what the pod had; so all of it must have stopped before (spec 4)."""
    if status.get("phase") in ENDED and pod.live():
        return f"{pod.name} is {status['phase']} while {', '.join(pod.live())} runs"
    return None


def the_steady_stay_ready(pod: PodSeen, status: Json) -> str | None:
    """An endpoint that flickers loses its clients; a restart of the agent is no reason for it (pains 8)."""
    steady = pod.mix is not None and pod.mix.steady and pod.deleted_ns is None
    return f"{pod.name} was ready and is not" if steady and pod.was_ready and not is_ready(status) else None


# --- when a pod was removed from the API ------------------------------------------------------------------------------


def nothing_runs_of_the_gone(pod: PodSeen, now_ns: int) -> str | None:
    """A name that is free is used again: by a StatefulSet, for the same disk (spec 2)."""
    return f"{pod.name} is gone from the API while {', '.join(pod.live())} runs" if pod.live() else None


def ends_in_time(pod: PodSeen, now_ns: int) -> str | None:
    """A pod stuck in Terminating holds up a rollout, and its node (pains 5)."""
    if pod.mix is None or pod.mix.ends_within is None or pod.deleted_ns is None:
        return None
    took_ns = now_ns - pod.deleted_ns
    if took_ns <= duration_ns(pod.mix.ends_within):
        return None
    return f"{pod.name} took {took_ns / SECOND_NS:g} s to end; at most {pod.mix.ends_within} are allowed"


def starts_in_time(pod: PodSeen) -> str | None:
    """Trouble of one pod is no trouble of others (pains 1, 4, 9, 10). Asked when a pod is first shown Running, or is
    deleted before it was.
    """
    until_ns = pod.deleted_ns if pod.running_ns is None else pod.running_ns
    if pod.mix is None or pod.mix.starts_within is None or until_ns is None:
        return None
    took_ns = until_ns - pod.created_ns
    if took_ns <= duration_ns(pod.mix.starts_within):
        return None
    if pod.running_ns is None:
        return f"{pod.name} did not run for {took_ns / SECOND_NS:g} s; at most {pod.mix.starts_within} are allowed"
    return f"{pod.name} took {took_ns / SECOND_NS:g} s to run; at most {pod.mix.starts_within} are allowed"


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
    the_steady_stay_ready,
)
OF_GONE: tuple[Callable[[PodSeen, int], str | None], ...] = (nothing_runs_of_the_gone, ends_in_time)


# --- when all has been healed -----------------------------------------------------------------------------------------


def unsettled(world: World) -> Iterator[str]:
    """What is not as desired. Nothing is left once a healed world had its time."""
    for name, ready in world.chronicle.nodes_ready.items():
        if not ready:
            yield f"node {name} is not Ready"
    for pod in world.chronicle.pods.values():
        if pod.mix is not None and pod.mix.hopeless:
            continue
        if pod.deleted_ns is not None:
            yield f"{pod.name} was deleted and is still there"
        elif pod.phase not in ENDED and not (pod.phase == "Running" and pod.ready):
            yield f"{pod.name} is {pod.phase or 'nothing'}{'' if pod.ready else ', not ready'}"


def untrue(world: World) -> Iterator[str]:
    """What the API shows at rest is what the runtime has: a death that was missed is told by nobody (pains 2, 3)."""
    for pod in world.chronicle.pods.values():
        if pod.mix is None or not pod.ready or pod.deleted_ns is not None:
            continue
        live = pod.live()
        for container in pod.mix.containers:
            if container.name not in live:
                yield f"{pod.name} is shown ready, and its container {container.name} does not run"


def left_behind(world: World) -> Iterator[str]:
    """What nodes keep of pods that are no more: it fills disks and tables for ever (pains 6, 15)."""
    there = world.chronicle.pods
    for name, node in world.nodes.items():
        state = node.cri.state
        for sandbox in state.sandboxes.values():
            if sandbox.pod_uid not in there:
                yield f"sandbox {sandbox.name} of a pod that is gone is left on {name}"
        directory = f"{ROOT}/pods"
        if node.host.tree.is_directory(directory):
            for uid in node.host.tree.names_in(directory):
                if uid not in there:
                    yield f"the directory of pod {uid}, which is gone, is left on {name}"


def unsaid(world: World) -> Iterator[str]:
    """Who is stuck is told so by name, or nobody finds out (pains 1, 16)."""
    wanted = [pod for pod in world.chronicle.pods.values() if pod.mix is not None and pod.mix.says]
    if not wanted:
        return
    said = {(event["involvedObject"]["name"], event.get("reason")) for event in world.events()}
    for pod in wanted:
        assert pod.mix is not None
        if (pod.name, pod.mix.says) not in said:
            yield f"no event {pod.mix.says} tells of {pod.name}"


AT_THE_END: tuple[Callable[[World], Iterator[str]], ...] = (unsettled, untrue, left_behind, unsaid)


# --- reading ----------------------------------------------------------------------------------------------------------


def name_of(rule: Callable[..., object]) -> str:
    """As reports call it: `phase-never-goes-back`."""
    return rule.__name__.replace("_", "-")


def is_ready(status: Json) -> bool:
    """The condition Ready, of a pod or of a node."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready":
            return bool(condition.get("status") == "True")
    return False


def restarts_in(status: Json) -> int:
    """Of all containers together."""
    return sum(int(each.get("restartCount", 0)) for each in status.get("containerStatuses") or ())
