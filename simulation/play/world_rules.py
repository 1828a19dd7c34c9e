"""Rules of a whole world: checked every second if its scenario asks for it, or at the end.

At the end, all was healed.

Each rule is a few lines with its reason. It examines the world and yields violations. Rules of single changes are in
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
from simulation.play.resizes import half_resized, over_committed
from simulation.world.invariants import ENDED, SECOND_NS
from simulation.world.statuses import running_in
from simulation.world.world import World

# --- every second, of worlds whose scenario asks for it ---------------------------------------------------------------


def logs_are_bounded(world: World) -> Iterator[str]:
    """A disk that is full of logs takes the node with it.

    Half a file is none that anybody can read (pains 14).
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
                # One more for a moment: the log has a new name, and what is too many goes after that.
                if len(files) > at_most + 1:
                    yield f"{directory} holds {len(files)} files: {', '.join(files)}"
                for file in files:
                    if file.endswith(HALF):
                        yield f"{directory}/{file} is half a file"
                    elif (size := tree.size(f"{directory}/{file}")) > limit:
                        yield f"{directory}/{file} has {size} bytes; at most {pod.mix.logs_at_most} are allowed"


def health_names_the_frozen_alone(world: World) -> Iterator[str]:
    """Health must name the frozen actor and no other (pains 16).

    Silent health hides a fault; false alarms restart what is well.
    """
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


EVERY_SECOND: tuple[Callable[[World], Iterator[str]], ...] = (
    logs_are_bounded,
    health_names_the_frozen_alone,
    over_committed,
)


# --- when all has been healed -----------------------------------------------------------------------------------------


def unsettled(world: World) -> Iterator[str]:
    """Differences from the desired state. A healed world must have none after its time."""
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
    """A status in the API that differs from the runtime at rest (pains 2, 3).

    No later event would report a death that was missed.
    """
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
    """Containers whose probes never come: their failures stay hidden (pains 13)."""
    yield from world.chronicle.unprobed()


def other_than_its_manifest(world: World) -> Iterator[str]:
    """A pod that does not run as its manifest was written last (pains 7).

    One pod runs of each manifest, and none of removed manifests.
    """
    for pod in world.static_pods.all():
        wanted = [] if pod.version is None else [pod.version]
        for name in [container.name for container in pod.mix.containers]:
            live = sorted(pod.live.get(name, {}).values())
            if live != wanted:
                yield f"container {name} of the static pod {pod.name} runs as versions {live}, and {wanted} are wanted"


def left_behind(world: World) -> Iterator[str]:
    """Leftovers of removed pods on nodes: they fill disks and tables for ever (pains 6, 15)."""
    there = world.chronicle.pods.keys() | world.static_pods.uids()
    for name, node in world.nodes.items():
        state = node.cri.state
        for sandbox in state.sandboxes.values():
            if sandbox.pod_uid not in there:
                yield f"sandbox {sandbox.name} of a pod that is gone is left on {name}"
        for uid in sorted(node.cgroups.pods().keys() - there):
            yield f"the cgroup of pod {uid}, which is gone, is left on {name}"
        directory = f"{ROOT}/pods"
        for uid in node.host.tree.names_if_any(directory):
            if uid not in there:
                yield f"the directory of pod {uid}, which is gone, is left on {name}"
        for path in sorted(node.volumes.mounted):
            if path.startswith(f"{directory}/") and path.removeprefix(f"{directory}/").partition("/")[0] not in there:
                yield f"{path}, a mount of a pod that is gone, is left on {name}"
        yield from _logs_left(node, name, there)


def _logs_left(node: SimulatedNode, name: str, there: AbstractSet[str]) -> Iterator[str]:
    tree, logs = node.host.tree, node.plan.configuration.pod_logs_dir
    for directory in tree.names_if_any(logs):
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
    """Stuck pods without the event that their mix demands (pains 1, 16)."""
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
    """A node that still shows pressure after a shortage is over (spec 7.2).

    It gets no more pods.
    """
    for name, pressures in world.chronicle.pressures.items():
        if pressures:
            yield f"node {name} has {', '.join(pressures)}, and is short of nothing"


def forgotten_victims(world: World) -> Iterator[str]:
    """Victims of an earlier agent that the next one has not ended (pains 12)."""
    for pod in world.chronicle.pods.values():
        if pod.doomed and pod.phase not in ENDED:
            yield f"{pod.name} was to be evicted, and is {pod.phase}"


def pulled_by_nobody(world: World) -> Iterator[str]:
    """Image records without an image, and images without a record (spec 6.4).

    An image without a record is open to every pod; a record without its image stays for ever.
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
)
