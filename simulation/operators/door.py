"""The door between one identity and the API server: it records requests, and lets one fault strike.

`faults` says what strikes where, `keys` how moments are named. What passes for anybody else is no concern of the door,
except that a change by a user begins the end of a lag. The door runs on the loop of the front; watches call it under
the server's lock.

A lag ends five seconds of the cluster's time after the next change by a user, or after a minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from simulation.apiserver.front.watches import Clients
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.answers import Answer, ObjectAnswer, WatchAnswer, refused
from simulation.apiserver.requests.calls import ApiRequest, ResourceCall
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import MODIFIED, StatusError, conflict, expired, internal_error
from simulation.apiserver.store.store import DELETED, Version
from simulation.operators import lag
from simulation.operators.called import call_in, name_of, resource_names
from simulation.operators.faults import DONE_FIRST, LAGS, OF_SPECS, REFUSALS, RESTARTS, UPDATES, WRITES, Fault
from simulation.operators.keys import Counted, Key, place, steady_name
from simulation.operators.records import Asked, Shown
from simulation.operators.watch_gate import Pass, WatchGate

SECOND_NS = 10**9
LAGS_AT_MOST_NS = 60 * SECOND_NS
LAGS_AFTER_CHANGE_NS = 5 * SECOND_NS
SLOW_NS = 10 * SECOND_NS
TRIES_AGAIN_WITHIN_S = 2.0
"""Real time. Most clients wait for one second of Retry-After.

Informers of client-go wait for 0.8 to 1.6 seconds after any error.
"""
WATCHES_AGAIN_WITHIN_S = 5.0
"""Real time: an informer of client-go whose watch ended waits as long, and may meet one more error."""
ENTRIES_AT_MOST = 20_000
"""Requests, and events, that are recorded of one run."""
PASSED_OVER = ("events", "events.events.k8s.io", "leases.coordination.k8s.io", "selfsubjectaccessreviews")
"""Resources whose requests are no moments: they come when a clock says so."""
_ORDERED = "ordered by the sweep"
_CONTROLLERS = "kube-controller-manager/"
"""The beginning of the User-Agent of controllers: what they change is no step of a user."""


class World(Protocol):
    """What the door needs of the world: cluster time."""

    def after(self, ns: int, operation: Callable[[], object]) -> None: ...


class Door:
    """`user`: the name of the identity. `kill`: ends its process, which its keeper starts again."""

    def __init__(self, server: ApiServer, world: World, user: str, fault: Fault | None, kill: Callable[[], object]):
        self._server = server
        self._world = world
        self.user = user
        self._fault = fault
        self._kill = kill
        self._requests, self._events = Counted(), Counted()
        self._versions: dict[tuple[str, str], int] = {}
        """Resource and name -> revision of the newest change that was shown."""
        self._steps = [server.store.revision]
        """The revision at the beginning of each step of the scenario."""
        self._gate = WatchGate(self._comes)
        self._lag: int | None = None
        self._unowned: frozenset[str] = frozenset()
        """Resources with objects that no other object owns."""
        self._deleting: int | None = None
        """The revision at which an object without an owner was last being deleted."""
        self._lags = 0
        self._expired_before = 0
        self.asked: list[Asked] = []
        self.shown: list[Shown] = []
        self.life = 0
        self.struck = fault is None
        self.is_closed = False
        """Whether nothing is recorded any more, and no fault strikes."""
        self._tries_until_s = 0.0
        self._misses_since_s: float | None = None
        self.on_request: Callable[[], object] = lambda: None
        self.on_write: Callable[[], object] = lambda: None

    @property
    def step(self) -> int:
        """The number of the step, from 0."""
        return len(self._steps) - 1

    @property
    def lags(self) -> bool:
        """Whether the operator sees less than there is."""
        return self._gate.holds or self._lag is not None

    def awaits(self, now_s: float) -> bool:
        """Whether the operator may sleep before it tries again: a refused request, or watches that were ended.

        `now_s`: of the loop's clock. Without a new watch that is over five seconds after the first such call.
        """
        if not self._gate.misses_watches:
            self._misses_since_s = None
        elif self._misses_since_s is None:
            self._misses_since_s = now_s
        since_s = self._misses_since_s
        return now_s < self._tries_until_s or (since_s is not None and now_s - since_s < WATCHES_AGAIN_WITHIN_S)

    def next_step(self) -> None:
        """A step of the scenario begins."""
        self._steps.append(self._server.store.revision)

    def user_changes(self) -> None:
        """A user changes something: a lag ends soon."""
        if self.lags:
            self._end_lag_in(LAGS_AFTER_CHANGE_NS)

    def open_wide(self) -> None:
        """End a lag now."""
        self._end_lag(self._lags)

    async def answer(
        self, clients: Clients, asked: ApiRequest, user_agent: str, carry_out: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """See `http_front.Between`. `clients` hears of answers that wait."""
        if asked.user.name != self.user:
            if asked.method not in ("GET", "HEAD") and not user_agent.startswith(_CONTROLLERS):
                self.user_changes()
            return await carry_out()
        self.on_request()
        call = call_in(self._server, asked)
        if call is None or self.is_closed:
            return await carry_out()
        resource = resource_names(call)[-1]
        if resource in PASSED_OVER:
            return await carry_out()
        if call.verb in WRITES:
            self.on_write()
        is_write = call.verb in WRITES
        number = self._requests.next if is_write else self._requests.key
        key = number(call.verb, resource, place(call.namespace, self._name(call)))
        step, life, lagged = self.step, self.life, self.lags
        before = self._server.store.revision
        given: Answer | None = None
        try:
            given = await self._answer(clients, asked, call, key, carry_out)
        finally:
            changed = is_write and self._has_changed(call, given, before)
            if changed:
                self._requests.count(key)
            if len(self.asked) < ENTRIES_AT_MOST:
                self.asked.append(Asked(key, 0 if given is None else given.code, step, life, changed, lagged))
        return given

    def _name(self, call: ResourceCall) -> str:
        """The name of the object as another run has it, too."""
        if call.verb == "create" and not call.name:
            name = name_of(call)
            return steady_name({"name": name, "generateName": name}) if name.endswith("-") else name
        stored = self._server.store.get(call.resource.store_key, call.namespace, call.name) if call.name else None
        return call.name if stored is None else steady_name(stored.object["metadata"])

    async def _answer(
        self,
        clients: Clients,
        asked: ApiRequest,
        call: ResourceCall,
        key: Key,
        carry_out: Callable[[], Awaitable[Answer]],
    ) -> Answer:
        fault = self._fault
        if fault is None or self.struck or fault.at != key:
            return await self._served(asked, call, carry_out)
        before = self._server.store.revision
        if fault.kind in DONE_FIRST:
            given = await carry_out()
            if self.struck or not self._has_changed(call, given, before):
                return given  # the one that does what this one asked for comes later
        self.struck = True
        if fault.kind in REFUSALS:
            self._tries_until_s = asyncio.get_running_loop().time() + TRIES_AGAIN_WITHIN_S
        if fault.kind in RESTARTS:
            self._restart(fault, before)
            raise ConnectionResetError(f"the client was killed, {_ORDERED}")
        if fault.kind == "conflict":
            return refused(conflict(call.resource, name_of(call), MODIFIED))
        if fault.kind == "throttle":
            return refused(_throttled())
        if fault.kind == "error":
            return refused(internal_error(_ORDERED))
        if fault.kind == "timeout":
            text = "Timeout: request did not complete within the allotted timeout"
            return refused(StatusError(504, "Timeout", text, {}))
        given = await self._served(asked, call, carry_out)
        if fault.kind == "slow":
            await self._pass(clients, SLOW_NS)
        return given

    def _has_changed(self, call: ResourceCall, given: Answer | None, before: int) -> bool:
        """Whether a write did anything, as far as its answer tells, or else what came after `before`.

        One that takes away the last finalizer is answered with the object as it was.
        """
        if isinstance(given, ObjectAnswer) and call.verb in UPDATES:
            is_gone = self._server.store.get(call.resource.store_key, call.namespace, call.name) is None
            return is_gone or given.version.revision > before
        return self._server.store.revision > before

    async def _served(
        self, asked: ApiRequest, call: ResourceCall, carry_out: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """The answer without a fault of its own; a lag may still make it old."""
        if call.verb == "watch" and 0 < _revision_in(call) < self._expired_before:
            return refused(expired(f"too old resource version: {_revision_in(call)} ({self._expired_before})"))
        first = []
        given: Answer | None = None
        if self._lag is not None and self._gate.covers(call.resource) and lag.may_be_old(call):
            old = lag.answer_as_of(self._server, asked, call, self._lag)
            if old.code != 410:  # so long ago that no server would show it
                given = old
                first = lag.first_events(self._server, asked, call, self._lag) if call.verb == "watch" else []
        if given is None:
            given = await carry_out()
        if isinstance(given, WatchAnswer):
            with self._server.lock:
                self._gate.stand_in(given.resource, given.watcher, first)
        return given

    # --- restarts and lags ------------------------------------------------------------------------------------------

    def _restart(self, fault: Fault, before: int) -> None:
        if fault.kind in LAGS:
            steps = self._steps
            worlds = {
                "stale-write": before,
                "stale-before": steps[max(0, len(steps) - 2)],
                "stale-deletion": self._deleting,
            }
            self._lag = worlds.get(fault.kind, steps[-1])
            if fault.kind in OF_SPECS:
                made = (*(one.key for one in self.asked if one.changed), fault.at)
                self._gate.only = self._unowned - {key.resource for key in made if key.verb == "create"}
            self._gate.holds = self._lag is not None
            self._end_lag_in(LAGS_AT_MOST_NS)
        self._kill()

    def _comes(self, resource: ServedResource, kind: str, version: Version) -> Pass:
        """An event for the operator: note it when its change is shown for the first time."""
        if self.is_closed or resource.group_resource in PASSED_OVER:
            return Pass.SHOW
        name = place(version.namespace, steady_name(version.object["metadata"]))
        if self._versions.get((resource.group_resource, name), 0) >= version.revision:
            return Pass.SHOW
        fault = self._fault
        key = self._events.key(kind, resource.group_resource, name)
        self._versions[resource.group_resource, name] = version.revision
        metadata = version.object["metadata"]
        if not metadata.get("ownerReferences"):
            self._unowned |= {resource.group_resource}
            if kind != DELETED and "deletionTimestamp" in metadata:
                self._deleting = version.revision
        if len(self.shown) < ENTRIES_AT_MOST:
            self.shown.append(Shown(key, self.step))
        if fault is None or self.struck or fault.at != key:
            return Pass.SHOW
        self.struck = True
        if fault.kind == "cut":
            return Pass.CUT
        self._lag = version.revision - 1
        self._end_lag_in(LAGS_AT_MOST_NS)
        return Pass.HOLD

    def _end_lag_in(self, ns: int) -> None:
        lags = self._lags
        self._world.after(ns, lambda: self._end_lag(lags))

    def _end_lag(self, lags: int) -> None:
        if lags != self._lags or not self.lags:
            return
        self._lags += 1
        self._lag = None
        with self._server.lock:
            if self._fault is not None and self._fault.kind == "miss":
                self._expired_before = self._server.store.revision
                self._gate.expire(self._expired_before)
            else:
                self._gate.release()

    async def _pass(self, clients: Clients, ns: int) -> None:
        """Let that much of the cluster's time pass."""
        over = asyncio.Event()
        self._world.after(ns, over.set)
        with clients.waiting():
            await over.wait()


def _revision_in(call: ResourceCall) -> int:
    text = call.query.get("resourceVersion", "")
    return int(text) if text.isdecimal() else 0


def _throttled() -> StatusError:
    error = StatusError(429, "TooManyRequests", "Too many requests, please try again later.", {})
    error.retry_after_s = 1
    error.details = {"retryAfterSeconds": 1}
    return error
