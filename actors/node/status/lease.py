"""`NodeLeaseActor`: renews the Lease of this node, the cluster's sign that it lives (spec 9.6).

It does nothing else and waits for no other actor. It renews four times in the lease's duration, each with a deadline of
its own, on an API line without a rate limit that drops connections that do not answer. A failure is retried at once, a
few times. Only a lease that can be neither read nor made is retried with growing pauses.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from actors.kernel import Actor, DeadlineExceededError, SoleMessage, handles
from actors.messages.pods import NodeObserved
from actors.node_object.lease import NAMESPACE, next_lease, renew_interval_ns
from config.api.resources import LEASES
from config.objects import Lease, Node
from runtime.api import Api, ApiCall, ApiError, create, get, update
from runtime.api.errors import TIMEOUT

R = TypeVar("R")

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
JITTER = 0.04
TRIES = 5
FIRST_DELAY_NS = 100 * MILLISECOND_NS
MAX_DELAY_NS = 7 * SECOND_NS


class Renew(SoleMessage, frozen=True):
    """To itself: time to renew."""


class NodeLeaseActor(Actor):
    """See the module. `api`: the line without a limit. `NodeObserved` makes the Node the lease's owner."""

    health_limit_ns: ClassVar[int | None] = 120 * SECOND_NS

    def __init__(self, api: Api, node_name: str, duration_seconds: int) -> None:
        super().__init__()
        self._api = api
        self._name = node_name
        self._duration_seconds = duration_seconds
        self._interval_ns = renew_interval_ns(duration_seconds)
        self._lease: Lease | None = None
        self._node: Node | None = None
        self._delay_ns = FIRST_DELAY_NS
        self._failing = False

    def on_start(self) -> None:
        self.ref.tell(Renew())

    @handles(NodeObserved)
    def node_observed(self, message: NodeObserved) -> None:
        """Work: constant."""
        self._node = message.node

    @handles(Renew)
    async def renew(self, _: Renew) -> None:
        # Set the timer before the call, so that a slow API server does not make renewals rarer.
        """Work: constant."""
        self.after(int(self._interval_ns * (1 + JITTER * self.chance.random())), Renew())
        failure: Exception | None = None
        for attempt in range(TRIES):
            try:
                await self._renew()
            except (ApiError, DeadlineExceededError) as error:
                failure = error
                if isinstance(error, DeadlineExceededError) or error.reason == TIMEOUT:
                    self.log.info("a renewal of the lease of node %s is given up: %s", self._name, error)
                if isinstance(error, ApiError) and (error.conflict or error.not_found or error.already_exists):
                    self._lease = None  # somebody else changed or deleted it: read it again
                if self._lease is None and attempt:
                    break
            else:
                self._well()
                return
        self._failed(failure)

    async def _renew(self) -> None:
        """Renew the lease, or make it. Raises ApiError."""
        if self._lease is None:
            try:
                self._lease = await self._call(get(LEASES, NAMESPACE, self._name))
            except ApiError as error:
                if not error.not_found:
                    raise
                self._lease = await self._call(create(LEASES, NAMESPACE, self._next(None)))
                return
        self._lease = await self._call(update(LEASES, NAMESPACE, self._next(self._lease)))

    def _next(self, base: Lease | None) -> Lease:
        return next_lease(base, self._name, self._duration_seconds, self.wall_ns(), self._node)

    async def _call(self, call: ApiCall[R]) -> R:
        pending = self._api.call(call, timeout_ns=self._interval_ns)
        return await self.wait(pending, timeout_ns=self._interval_ns, what=call.verb)

    def _failed(self, failure: Exception | None) -> None:
        if not self._failing:
            self._failing = True
            self.log.warning("the lease of node %s cannot be renewed: %s", self._name, failure)
        if self._lease is None:
            self._delay_ns = min(2 * self._delay_ns, MAX_DELAY_NS)
            self.after(self._delay_ns, Renew())

    def _well(self) -> None:
        self._delay_ns = FIRST_DELAY_NS
        if self._failing:
            self._failing = False
            self.log.info("the lease of node %s is renewed again", self._name)
