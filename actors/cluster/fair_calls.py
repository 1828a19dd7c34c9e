"""`FairCalls`: an actor's calls to the API server, in turns by pod (`FairTurns`).

Some calls are in flight, few of one pod; the others wait. A call that several pods wait for has a place with each of
them, and is made when the first of them has its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from actors.cluster.fair_turns import FairTurns
from actors.kernel import Actor, Pending
from runtime.api import Api, ApiCall, in_turn_of

T = TypeVar("T")


class FairCall(Generic[T]):
    """A call that waits for its turn (`waits`), or does so no more."""

    __slots__ = ("call", "then", "timeout_ns", "waits")

    def __init__(self, call: ApiCall[T], then: Callable[[Pending[T]], Any], timeout_ns: int) -> None:
        self.call = call
        self.then = then
        self.timeout_ns = timeout_ns
        self.waits = True

    def drop(self) -> None:
        """Nobody wants this call any more. One that is in flight goes on."""
        self.waits = False


class FairCalls:
    """See the module.

    `actor` gets the ends of calls as its own effects; its `max_effects` is at least `at_most`.
    """

    def __init__(self, actor: Actor, api: Api, *, at_most: int, of_pod: int) -> None:
        self._actor = actor
        self._api = api
        self._turns: FairTurns[tuple[FairCall[Any], bool]] = FairTurns(
            at_most=at_most, of_pod=of_pod, is_wanted=lambda each: each[0].waits
        )

    def begin(
        self,
        uid: str,
        call: ApiCall[T],
        then: Callable[[Pending[T]], Any],
        *,
        timeout_ns: int,
        urgent: bool = False,
    ) -> FairCall[T]:
        """Make a call for the pod of that UID, now or later; `then` is as in `Actor.begin`."""
        waiting = FairCall(call, then, timeout_ns)
        self.join(waiting, uid, urgent=urgent)
        return waiting

    def join(self, call: FairCall[Any], uid: str, *, urgent: bool = False) -> None:
        """The pod of that UID waits for this call too."""
        if call.waits:
            self._turns.wait(uid, (call, urgent), urgent=urgent)
            self._make_all()

    def forget(self, uid: str) -> None:
        """The pod wants none of its calls any more.

        `then` does not come for those that wait only for this pod.
        """
        self._turns.forget(uid)

    def _make_all(self) -> None:
        while (turn := self._turns.begin()) is not None:
            uid, (waiting, urgent) = turn
            waiting.waits = False
            self._make(uid, in_turn_of(waiting.call, uid, urgent=urgent), waiting)

    def _make(self, uid: str, call: ApiCall[Any], waiting: FairCall[Any]) -> None:
        api, timeout_ns, then = self._api, waiting.timeout_ns, waiting.then

        def ended(done: Pending[Any]) -> Any:
            self._turns.over(uid)
            self._make_all()
            return then(done)

        self._actor.begin(lambda: api.call(call, timeout_ns=timeout_ns), ended)
