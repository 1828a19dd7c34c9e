"""Plays in which something hangs for sick pods, and what it costs the others.

The kit of the tests on hangs.

The sick pod has something of everything. The others must not notice: they start and end as where nothing hangs.
"""

from __future__ import annotations

import gc
import json
import logging
from collections import Counter
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

import msgspec

from cli.inspect.explanation import next_lines
from cli.inspect.local_views import explanation
from runtime.api import ApiCall
from runtime.csi.capability import NodeInfo
from simulation.apiserver.requests.answers import JsonAnswer, ObjectAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.play.play import Play
from simulation.scenarios.scenario import Scenario, read_scenario

SECOND_NS = 10**9
PLAYED_NS = 280 * SECOND_NS
"""Longer than the longest deadline, of RunPodSandbox."""
SLOWER = 1.2
OTHERS = 24
OWN_IMAGE = "registry.example/sick:1"
DRIVER = "disks.example"
STORAGE = "/apis/storage.k8s.io/v1"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
SCENARIO = b"""
about: one sick pod with something of everything, and others that must not notice
node:
  configuration: {containerLogMaxSize: 100Ki, containerLogMonitorInterval: 3s}
pods:
  - name: sick
    count: 1
    hopeless: true
    arrives: [1s, 1s]
    lives: [30s, 30s]
    behaviour: {image-size: 20Mi, output: "so it goes", output-every: 1s, output-size: 64Ki}
    containers:
      - name: app
        image: registry.example/sick:1
        livenessEvery: 3
        spec:
          volumeMounts:
            - {name: data, mountPath: /data, subPath: below}
            - {name: config, mountPath: /config}
            - {name: secret, mountPath: /secret}
            - {name: labels, mountPath: /labels}
            - {name: share, mountPath: /share}
            - {name: disk, mountPath: /disk}
          readinessProbe: {exec: {command: ["true"]}, periodSeconds: 2}
          lifecycle: {postStart: {exec: {command: ["true"]}}, preStop: {exec: {command: ["true"]}}}
    spec:
      hostUsers: false
      volumes:
        - {name: data, emptyDir: {}}
        - {name: config, configMap: {name: settings}}
        - {name: secret, secret: {secretName: settings}}
        - {name: labels, downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
        - {name: share, nfs: {server: nfs.example, path: /exports/data}}
        - {name: disk, persistentVolumeClaim: {claimName: sick-disk}}
  - name: other
    count: 24
    arrives: [2s, 60s]
    lives: [8s, 15s]
    volumes: [{name: data, kind: emptyDir}, {name: config, kind: configMap}, {name: secret, kind: secret}]
    containers: [{name: app, readinessEvery: 5}]
leasesEvery: 11s
lasts: 300s
"""

Hang = Callable[[Play], Any]
"""Lets something hang in a play, and gives what counts how often it did."""


class Told(logging.Handler):
    """What the agent logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Played:
    """A play with something that hangs.

    `broken`: what the others suffered; `said`: of the sick pods, by the agent; `starts_ns` and `ends_ns`: how long each
    other took.
    """

    def __init__(self, scenario: Scenario, hang: Hang) -> None:
        play = Play(scenario, 1)
        _have_a_disk(play)
        while not play.world.chronicle.nodes_ready.get("node-0"):
            play.advance(SECOND_NS // 10)
        self.starts_ns: list[int] = []
        self.ends_ns: list[int] = []
        self._time_others(play)
        self.hung = hang(play)
        told = Told()
        logger = logging.getLogger("actorlet")
        level = logger.level
        logger.addHandler(told)
        logger.setLevel(logging.INFO)
        try:
            play.advance(PLAYED_NS)
        finally:
            logger.removeHandler(told)
            logger.setLevel(level)
        self.broken = [f"{each['invariant']}: {each['what']}" for each in play.outcome().violations]
        self.node_said = told.lines
        self.said = self.said_of(play, "sick-0")
        self.of_each = {name: self.said_of(play, name) for name in ("sick-1", "sick-2")}
        self.plugins_told = list(play.world.nodes["node-0"].plugins.told)
        gc.collect()

    def _time_others(self, play: Play) -> None:
        chronicle = play.world.chronicle
        gone = chronicle.on_gone

        def on_gone(pod: Any) -> None:
            if not pod.name.startswith("sick"):
                self.starts_ns.append(pod.running_ns - pod.created_ns if pod.running_ns is not None else PLAYED_NS)
                self.ends_ns.append(play.world.now_ns() - pod.deleted_ns)
            gone(pod)

        chronicle.on_gone = on_gone

    def said_of(self, play: Play, name: str) -> list[str]:
        """Events, log lines and the explanation of a pod."""
        uids = [uid for uid, pod in play.world.chronicle.pods.items() if pod.name == name]
        events = [each for each in play.world.events() if each["involvedObject"]["name"] == name]
        uids += [each["involvedObject"].get("uid", "") for each in events]
        said = [f"{each['reason']}: {each['message']}" for each in events]
        said += [line for line in self.node_said if name in line or any(uid and uid in line for uid in uids)]
        node = play.world.nodes["node-0"].node
        explained = explanation(node, name) if name in {pod.metadata.name for pod in node.pods()} else None
        return said + ([str(explained.waits), str(explained.why), *next_lines(explained)] if explained else [])


def _have_a_disk(play: Play) -> None:
    """A driver and a claim that is bound, as the controllers of a cluster leave them."""

    def ask(method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = play.world.server.handle(ApiRequest(method, path, (), body))
        assert isinstance(answer, JsonAnswer | ObjectAnswer)
        assert answer.code < 300, answer.body()
        made: dict[str, Any] = json.loads(answer.body())
        return made

    def body(kind: str, name: str, spec: dict[str, Any], version: str = "v1") -> dict[str, Any]:
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}

    ask("POST", f"{STORAGE}/csidrivers", body("CSIDriver", DRIVER, {"attachRequired": False}, "storage.k8s.io/v1"))
    of_claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "disk"}
    claim = ask("POST", CLAIMS, body("PersistentVolumeClaim", "sick-disk", of_claim))
    holder = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "sick-disk"}
    of_volume = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "csi": {"driver": DRIVER, "volumeHandle": "sick-disk"},
        "claimRef": {**holder, "uid": claim["metadata"]["uid"]},
    }
    ask("POST", "/api/v1/persistentvolumes", body("PersistentVolume", "disk", of_volume))
    claim["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
    ask("PUT", f"{CLAIMS}/sick-disk/status", claim)
    play.world.nodes["node-0"].plugins.add(DRIVER, NodeInfo("node-0"))


# --- scenarios --------------------------------------------------------------------------------------------------------


def scenario(
    *,
    starts_ns: int | None = None,
    ends_ns: int | None = None,
    sick_stays: bool = False,
    sick: int = 1,
    others: int = OTHERS,
    leases_every: str | None = None,
) -> Scenario:
    """The scenario, with so long for others to start and to end."""
    read = read_scenario(SCENARIO)
    the_sick, other = read.pods
    the_sick = msgspec.structs.replace(the_sick, count=sick, lives=None if sick_stays else the_sick.lives)
    other = msgspec.structs.replace(
        other,
        count=others,
        starts_within=None if starts_ns is None else f"{starts_ns}ns",
        ends_within=None if ends_ns is None else f"{ends_ns}ns",
    )
    return msgspec.structs.replace(
        read, pods=(the_sick, other), leases_every=read.leases_every if leases_every is None else leases_every
    )


class Undisturbed(msgspec.Struct):
    """How long others take if nothing hangs; and the calls of lanes and of the API that could hang."""

    starts_ns: int
    ends_ns: int
    lane_calls: frozenset[str]
    api_calls: frozenset[str]


@lru_cache(maxsize=2)
def undisturbed(others: int = OTHERS) -> Undisturbed:
    """The play in which nothing hangs."""
    lane_calls, api_calls = Counter[str](), Counter[str]()

    def listen(play: Play) -> None:
        def lane_hangs(name: str, key: Hashable) -> bool:
            lane_calls[name] += 1
            return False

        def api_hangs(call: ApiCall[Any]) -> bool:
            api_calls[call.what] += 1
            return False

        play.world.nodes["node-0"].agent.hangs = lane_hangs
        play.world.apis["node-0"].hangs = api_hangs

    played = Played(scenario(others=others), listen)
    assert played.broken == []
    assert len(played.ends_ns) == others
    return Undisturbed(max(played.starts_ns), max(played.ends_ns), frozenset(lane_calls), frozenset(api_calls))


def bounded(*, patience_ns: int = 0, others: int = OTHERS, **rest: Any) -> Scenario:
    """Others may take 1.2 times the usual time, and may be held up once for so long."""
    usual = undisturbed(others)
    starts_ns, ends_ns = (int(SLOWER * ns) + patience_ns for ns in (usual.starts_ns, usual.ends_ns))
    return scenario(starts_ns=starts_ns, ends_ns=ends_ns, others=others, **rest)


def held_up(played: Played, others: int = OTHERS) -> int:
    """How many starts and ends of others took longer than 1.2 times the usual time."""
    usual = undisturbed(others)
    late = [ns for ns in played.starts_ns if ns > SLOWER * usual.starts_ns]
    return len(late) + len([ns for ns in played.ends_ns if ns > SLOWER * usual.ends_ns])


def names(said: list[str], *words: str) -> bool:
    return any(word in line for line in said for word in words)


# --- hangs ------------------------------------------------------------------------------------------------------------


class About:
    """Whether a text is about one of these pods, by its name or its UID.

    `pods` may grow: beginnings of names.
    """

    def __init__(self, play: Play, pods: list[str]) -> None:
        self._known = play.world.chronicle.pods
        self._pods = pods
        self._uids: dict[str, str] = {}

    def __call__(self, text: str) -> bool:
        self._uids.update((uid, pod.name) for uid, pod in self._known.items() if pod.name.startswith("sick-"))
        uids = (uid for uid, name in self._uids.items() if name.startswith(tuple(self._pods)))
        return any(each in text for each in (*self._pods, *uids))


def of_a_lane(what: str, *, times: int | None = None) -> Hang:
    """Let calls of lanes by that name hang: those about the sick pods, or the next `times`."""

    def hang(play: Play) -> Counter[str]:
        hung, about = Counter[str](), About(play, ["sick-"])

        def hangs(name: str, key: Hashable) -> bool:
            is_meant = about(str(key)) if times is None else hung[name] < times
            hung[name] += name == what and is_meant
            return name == what and is_meant

        play.world.nodes["node-0"].agent.hangs = hangs
        return hung

    return hang


def of_the_api(what: str, *, times: int | None = None) -> Hang:
    """The same of calls to the API, by "VERB resource"."""

    def hang(play: Play) -> Counter[str]:
        hung, about = Counter[str](), About(play, ["sick-"])

        def hangs(call: ApiCall[Any]) -> bool:
            is_meant = about(call.name) if times is None else hung[call.what] < times
            hung[call.what] += call.what == what and is_meant
            return call.what == what and is_meant

        play.world.apis["node-0"].hangs = hangs
        return hung

    return hang
