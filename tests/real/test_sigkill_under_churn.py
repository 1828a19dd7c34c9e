"""SIGKILL at random moments while pods of many kinds come and go (pains 7 and 8).

No container restarts because of it, none is started twice, none is orphaned, and nothing is left on disk. containerd's
own events are the truth.

One thing the agent cannot undo: containerd 1.6 forgets a task now and then when its caller dies, about once in two
hundred starts that are cut short. The test ends these (`Containerd.end_forgotten_tasks`) and counts them.

    tox -e kills        # or: ACTORLET_KILLS=500 python -m pytest -n 0 -s tests/real/test_sigkill_under_churn.py

The counts are printed. `ACTORLET_KILLS` is 12 when it is not set; `ACTORLET_KILLS_SEED` draws another run.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

from config.api.resources import PODS
from config.objects import Pod
from runtime.api import ApiError, WatchEvent, watch_objects
from runtime.cri.identity import POD_NAME
from tests.real import churn_pods
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster
from tests.real.containerd import Containerd
from tests.real.pods import Truth
from tests.real.remains import remains
from tests.real.task_events import TaskEvents, TaskLife, task_events
from tests.real.waiting import until

KILLS = int(os.environ.get("ACTORLET_KILLS") or 12)
SEED = int(os.environ.get("ACTORLET_KILLS_SEED") or 20261125)
AT_A_TIME = 6
STAY = ("plain", "full", "volumes")
CALM_S = 60.0
CHECK_EVERY = 50
"""Kills, between two looks at whether all is as it should be."""


class Flips:
    """Pods that were Ready and were shown as not Ready later, without a reason.

    A reason is that the pod has ended or was to go (`gone`).
    """

    def __init__(self) -> None:
        self.gone: set[str] = set()
        self._ready: set[str] = set()
        self.flipped: list[str] = []

    def told(self, event: WatchEvent[Any]) -> None:
        pod: Pod | None = event.object
        if pod is None or pod.status is None or pod.metadata.name.removesuffix(f"-{NODE}") in self.gone:
            return
        if pod.status.phase in ("Succeeded", "Failed"):
            return
        ready = any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)
        kind = pod.metadata.name.partition("-")[0]
        if ready:
            self._ready.add(pod.metadata.uid)
        elif pod.metadata.uid in self._ready and kind not in {kind for kind, _ in churn_pods.RESTARTS}:
            self.flipped.append(pod.metadata.name)

    def ended(self, error: ApiError | None) -> None:
        """With the server."""


@contextmanager
def flips_of(cluster: Cluster) -> Iterator[Flips]:
    flips = Flips()
    watch = cluster.lines.main.watch(watch_objects(PODS, resource_version="0"), flips.told, flips.ended)
    try:
        yield flips
    finally:
        watch.close()


class Churn:
    """Pods that come and go; two of three through the API, the others as manifests."""

    def __init__(self, cluster: Cluster, agent: Agent, chance: random.Random, flips: Flips) -> None:
        self._cluster, self._agent, self._chance, self._flips = cluster, agent, chance, flips
        self.names: list[str] = []
        self.made: Counter[str] = Counter()

    def one_comes(self, kind: str | None = None) -> None:
        chance = self._chance
        static = kind is None and chance.random() < 1 / 3
        chosen = kind or chance.choice(sorted(churn_pods.OF_MANIFESTS if static else churn_pods.KINDS))
        name = f"{chosen}-{self.made.total()}{'-static' if static else ''}"
        self.made[f"{chosen}{' (static)' if static else ''}"] += 1
        self.names.append(name)
        document = churn_pods.KINDS[chosen](name)
        if static:
            self._agent.drop(f"{name}.json", document)
        else:
            self._cluster.run(document)

    def one_goes(self, name: str) -> None:
        self._flips.gone.add(name)
        self.names.remove(name)
        if name.endswith("-static"):
            (self._agent.manifests / f"{name}.json").unlink()
        else:
            # One that has completed and was deleted in the life before may be gone.
            self._cluster.delete(name)

    def step(self) -> None:
        """Add one or two pods, and remove those above the limit."""
        for _ in range(self._chance.choice((1, 2))):
            self.one_comes()
        while len(self.names) > len(STAY) + AT_A_TIME:
            self.one_goes(self._chance.choice(self.names[len(STAY) :]))


def live_for_a_while(agent: Agent, events: TaskEvents, chance: random.Random) -> None:
    """Run until some moment of its start, or until containerd has reported so many events after it."""
    if chance.random() < 1 / 3:
        # Passing time is what is wanted here: any moment will do.
        assert not agent.ended_within(chance.uniform(0.0, 3.0)), agent.said()[-3000:]
        return
    agent.await_answer()
    until_seen, end = events.seen + chance.randrange(40), time.monotonic() + 3.0
    while events.seen < until_seen and time.monotonic() < end:
        assert not agent.ended_within(0.01), agent.said()[-3000:]


def settle(agent: Agent, containerd: Containerd, truth: Truth, churn: Churn, flags: tuple[str, ...]) -> int:
    """Kill the agent once more, and return when exactly the wanted pods are there, as they should be.

    Returns how many tasks containerd has forgotten since the last time.
    """
    agent.kill()
    agent.start(*flags)
    forgotten = containerd.end_forgotten_tasks()

    def unsettled() -> dict[str, str]:
        phases = {name: agent.status(name).phase or "no phase" for name in churn.names}
        wrong = {name: phase for name, phase in phases.items() if phase not in ("Running", "Succeeded", "Failed")}
        sandboxes = {each.labels[POD_NAME].removesuffix(f"-{NODE}"): each.id for each in truth.sandboxes()}
        return wrong | {name: f"sandbox {id_}" for name, id_ in sandboxes.items() if name not in phases}

    def complaint() -> str:
        wrong = unsettled()
        said = [line for line in agent.said().splitlines() if any(name in line for name in wrong)]
        return f"{wrong} are not as they should be:\n{told_of(truth, wrong)}\n" + "\n".join(said[-60:])

    until(lambda: not unsettled(), CALM_S, complaint)
    return forgotten


def told_of(truth: Truth, names: Iterable[str]) -> str:
    """What the CRI says of these pods."""
    lives = [str(life) for name in names for life in truth.lives(name)]
    return "\n".join([*lives, *(str(each) for name in names for each in truth.sandboxes(name))])


def restarts(key: tuple[str, str, str]) -> bool:
    """Whether this container ends by itself, and is to be started again."""
    pod, _, name = key
    return (pod.partition("-")[0], name) in churn_pods.RESTARTS


def by_container(lives: list[TaskLife]) -> dict[tuple[str, str, str], list[TaskLife]]:
    """The started containers in their order, by pod, UID and name."""
    found = defaultdict(list)
    for life in lives:
        if life.started_ns is not None:
            found[life.pod, life.uid, life.name].append(life)
    return {key: sorted(each, key=lambda life: life.started_ns or 0) for key, each in found.items()}


def told(lives: list[TaskLife]) -> str:
    return "\n".join(map(str, lives))


def test_killed_at_random_moments_it_restarts_doubles_and_orphans_nothing(
    cluster: Cluster, agent: Agent, truth: Truth, containerd: Containerd
) -> None:
    chance = random.Random(SEED)
    churn_pods.prepare(cluster)
    flags = ("--kubeconfig", cluster.node_kubeconfig)
    with task_events(containerd) as events, flips_of(cluster) as flips:
        churn = Churn(cluster, agent, chance, flips)
        agent.start(*flags)
        for kind in STAY:
            churn.one_comes(kind)
        cluster.await_phase("Running", *churn.names)
        stay = tuple(churn.names)
        keys = {name: {life.key for life in truth.lives(name)} for name in stay}
        forgotten = 0
        for number in range(KILLS):
            agent.kill()
            churn.step()
            agent.begin(*flags)
            live_for_a_while(agent, events, chance)
            if number % CHECK_EVERY == CHECK_EVERY - 1:
                forgotten += settle(agent, containerd, truth, churn, flags)
                print(f"{number + 1} kills, {events.seen} events, {churn.made.total()} pods", flush=True)
        began = time.monotonic()
        forgotten += settle(agent, containerd, truth, churn, flags)
        settled_s = time.monotonic() - began
        for name in stay:
            assert {life.key for life in truth.lives(name)} == keys[name], f"{name} was touched"
            assert {each.restart_count for each in cluster.status(name).container_statuses} == {0}
        failed = [name for name in churn.names if agent.status(name).phase == "Failed"]
        for name in tuple(churn.names):
            churn.one_goes(name)
        left = partial(remains, agent, containerd, truth)
        began = time.monotonic()
        until(lambda: not left(), CALM_S, lambda: f"left: {left()}; {agent.troubles()}")
        cluster.await_gone(*stay)
        gone_s = time.monotonic() - began
        lives = events.lives()
    begun = by_container(lives)
    overlaps = [
        f"{earlier}\n{later}"
        for each in begun.values()
        for earlier, later in pairwise(each)
        if earlier.exited_ns is None or earlier.exited_ns > (later.started_ns or 0)
    ]
    restarted = [
        told(each) for key, each in begun.items() if not restarts(key) and sum(not life.given_up for life in each) > 1
    ]
    counts = {
        "kills": KILLS + 1,
        "pods": churn.made.total(),
        "kinds": dict(sorted(churn.made.items())),
        "containers created": len(lives),
        "containers started": sum(len(each) for each in begun.values()),
        "starts that containerd gave up": sum(life.given_up for life in lives),
        "tasks that containerd forgot": forgotten,
        "restarted by themselves": sum(len(each) - 1 for key, each in begun.items() if restarts(key)),
        "restarted because of a kill": len(restarted),
        "started twice": sum(life.starts > 1 for life in lives),
        "two alive at a time": len(overlaps),
        "ready pods shown as not ready": len(flips.flipped),
        "still there": sum(life.started_ns is not None and life.exited_ns is None for life in lives),
        "left on the machine": remains(agent, containerd, truth),
        "pods that failed": failed,
        "seconds until settled, and until gone": (round(settled_s, 1), round(gone_s, 1)),
    }
    print(json.dumps(counts, indent=1), flush=True)
    assert not overlaps, "\n\n".join(overlaps)
    assert not restarted, "\n\n".join(restarted)
    assert not counts["started twice"], told([life for life in lives if life.starts > 1])
    assert not counts["still there"], told([life for life in lives if life.started_ns and not life.exited_ns])
    assert not flips.flipped
