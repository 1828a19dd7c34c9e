"""The scheduler of the embedded API server: gives pods without a node to nodes.

It follows pods and nodes in the store and keeps the books of `scheduling.Ledger`. It writes its decisions to the server
as any client would: a binding, an event, the condition PodScheduled. It works in turns of a few pods each, so that
other clients come between. A pod that fits nowhere is tried again when a node changes or another pod makes room. Errors
of the server are ignored: the watch shows what has changed meanwhile.

Claims of devices are allocated with the pod that needs them (`claim_books`, `claim_writes`). A pod whose claims are not
made yet is not tried.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.timers import Cancellable
from config.values.api_time import api_time
from simulation.allocation.selectors import Selectors
from simulation.allocation.wanted import UnmetError
from simulation.apiserver.requests.bodies import JSON, STRATEGIC
from simulation.apiserver.requests.calls import ApiUser
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store.store import DELETED, Version
from simulation.apiserver.strategies.events import event_about
from simulation.controllers.claim_books import ClaimBooks, NotMadeYetError, PodNeeds, claim_names
from simulation.controllers.claim_writes import ClaimWriter
from simulation.controllers.scheduling import Json, Ledger, demand_of, offer_of
from simulation.controllers.store_follower import StoreFollower, ask
from simulation.validations.program import the_program

NAME = "default-scheduler"
"""Pods that name this scheduler, or none, are its own."""

PODS_A_TURN = 100
_USER = ApiUser("system:kube-scheduler", ("system:masters", "system:authenticated"))
_TERMINAL = ("Succeeded", "Failed")
CLAIMS, CLASSES, SLICES = (f"{each}.resource.k8s.io" for each in ("resourceclaims", "deviceclasses", "resourceslices"))

_Key = tuple[str, str]


class Scheduler:
    """See the module. Begins with `start`, ends with `stop`; both may be called from any thread."""

    def __init__(self, server: ApiServer, clock: Dispatcher) -> None:
        self._server = server
        self._clock = clock
        sinks = {CLASSES: self._class, SLICES: self._slice, CLAIMS: self._claim, "nodes": self._node, "pods": self._pod}
        self._follower = StoreFollower(server, clock, sinks, self._forget)
        self._ledger = Ledger()
        self._selectors = Selectors(the_program())
        self._claims = ClaimBooks(self._selectors)
        # To be placed, and those that were tried in vain with what was said of it.
        self._waiting: dict[_Key, Json] = {}
        self._in_vain: dict[_Key, tuple[Json, str]] = {}
        # The specs that the books have been told of: a new status alone changes nothing there.
        self._booked: dict[_Key, Json] = {}
        self._turn: Cancellable | None = None

    def start(self) -> None:
        """Follow the store from now on, beginning with all there is."""
        self._follower.start()

    def stop(self) -> None:
        """Stop binding pods."""
        with self._server.lock:
            self._follower.stop()
            if self._turn is not None:
                self._turn.cancel()
                self._turn = None

    def _forget(self) -> None:
        self._ledger = Ledger()
        self._claims = ClaimBooks(self._selectors)
        for kept in (self._waiting, self._in_vain, self._booked):
            kept.clear()

    # --- what is told by the store; called under its lock -------------------------------------------------------------

    def _node(self, kind: str, version: Version) -> None:
        if kind == DELETED:
            self._ledger.remove_node(version.name)
            self._try_all()
        elif self._ledger.put_node(offer_of(version.object)):
            self._try_all()

    def _pod(self, kind: str, version: Version) -> None:
        key, pod, node = version.key, version.object, version.node
        status = pod.get("status")
        if kind == DELETED or (status and status.get("phase") in _TERMINAL):
            self._tried_enough(key)
            self._booked.pop(key, None)
            if self._ledger.remove_pod(key):
                self._try_all()
        elif self._booked.get(key) is pod["spec"]:
            return
        elif node:
            self._tried_enough(key)
            self._booked[key] = pod["spec"]
            self._ledger.put_pod(key, node, demand_of(pod))
        elif _is_ours(pod):
            tried = self._in_vain.get(key)
            if tried is None or _is_other(tried[0], pod):
                self._waiting[key] = pod
                self._take_turn()
            else:
                self._in_vain[key] = pod, tried[1]

    def _class(self, kind: str, version: Version) -> None:
        self._claims.put_class(version.name, None if kind == DELETED else version.object)
        self._try_all()

    def _slice(self, kind: str, version: Version) -> None:
        self._claims.put_slice(version.name, None if kind == DELETED else version.object)
        self._try_all()

    def _claim(self, kind: str, version: Version) -> None:
        self._claims.put_claim(version.key, None if kind == DELETED else version.object)
        self._try_all()

    def _tried_enough(self, key: _Key) -> None:
        """Drop a pod that has a node now, or needs none any more."""
        if self._waiting:
            self._waiting.pop(key, None)
        if self._in_vain:
            self._in_vain.pop(key, None)

    def _try_all(self) -> None:
        """Retry the pods that fitted nowhere: a node or room has been added."""
        if self._in_vain:
            self._waiting.update((key, pod) for key, (pod, _) in self._in_vain.items() if key not in self._waiting)
            self._take_turn()

    # --- turns --------------------------------------------------------------------------------------------------------

    def _take_turn(self) -> None:
        if self._turn is None:
            life = self._follower.life
            self._turn = self._clock.schedule(0, lambda: self._work(life))

    def _work(self, life: int) -> None:
        with self._server.lock:
            if life != self._follower.life:
                return
            self._turn = None
            for key in tuple(islice(self._waiting, PODS_A_TURN)):
                self._place(key, self._waiting.pop(key))
            if self._waiting:
                self._take_turn()

    def _place(self, key: _Key, pod: Json) -> None:
        demand = demand_of(pod)
        try:
            needs = self._claims.of_pod(pod)
        except NotMadeYetError:
            self._in_vain[key] = pod, ""
            return
        except UnmetError as error:
            self._tell_in_vain(key, pod, self._ledger.explain_unmet(str(error)))
            return
        node = self._ledger.choose(demand, needs)
        if node is None:
            self._tell_in_vain(key, pod, self._ledger.explain(demand, needs))
            return
        if needs is not None and not self._write_claims(pod, needs, node):
            self._in_vain[key] = pod, ""
            return
        if self._bind(key, pod, node):
            self._in_vain.pop(key, None)
            self._event(pod, "Normal", "Scheduled", f"Successfully assigned {key[0]}/{key[1]} to {node}", "Binding")

    def _write_claims(self, pod: Json, needs: PodNeeds, node: str) -> bool:
        offer = self._ledger.offer(node)
        planned = (needs.plan(offer) if offer is not None else None) or ()
        writer = ClaimWriter(self._server, _USER, self._claims, self._clock.new_uid)
        return writer.write(pod, needs.allocated(), planned, node)

    def _tell_in_vain(self, key: _Key, pod: Json, message: str) -> None:
        tried = self._in_vain.get(key)
        self._in_vain[key] = (pod, message)
        if tried is not None and tried[1] == message and tried[0]["metadata"]["uid"] == pod["metadata"]["uid"]:
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastTransitionTime": self._timestamp(),
        }
        self._ask("PATCH", f"{_path(key)}/status", {"status": {"conditions": [condition]}})
        self._event(pod, "Warning", "FailedScheduling", message, "Scheduling")

    def _bind(self, key: _Key, pod: Json, node: str) -> bool:
        metadata = {"namespace": key[0], "name": key[1], "uid": pod["metadata"]["uid"]}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        return self._ask("POST", f"{_path(key)}/binding", binding)

    def _event(self, pod: Json, kind: str, reason: str, message: str, action: str) -> None:
        metadata = pod["metadata"]
        # The time in the name keeps the events of a pod apart.
        name = f"{metadata['name']}.{self._clock.wall_ns():x}"
        said = {"type": kind, "reason": reason, "message": message, "action": action}
        event = event_about(pod, name, NAME, self._timestamp(), **said)
        self._ask("POST", f"/api/v1/namespaces/{metadata['namespace']}/events", event)

    def _timestamp(self) -> str:
        return api_time(self._clock.wall_ns()) or ""

    def _ask(self, method: str, path: str, body: dict[str, Any]) -> bool:
        """Send a request to the server. Returns whether it was carried out."""
        return not ask(self._server, _USER, method, path, body, STRATEGIC if method == "PATCH" else JSON)


def _path(key: _Key) -> str:
    return f"/api/v1/namespaces/{key[0]}/pods/{key[1]}"


def _is_other(tried: Json, pod: Json) -> bool:
    """Whether the pod may have another fate than when it was tried."""
    if tried["metadata"]["uid"] != pod["metadata"]["uid"] or tried["spec"] != pod["spec"]:
        return True
    return bool(pod["spec"].get("resourceClaims")) and claim_names(tried) != claim_names(pod)


def _is_ours(pod: Json) -> bool:
    spec = pod["spec"]
    leaving = "deletionTimestamp" in pod["metadata"]
    return spec.get("schedulerName", NAME) == NAME and not spec.get("schedulingGates") and not leaving
