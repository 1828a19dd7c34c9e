"""Handles nodes that are not ready, and their pods.

Node lifecycle, taint eviction and pod collection.

A node whose condition Ready is False or Unknown gets the matching taints. A pod that does not tolerate a NoExecute
taint is deleted; one that tolerates it for some seconds is deleted after them. Pods of a node that exists no more are
deleted by force, and so are ending pods of a node that an admin has declared out of service. As in a real cluster, no
pod is evicted for an unready node while no node at all is ready.

It follows the store and calls the server like any client. `actors.kernel` gives the time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.timers import Cancellable
from config.objects import Taint, Toleration
from config.pods.node_selection import NO_EXECUTE, stays_seconds
from config.values.api_time import api_time
from simulation.apiserver.core import SECOND_NS
from simulation.apiserver.requests.bodies import JSON, MERGE, STRATEGIC
from simulation.apiserver.requests.calls import ApiUser
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import DELETED, Version
from simulation.apiserver.strategies.events import event_about
from simulation.controllers.store_follower import StoreFollower, ask

NAME = "taint-eviction-controller"
ORPHANED_AFTER_NS = 40 * SECOND_NS
"""How long the pods of a removed node stay untouched: the node may come back."""
COLLECTS_AFTER_NS = 20 * SECOND_NS
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_NOT_READY, _UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
_KEYS = {"True": "", "Unknown": _UNREACHABLE}
_OWN = frozenset((key, effect) for key in (_NOT_READY, _UNREACHABLE) for effect in ("NoSchedule", NO_EXECUTE))
_USER = ApiUser("system:kube-controller-manager", ("system:masters", "system:authenticated"))
_EVICTED = ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
_ORPHANED = ("DeletionByPodGC", "PodGC: node no longer exists")
_OUT = ("DeletionByPodGC", "PodGC: node is out of service")

_Key = tuple[str, str]


class _Planned(NamedTuple):
    """The deletion of a pod that may stay for a while. `since_ns`: when its node got the taint."""

    since_ns: int
    at_ns: int
    timer: Cancellable


class NodeLifecycle:
    """See the module. Begins with `start`, for the life of the server."""

    def __init__(self, server: ApiServer, clock: Dispatcher) -> None:
        self._server = server
        self._clock = clock
        self._follower = StoreFollower(server, clock, {"nodes": self._node, "pods": self._pod}, self._forget)
        self._ready: dict[str, str] = {}
        """By node: its condition Ready."""
        self._evicting: dict[str, tuple[Taint, ...]] = {}
        """By node: the taints that let no pod stay, where it has some."""
        self._planned: dict[_Key, _Planned] = {}

    def start(self) -> None:
        """Follow the store from now on."""
        self._follower.start()

    def _forget(self) -> None:
        for planned in self._planned.values():
            planned.timer.cancel()
        for kept in (self._ready, self._evicting, self._planned):
            kept.clear()

    # --- what is told by the store; called under its lock -------------------------------------------------------------

    def _node(self, kind: str, version: Version) -> None:
        name, before = version.name, tuple(self._ready.values())
        if kind == DELETED:
            self._ready.pop(name, None)
            self._evicting.pop(name, None)
            self._soon(ORPHANED_AFTER_NS, lambda: self._collect_orphans(name))
        else:
            self._ready[name] = _ready_of(version.object)
            self._see_taints(name, version.object)
        for each in self._ready if ("True" in before) != self._some_node_is_ready() else (name,):
            if each in self._ready:
                self._soon(0, partial(self._set_taints, each))

    def _see_taints(self, name: str, node: Json) -> None:
        taints = tuple(each for each in _taints_of(node) if each.effect == NO_EXECUTE)
        if taints == self._evicting.get(name, ()):
            return
        if taints:
            self._evicting[name] = taints
        else:
            self._evicting.pop(name)
        self._soon(0, lambda: self._look_at_all(name))
        if any(each.key == OUT_OF_SERVICE for each in taints):
            self._soon(COLLECTS_AFTER_NS, lambda: self._collect_out_of_service(name))

    def _pod(self, kind: str, version: Version) -> None:
        node = version.node
        if not node or (node in self._ready and not self._evicting):
            return
        if kind == DELETED:
            self._stays(version.key)
        elif node not in self._ready:
            self._soon(ORPHANED_AFTER_NS, lambda: self._collect_orphans(node))
        elif node in self._evicting:
            self._soon(0, lambda: self._look(version.key))

    def _some_node_is_ready(self) -> bool:
        return "True" in self._ready.values()

    def _soon(self, ns: int, act: Callable[[], object]) -> None:
        life = self._follower.life

        def run() -> None:
            with self._server.lock:
                if life == self._follower.life:
                    act()

        self._clock.schedule(ns, run)

    # --- taints -------------------------------------------------------------------------------------------------------

    def _set_taints(self, name: str) -> None:
        """Let the node have the taints of its condition, and no other of these."""
        node = self._server.store.get("nodes", "", name)
        if node is None:
            return
        taints = list((node.object.get("spec") or {}).get("taints") or ())
        key = _KEYS.get(_ready_of(node.object), _NOT_READY)
        wanted = {(key, "NoSchedule"), (key, NO_EXECUTE)} if key else set()
        if not self._some_node_is_ready():
            wanted.discard((key, NO_EXECUTE))
        has = {(each.get("key"), each.get("effect")) for each in taints}
        if has & _OWN == wanted:
            return
        kept = [each for each in taints if (each.get("key"), each.get("effect")) not in _OWN - wanted]
        for key, effect in sorted(wanted - has):
            kept.append({"key": key, "effect": effect, "timeAdded": self._timestamp()})
        metadata = {"resourceVersion": str(node.revision)}
        self._ask("PATCH", f"/api/v1/nodes/{name}", {"metadata": metadata, "spec": {"taints": kept}}, MERGE)

    # --- evictions ----------------------------------------------------------------------------------------------------

    def _look_at_all(self, node: str) -> None:
        for pod in tuple(self._server.store.of["pods"].on_node(node)):
            self._look((pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def _look(self, key: _Key) -> None:
        """Plan the deletion of a pod, or cancel a plan that no longer holds."""
        pod = self._server.store.get("pods", *key)
        taints = () if pod is None else self._evicting.get(pod.node, ())
        if pod is None or not taints or "deletionTimestamp" in pod.object["metadata"]:
            return self._stays(key)
        try:
            tolerations = msgspec.convert(pod.object["spec"].get("tolerations") or (), tuple[Toleration, ...])
        except msgspec.ValidationError:
            tolerations = ()
        seconds = stays_seconds(taints, tolerations)
        if seconds is None:
            return self._stays(key)
        planned, now_ns = self._planned.get(key), self._clock.now_ns()
        since_ns = now_ns if planned is None else planned.since_ns
        at_ns = since_ns + seconds * SECOND_NS
        if planned is not None and planned.at_ns == at_ns:
            return None
        if planned is not None:
            planned.timer.cancel()
        timer = self._clock.schedule(max(0, at_ns - now_ns), lambda: self._evict(key, pod.uid))
        self._planned[key] = _Planned(since_ns, at_ns, timer)
        return None

    def _stays(self, key: _Key) -> None:
        planned = self._planned.pop(key, None)
        if planned is not None:
            planned.timer.cancel()

    def _evict(self, key: _Key, uid: str) -> None:
        with self._server.lock:
            self._planned.pop(key, None)
            pod = self._server.store.get("pods", *key)
            if pod is None or pod.uid != uid:
                return
            now = self._timestamp()
            said = {"type": "Normal", "reason": "TaintManagerEviction"}
            said["message"] = f"Marking for deletion Pod {key[0]}/{key[1]}"
            event = event_about(pod.object, f"{key[1]}.{self._clock.wall_ns():x}", NAME, now, **said)
            self._ask("POST", f"/api/v1/namespaces/{key[0]}/events", event)
            self._delete(pod.object, _EVICTED, {})

    # --- collection ---------------------------------------------------------------------------------------------------

    def _collect_orphans(self, node: str) -> None:
        if self._server.store.get("nodes", "", node) is None:
            for pod in tuple(self._server.store.of["pods"].on_node(node)):
                self._delete(pod, _ORPHANED, {"gracePeriodSeconds": 0})

    def _collect_out_of_service(self, node: str) -> None:
        taints = self._evicting.get(node, ())
        if not any(each.key == OUT_OF_SERVICE for each in taints):
            return
        if self._ready.get(node) != "True":
            for pod in tuple(self._server.store.of["pods"].on_node(node)):
                if "deletionTimestamp" in pod["metadata"]:
                    self._delete(pod, _OUT, {"gracePeriodSeconds": 0})
        self._soon(COLLECTS_AFTER_NS, lambda: self._collect_out_of_service(node))

    def _delete(self, pod: Json, why: tuple[str, str], options: Json) -> None:
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        said = {"type": "DisruptionTarget", "status": "True", "reason": why[0], "message": why[1]}
        status: Json = {"conditions": [{**said, "lastTransitionTime": self._timestamp()}]}
        if options and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            status["phase"] = "Failed"
        self._ask("PATCH", f"{path}/status", {"status": status}, STRATEGIC)
        self._ask("DELETE", path, {**options, "preconditions": {"uid": metadata["uid"]}})

    def _ask(self, method: str, path: str, body: Json, content_type: str = JSON) -> None:
        ask(self._server, _USER, method, path, body, content_type)

    def _timestamp(self) -> str:
        return api_time(self._clock.wall_ns()) or ""


def _ready_of(node: Json) -> str:
    """The status of its condition Ready; False where it never reported."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return next((str(one.get("status")) for one in conditions if one.get("type") == "Ready"), "False")


def _taints_of(node: Json) -> tuple[Taint, ...]:
    return msgspec.convert((node.get("spec") or {}).get("taints") or (), tuple[Taint, ...])
