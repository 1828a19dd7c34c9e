"""What must hold of every world, at every change: each rule a few lines, with its reason.

A rule gets what was seen so far (`simulation.world.chronicle`) and what is new, and says what is wrong, or None. Rules of
starts are asked when a container begins to run, of statuses when the API shows one, of gone pods when an object is
removed; `at_the_end` is asked of a world that was healed and given its time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from config.values.quantity import parse_quantity
from runtime.cri.messages import PodSandboxState
from runtime.logs.files import HALF
from runtime.logs.pod_logs import pod_log_directory, uid_of_log_directory
from simulation.cri.behaviour_values import duration_ns
from simulation.node.simulated_node import ROOT

if TYPE_CHECKING:
    from runtime.cri.messages import Image
    from simulation.cri.state import ContainerRecord
    from simulation.node.simulated_node import SimulatedNode
    from simulation.scenarios.pods import PodMix
    from simulation.world.chronicle import ContainerSeen, PodSeen
    from simulation.world.static_pods import StaticPod
    from simulation.world.world import World

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
    if phase == pod.phase:
        return None
    back = _ORDER[phase] < _ORDER[pod.phase] or pod.phase in ENDED
    return f"{pod.name} was {pod.phase} and is {phase}" if back else None


def restart_counts_never_fall(pod: PodSeen, status: Json) -> str | None:
    """Alerts watch the rise of these counts; an agent that forgets must not take them back (pains 8)."""
    before = pod.restarts_before
    return f"{pod.name} had {before} restarts and has {pod.restarts}" if pod.restarts < before else None


def the_ended_do_not_run(pod: PodSeen, status: Json) -> str | None:
    """Succeeded and Failed free what the pod had; so all of it must have stopped before (spec 4)."""
    if status.get("phase") in ENDED and pod.live():
        return f"{pod.name} is {status['phase']} while {', '.join(pod.live())} runs"
    return None


def success_is_earned(pod: PodSeen, status: Json) -> str | None:
    """Who waits for a job goes on when it has Succeeded; what failed last has not done it (spec 4)."""
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
    """Who waits to hear of a death waits for the node: one sick pod must not slow down the others (pains 1)."""
    if pod.mix is None or pod.mix.shown_within is None or pod.unshown_since_ns is None or pod.deleted_ns is not None:
        return None
    took_ns = pod.now_ns - pod.unshown_since_ns
    if took_ns <= duration_ns(pod.mix.shown_within):
        return None
    what = f"it took {took_ns / SECOND_NS:g} s until it was shown which containers of {pod.name} run"
    return f"{what}; at most {pod.mix.shown_within} are allowed"


def few_writes_on_the_way(pod: PodSeen, status: Json) -> str | None:
    """An API server serves thousands of nodes; a pod that starts is worth one write of its status (pains 9)."""
    if pod.mix is None or pod.mix.writes_until_running is None or pod.running_ns is not None:
        return None
    if pod.writes <= pod.mix.writes_until_running:
        return None
    return f"the status of {pod.name} is written for the {pod.writes}. time, and it is not shown Running yet"


# --- of pods whose manifests lie on a node ----------------------------------------------------------------------------


def one_live_incarnation(pod: StaticPod, now_ns: int, version: int) -> str | None:
    """Two static pods of one name use the same ports and files; the old one must have stopped before (pains 7)."""
    for name, live in pod.live.items():
        if len(live) > 1:
            return f"container {name} of the static pod {pod.name} runs as versions {sorted(live.values())}"
    return None


def the_newest_starts_in_time(pod: StaticPod, now_ns: int, version: int) -> str | None:
    """Manifests are what an API server itself is started from: they cannot wait for one (pains 7)."""
    if pod.runs or version != pod.version or pod.mix.starts_within is None:
        return None
    took_ns = now_ns - pod.since_ns
    if took_ns <= duration_ns(pod.mix.starts_within):
        return None
    what = f"version {version} of the static pod {pod.name}"
    return f"{what} took {took_ns / SECOND_NS:g} s to run; at most {pod.mix.starts_within} are allowed"


OF_STATIC_STARTS: tuple[Callable[[StaticPod, int, int], str | None], ...] = (
    one_live_incarnation,
    the_newest_starts_in_time,
)


# --- when a pod was removed from the API ------------------------------------------------------------------------------


def nothing_runs_of_the_gone(pod: PodSeen, now_ns: int) -> str | None:
    """A name that is free is used again: by a StatefulSet, for the same disk (spec 2)."""
    return f"{pod.name} is gone from the API while {', '.join(pod.live())} runs" if pod.live() else None


def of_the_gone(record: ContainerRecord) -> str:
    """The same, of one that begins to run when its pod has gone, or never was."""
    return f"container {record.name} begins to run, and the API has no such pod"


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


# --- when an agent has decided, or removed something ------------------------------------------------------------------


def one_kill_for_one_reading(kills: int, fresh_readings: int) -> str | None:
    """Who ends two pods by what it has seen once has ended one too many (pains 12, spec 7.2)."""
    if kills <= min(1, fresh_readings):
        return None
    return f"{kills} pods are to go by {fresh_readings} new looks at the node"


def a_critical_pod_stays(pod: PodSeen) -> str | None:
    """The cluster itself is made of them: a node that ends them to save itself is of no use (spec 7.5)."""
    return f"{pod.name} is critical, and is to go" if pod.critical else None


def evictions_are_published_first(pod: PodSeen, status: Json) -> str | None:
    """Who is killed before that is written down is forgotten by the next agent, which kills another (pains 12)."""
    if status.get("reason") == "Evicted" and pod.phase not in ENDED and pod.containers and not pod.doomed:
        return f"{pod.name} was evicted, and nobody had published that it would be"
    return None


def what_is_in_use_stays(image: Image, users: list[str]) -> str | None:
    """A container whose image has gone cannot be made again, and some runtimes lose its layers (pains 11)."""
    return f"{', '.join(image.repo_tags)} was removed, and {users[0]} is made of it" if users else None


def what_is_leased_stays(image: Image, leased: bool) -> str | None:
    """A pod that starts has looked: who removes its image then has it pulled again, or fails the start (pains 11)."""
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
"""Those that can say something of a pod that has not ended, and of which its mix asks nothing by itself."""


def asks_of_statuses(mix: PodMix | None) -> bool:
    """Whether the mix asks for more than what holds of every pod."""
    return mix is not None and (mix.steady or mix.writes_until_running is not None)


# --- when the agent does something ------------------------------------------------------------------------------------


def no_live_volume_is_touched(pod: PodSeen, deed: str) -> str | None:
    """A database writes on until it has stopped: nothing is unmounted under it, and nothing removed (pains 6)."""
    return f"{deed}, of {pod.name}, whose {', '.join(pod.live())} runs" if pod.live() else None


def probes_come_in_time(pod: PodSeen, container: str, kind: str, gap_ns: int) -> str | None:
    """A probe that comes late is taken for a failure of its container, or hides one (pains 13)."""
    if pod.mix is None or pod.mix.probed_within is None:
        return None
    late_ns = gap_ns - probes_of(pod.mix, container).get(kind, 0) * SECOND_NS
    if late_ns <= duration_ns(pod.mix.probed_within):
        return None
    what = f"the {kind} probe of {container} of {pod.name} came {late_ns / SECOND_NS:g} s late"
    return f"{what}; at most {pod.mix.probed_within} are allowed"


def probes_of(mix: PodMix, container: str) -> dict[str, int]:
    """Kinds of probes of that container -> seconds between two."""
    for each in mix.containers:
        if each.name == container:
            both = {"readiness": each.readiness_every, "liveness": each.liveness_every}
            return {kind: every for kind, every in both.items() if every}
    return {}


# --- every second, of worlds whose scenario asks for it ---------------------------------------------------------------


def logs_are_bounded(world: World) -> Iterator[str]:
    """A disk that is full of logs takes the node with it; half a file is none that anybody can read (pains 14)."""
    for name, node in world.nodes.items():
        tree = node.host.tree
        at_most = node.plan.configuration.container_log_max_files
        for uid, pod in world.chronicle.pods.items():
            if pod.mix is None or pod.mix.logs_at_most is None or pod.node != name:
                continue
            logs = pod_log_directory(node.plan.configuration.pod_logs_dir, "default", pod.name, uid)
            limit = parse_quantity(pod.mix.logs_at_most).value()
            for container in pod.mix.containers:
                directory = f"{logs}/{container.name}"
                files = tree.names_in(directory) if tree.is_directory(directory) else []
                # One more for a moment: the log has a new name, and what is too many goes after that.
                if len(files) > at_most + 1:
                    yield f"{directory} holds {len(files)} files: {', '.join(files)}"
                for file in files:
                    if file.endswith(HALF):
                        yield f"{directory}/{file} is half a file"
                    elif (size := tree.size(f"{directory}/{file}")) > limit:
                        yield f"{directory}/{file} has {size} bytes; at most {pod.mix.logs_at_most} are allowed"


def health_names_the_frozen_alone(world: World) -> Iterator[str]:
    """Health that stays silent hides what is wrong, and health that cries restarts what is well (pains 16)."""
    for name, node in world.nodes.items():
        frozen = world.frozen.get(name)
        late = {actor.path for actor in node.node.late_actors()}
        for path in sorted(late):
            if frozen is None or path != frozen.path:
                yield f"health of {name} names {path}, which is well"
        if frozen is not None and frozen.must_be_known(world.now_ns()) and frozen.path not in late:
            since_ns = frozen.wanted_ns
            which = "nobody has even asked" if since_ns is None else f"has had work since {since_ns / SECOND_NS:g} s"
            yield f"health of {name} does not name {frozen.path}, which {which}"


EVERY_SECOND: tuple[Callable[[World], Iterator[str]], ...] = (logs_are_bounded, health_names_the_frozen_alone)


OF_GONE: tuple[Callable[[PodSeen, int], str | None], ...] = (nothing_runs_of_the_gone, ends_in_time)


# --- when all has been healed -----------------------------------------------------------------------------------------


def unsettled(world: World) -> Iterator[str]:
    """What is not as desired. Nothing is left once a healed world had its time."""
    for name in world.nodes:
        if not world.chronicle.nodes_ready.get(name):
            yield f"node {name} is not Ready"
        elif world.chronicle.stands_still(name):
            yield f"the agent of {name} is away"
        elif world.chronicle.renewed_ns(name) < world.healed_ns:
            yield f"the agent of {name} has given no sign of life since all was healed"
    for pod in world.chronicle.pods.values():
        if pod.mix is not None and pod.mix.hopeless:
            continue
        if pod.deleted_ns is not None:
            yield f"{pod.name} was deleted and is still there"
        elif pod.phase not in ENDED and not (pod.phase == "Running" and pod.ready):
            yield f"{pod.name} is {pod.phase or 'nothing'}{'' if pod.ready else ', not ready'}"
        elif pod.phase in ENDED and pod.restart_policy == "Always" and not pod.doomed:
            yield f"{pod.name} is {pod.phase}, and nobody had ended what is to run for ever"


def untrue(world: World) -> Iterator[str]:
    """What the API shows at rest is what the runtime has: a death that was missed is told by nobody (pains 2, 3)."""
    for pod in world.chronicle.pods.values():
        if pod.mix is None or not pod.ready or pod.deleted_ns is not None:
            continue
        live = pod.live()
        for container in pod.mix.containers:
            if container.name not in live:
                yield f"{pod.name} is shown ready, and its container {container.name} does not run"
        shown = world.server.store.get("pods", "default", pod.name)
        if shown is not None and not pod.mix.hopeless and running_in(shown.object["status"]) != pod.live_ids():
            yield f"{pod.name} is shown to run other containers than {', '.join(sorted(pod.live_ids()))}, which run"


def unprobed(world: World) -> Iterator[str]:
    """A probe that never comes hides what fails, and nobody sees that it is late (pains 13)."""
    yield from world.chronicle.unprobed()


def other_than_its_manifest(world: World) -> Iterator[str]:
    """One pod runs of each manifest, as it was written last, and nothing of those that were removed (pains 7)."""
    for pod in world.static_pods.all():
        wanted = [] if pod.version is None else [pod.version]
        for name in [container.name for container in pod.mix.containers]:
            live = sorted(pod.live.get(name, {}).values())
            if live != wanted:
                yield f"container {name} of the static pod {pod.name} runs as versions {live}, and {wanted} are wanted"


def left_behind(world: World) -> Iterator[str]:
    """What nodes keep of pods that are no more: it fills disks and tables for ever (pains 6, 15)."""
    there = world.chronicle.pods.keys() | world.static_pods.uids()
    for name, node in world.nodes.items():
        state = node.cri.state
        for sandbox in state.sandboxes.values():
            if sandbox.pod_uid not in there:
                yield f"sandbox {sandbox.name} of a pod that is gone is left on {name}"
        for uid in sorted(node.cgroups.pods().keys() - there):
            yield f"the cgroup of pod {uid}, which is gone, is left on {name}"
        directory = f"{ROOT}/pods"
        if node.host.tree.is_directory(directory):
            for uid in node.host.tree.names_in(directory):
                if uid not in there:
                    yield f"the directory of pod {uid}, which is gone, is left on {name}"
        for path in sorted(node.volumes.mounted):
            if path.startswith(f"{directory}/") and path.removeprefix(f"{directory}/").partition("/")[0] not in there:
                yield f"{path}, a mount of a pod that is gone, is left on {name}"
        yield from _logs_left(node, name, there)


def _logs_left(node: SimulatedNode, name: str, there: AbstractSet[str]) -> Iterator[str]:
    tree, logs = node.host.tree, node.plan.configuration.pod_logs_dir
    if tree.is_directory(logs):
        for directory in tree.names_in(logs):
            if uid_of_log_directory(directory) not in there:
                yield f"{logs}/{directory}, logs of a pod that is gone, are left on {name}"
    links = node.plan.facts.container_logs_directory
    for link in tree.dead_links_in(links, f"{logs}/"):
        yield f"{links}/{link}, which leads to a log that is gone, is left on {name}"


def out_of_bounds(world: World) -> Iterator[str]:
    """A pod that runs outside of its cgroup takes from others what was promised to them (spec 10.2)."""
    for name, node in world.nodes.items():
        bounded = node.cgroups.pods()
        for sandbox in node.cri.state.sandboxes.values():
            linux = sandbox.config.linux
            parent = "" if linux is None else linux.cgroup_parent
            if sandbox.state is PodSandboxState.SANDBOX_READY and bounded.get(sandbox.pod_uid) != parent:
                yield f"sandbox {sandbox.name} on {name} is in {parent or 'no cgroup of ours'}, which is not its pod's"


def unsaid(world: World) -> Iterator[str]:
    """Who is stuck is told so by name, or nobody finds out (pains 1, 16)."""
    wanted = [pod for pod in world.chronicle.pods.values() if pod.mix is not None and pod.mix.says]
    if not wanted:
        return
    said: dict[tuple[str, str], list[str]] = {}
    for event in world.events():
        said.setdefault((event["involvedObject"]["name"], event.get("reason", "")), []).append(event.get("message", ""))
    for pod in wanted:
        assert pod.mix is not None
        words = pod.mix.tells or ""
        if not any(words in message for message in said.get((pod.name, pod.mix.says or ""), ())):
            yield f"no event {pod.mix.says} tells of {pod.name}" + (f": {words}" if words else "")


def under_pressure(world: World) -> Iterator[str]:
    """A shortage that is over is over for the cluster, too: a node that never says so gets no more pods (spec 7.2)."""
    for name, pressures in world.chronicle.pressures.items():
        if pressures:
            yield f"node {name} has {', '.join(pressures)}, and is short of nothing"


def forgotten_victims(world: World) -> Iterator[str]:
    """Whom one agent has decided on the next one ends, and nobody else instead (pains 12)."""
    for pod in world.chronicle.pods.values():
        if pod.doomed and pod.phase not in ENDED:
            yield f"{pod.name} was to be evicted, and is {pod.phase}"


AT_THE_END: tuple[Callable[[World], Iterator[str]], ...] = (
    unsettled,
    untrue,
    unprobed,
    left_behind,
    out_of_bounds,
    other_than_its_manifest,
    unsaid,
    under_pressure,
    forgotten_victims,
)


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


def running_in(status: Json) -> set[str]:
    """Ids of the containers that are shown to run."""
    return {
        each.get("containerID", "").rpartition("/")[2]
        for each in status.get("containerStatuses") or ()
        if (each.get("state") or {}).get("running") is not None
    }


def pressures_in(status: Json) -> list[str]:
    """Types of the conditions of pressure of a node that are true."""
    found = status.get("conditions") or ()
    return [each["type"] for each in found if each["type"].endswith("Pressure") and each["status"] == "True"]


def restarts_in(status: Json) -> int:
    """Of all containers together."""
    restarts = 0
    for each in status.get("containerStatuses") or ():
        restarts += each.get("restartCount", 0)
    return restarts
