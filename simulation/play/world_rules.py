"""Rules that a whole world must keep.

`EVERY_SECOND`: checked every second, if the scenario asks for it. `AT_THE_END`: checked once, some time after all
faults were healed.

Each rule examines the world and yields a text for each violation. Rules of single changes are in
`simulation.world.invariants`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from actors.images.gc_rules import forms
from actors.model.pull_records import decode_intent, decode_record
from config.values.image_names import short_form
from config.values.quantity import parse_quantity
from runtime.cri.messages import PodSandboxState
from runtime.logs.files import HALF
from runtime.logs.pod_logs import pod_log_directory, uid_of_log_directory
from runtime.state.pull_record_files import DIRECTORY as RECORDS
from runtime.state.pull_record_files import PULLED, PULLING
from simulation.node.simulated_node import ROOT, SimulatedNode
from simulation.play.devices import prepared_in_vain
from simulation.play.resizes import half_resized, over_committed
from simulation.world.invariants import ENDED, SECOND_NS
from simulation.world.statuses import running_in
from simulation.world.world import World

# --- every second, if the scenario asks for it ------------------------------------------------------------------------


def logs_are_bounded(world: World) -> Iterator[str]:
    """The logs of a container stay within their limits, and each file is complete (pains 14).

    A disk full of logs makes the whole node fail.
    """
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
                files = tree.names_if_any(directory)
                # Rotation renames the log first and then removes surplus files, so there may be one more for a moment.
                if len(files) > at_most + 1:
                    yield f"{directory} has {len(files)} files, and {at_most} are allowed: {', '.join(files)}"
                for file in files:
                    if file.endswith(HALF):
                        yield f"{directory}/{file} is incomplete"
                    elif (size := tree.size(f"{directory}/{file}")) > limit:
                        yield f"{directory}/{file} has {size} bytes; at most {pod.mix.logs_at_most} are allowed"


def health_names_the_frozen_alone(world: World) -> Iterator[str]:
    """Health names the frozen actor and no other (pains 16).

    Health that names nobody hides a fault. A false alarm restarts an agent that works.
    """
    for name, node in world.nodes.items():
        frozen = world.frozen.get(name)
        late = {actor.path for actor in node.node.late_actors()}
        for path in sorted(late):
            if frozen is None or path != frozen.path:
                yield f"the health of {name} names {path}, which is not frozen"
        if frozen is not None and frozen.must_be_known(world.now_ns()) and frozen.path not in late:
            since_ns = frozen.wanted_ns
            which = "has had no message" if since_ns is None else f"has had work since {since_ns / SECOND_NS:g} s"
            yield f"the health of {name} does not name the frozen {frozen.path}, which {which}"


EVERY_SECOND: tuple[Callable[[World], Iterator[str]], ...] = (
    logs_are_bounded,
    health_names_the_frozen_alone,
    over_committed,
)


# --- at the end, some time after all faults were healed ---------------------------------------------------------------


def unsettled(world: World) -> Iterator[str]:
    """Differences from the desired state. A healed world must have none."""
    for name in world.nodes:
        if not world.chronicle.nodes_ready.get(name):
            yield f"node {name} is not Ready"
        elif world.chronicle.stands_still(name):
            yield f"the agent of {name} does not run"
        elif world.chronicle.renewed_ns(name) < world.healed_ns:
            yield f"the agent of {name} has not renewed its lease since all faults were healed"
    for pod in world.chronicle.pods.values():
        if pod.mix is not None and pod.mix.hopeless and pod.mix.greedy is None:
            continue
        if pod.deleted_ns is not None:
            yield f"{pod.name} was deleted and is still there"
        elif pod.mix is not None and pod.mix.hopeless:
            continue
        elif pod.phase not in ENDED and not (pod.phase == "Running" and pod.ready):
            yield f"{pod.name} is {pod.phase or 'without a phase'}{'' if pod.ready else ', not ready'}"
        elif pod.phase in ENDED and pod.restart_policy == "Always" and not pod.doomed:
            yield f"{pod.name} is {pod.phase}, although it runs for ever and nobody has ended it"


def untrue(world: World) -> Iterator[str]:
    """A status in the API that differs from the runtime, although nothing happens any more (pains 2, 3).

    If an agent misses the death of a container, no later event reports it.
    """
    for pod in world.chronicle.pods.values():
        if pod.mix is None or not pod.ready or pod.deleted_ns is not None:
            continue
        live = pod.live()
        for container in pod.mix.containers:
            if container.name not in live:
                yield f"{pod.name} is shown as ready, but its container {container.name} does not run"
        shown = world.server.store.get("pods", "default", pod.name)
        if shown is not None and not pod.mix.hopeless and running_in(shown.object["status"]) != pod.live_ids():
            yield f"the status of {pod.name} does not show the containers that run: {', '.join(sorted(pod.live_ids()))}"


def unprobed(world: World) -> Iterator[str]:
    """Containers that are no longer probed: their failures stay hidden (pains 13)."""
    yield from world.chronicle.unprobed()


def other_than_its_manifest(world: World) -> Iterator[str]:
    """Static pods that do not run as the newest version of their manifest (pains 7).

    Each manifest has exactly one running pod, and a removed manifest has none.
    """
    for pod in world.static_pods.all():
        wanted = [] if pod.version is None else [pod.version]
        for name in [container.name for container in pod.mix.containers]:
            live = sorted(pod.live.get(name, {}).values())
            if live != wanted:
                yield f"container {name} of static pod {pod.name} runs in versions {live}, but should run in {wanted}"


def left_behind(world: World) -> Iterator[str]:
    """What nodes still have of removed pods: it fills disks and tables (pains 6, 15)."""
    there = world.chronicle.pods.keys() | world.static_pods.uids()
    for name, node in world.nodes.items():
        state = node.cri.state
        for sandbox in state.sandboxes.values():
            if sandbox.pod_uid not in there:
                yield f"{name} still has sandbox {sandbox.name} of a pod that is gone"
        for uid in sorted(node.cgroups.pods().keys() - there):
            yield f"{name} still has the cgroup of pod {uid}, which is gone"
        directory = f"{ROOT}/pods"
        for uid in node.host.tree.names_if_any(directory):
            if uid not in there:
                yield f"{name} still has the directory of pod {uid}, which is gone"
        for path in sorted(node.volumes.mounted):
            if path.startswith(f"{directory}/") and path.removeprefix(f"{directory}/").partition("/")[0] not in there:
                yield f"{name} still has the mount {path} of a pod that is gone"
        yield from _logs_left(node, name, there)


def _logs_left(node: SimulatedNode, name: str, there: AbstractSet[str]) -> Iterator[str]:
    tree, logs = node.host.tree, node.plan.configuration.pod_logs_dir
    for directory in tree.names_if_any(logs):
        if uid_of_log_directory(directory) not in there:
            yield f"{name} still has the logs {logs}/{directory} of a pod that is gone"
    links = node.plan.facts.container_logs_directory
    for link in tree.dead_links_in(links, f"{logs}/"):
        yield f"{name} still has the link {links}/{link} to a log that is gone"


def out_of_bounds(world: World) -> Iterator[str]:
    """Pods that run outside their cgroup: they use resources that others were promised (spec 10.2)."""
    for name, node in world.nodes.items():
        bounded = node.cgroups.pods()
        for sandbox in node.cri.state.sandboxes.values():
            linux = sandbox.config.linux
            parent = "" if linux is None else linux.cgroup_parent
            if sandbox.state is PodSandboxState.SANDBOX_READY and bounded.get(sandbox.pod_uid) != parent:
                yield f"sandbox {sandbox.name} on {name} is in the cgroup {parent!r}, which is not that of its pod"


def unsaid(world: World) -> Iterator[str]:
    """Stuck pods without the event that their mix requires (pains 1, 16)."""
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
            yield f"{pod.name} has no event {pod.mix.says}" + (f" that says: {words}" if words else "")


def under_pressure(world: World) -> Iterator[str]:
    """Nodes that still show pressure after a shortage is over (spec 7.2): they get no more pods."""
    for name, pressures in world.chronicle.pressures.items():
        if pressures:
            yield f"node {name} shows {', '.join(pressures)}, although it is short of nothing"


def forgotten_victims(world: World) -> Iterator[str]:
    """Victims that an earlier agent chose for eviction, and the next one has not ended (pains 12)."""
    for pod in world.chronicle.pods.values():
        if pod.doomed and pod.phase not in ENDED:
            yield f"{pod.name} was chosen for eviction, but is {pod.phase}"


def pulled_by_nobody(world: World) -> Iterator[str]:
    """Image records without an image, and images without a record (spec 6.4).

    An image without a record is open to every pod. A record without its image is never removed.
    """
    for name, node in world.nodes.items():
        tree, images = node.host.tree, node.cri.state.images
        pulled, pulling = (f"{ROOT}/{RECORDS}/{each}" for each in (PULLED, PULLING))
        recorded = {decode_record(tree.read(f"{pulled}/{file}")).image_ref for file in tree.names_if_any(pulled)}
        intended = {short_form(decode_intent(tree.read(f"{pulling}/{file}"))) for file in tree.names_if_any(pulling)}
        for ref in sorted(recorded - images.keys()):
            yield f"{name} has a record of image {ref}, which is gone"
        for ref, image in images.items():
            if ref not in recorded | node.cri.preloaded and forms(image).isdisjoint(intended):
                yield f"{name} has image {', '.join(image.repo_tags) or ref}, and no record of who pulled it"


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
    pulled_by_nobody,
    half_resized,
    prepared_in_vain,
)
