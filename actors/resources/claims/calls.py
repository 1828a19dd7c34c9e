"""A part of `ResourceClaimsActor`: its calls to drivers, several claims in each.

A driver has at most `AT_ONCE` calls under way, of up to `BATCH` claims. What comes meanwhile goes with the next one.
A call to prepare claims has those of one pod: a driver that fails it, or takes long, costs that pod alone.
Calls run on a lane with the driver as key: a driver that hangs costs its own claims, and holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from actors.kernel import Actor, Message, handles
from config.frozen_map import FrozenMap
from runtime.dra.capability import ClaimRef, DraDrivers, Prepared

SECOND_NS = 1_000_000_000
CALL_NS = 60 * SECOND_NS
"""For a call that does not keep its own deadline, which is shorter."""
AT_ONCE = 8
BATCH = 64
PREPARE, UNPREPARE = "NodePrepareResources", "NodeUnprepareResources"


class DriverAnswered(Message, frozen=True):
    """To itself: a call has ended.

    `answers`: UID -> what the driver says of the claim; None: the call failed.
    """

    driver: str
    method: str
    claims: tuple[ClaimRef, ...]
    answers: FrozenMap[str, Prepared] | None
    error: str


class SendCalls(Message, frozen=True):
    """To itself: what has gathered for this driver leaves now."""

    driver: str


class DriverCalls:
    """See the module. `on_answer` gets (driver, method, UID, answer)."""

    def __init__(self, actor: Actor, drivers: DraDrivers, on_answer: Callable[[str, str, str, Prepared], None]) -> None:
        self._actor = actor
        self._drivers = drivers
        self._on_answer = on_answer
        self._waiting: dict[str, dict[ClaimRef, tuple[str, str]]] = {}
        """Driver -> claim -> method and pod, in the order in which they came."""
        self._under_way: dict[str, int] = {}

    def ask(self, driver: str, method: str, claim: ClaimRef, pod: str = "") -> None:
        """Call the driver for this claim, together with what else comes in this turn for the same pod."""
        waiting = self._waiting.setdefault(driver, {})
        if not waiting:
            self._actor.ref.tell(SendCalls(driver))
        waiting[claim] = (method, pod)

    @handles(SendCalls)
    def send(self, message: SendCalls) -> None:
        """Work: the claims of one call."""
        driver = message.driver
        while (waiting := self._waiting.get(driver)) and self._under_way.get(driver, 0) < AT_ONCE:
            first = next(iter(waiting.values()))
            batch = [claim for claim, each in waiting.items() if each == first][:BATCH]
            for claim in batch:
                del waiting[claim]
            self._call(driver, first[0], tuple(batch))
        if not self._waiting.get(driver):
            self._waiting.pop(driver, None)

    def _call(self, driver: str, method: str, claims: tuple[ClaimRef, ...]) -> None:
        self._under_way[driver] = self._under_way.get(driver, 0) + 1
        drivers = self._drivers

        def call() -> Mapping[str, Prepared] | Mapping[str, str]:
            found = drivers.find(driver)
            if found is None:
                raise LookupError(f"DRA driver {driver} is not registered")
            return found.prepare(claims) if method == PREPARE else found.unprepare(claims)

        lane = self._actor.lane("drivers", size=64, per_key=AT_ONCE)
        self._actor.attempt(
            lambda: lane.submit(driver, call, deadline_ns=CALL_NS),
            lambda answers, error: DriverAnswered(driver, method, claims, _as_prepared(answers), error),
        )

    @handles(DriverAnswered)
    def answered(self, message: DriverAnswered) -> None:
        """Work: the claims of one call."""
        driver, method = message.driver, message.method
        left = self._under_way.get(driver, 1) - 1
        if left:
            self._under_way[driver] = left
        else:
            self._under_way.pop(driver, None)
        for claim in message.claims:
            self._on_answer(driver, method, claim.uid, _of_claim(message, claim))
        if self._waiting.get(driver):
            self._actor.ref.tell(SendCalls(driver))


def _of_claim(message: DriverAnswered, claim: ClaimRef) -> Prepared:
    """What the driver said of one claim: one that it passes over has failed."""
    if message.answers is None:
        return Prepared(error=f"{message.method}: {message.error}")
    answer = message.answers.get(claim.uid)
    if answer is None:
        return Prepared(error=f"{message.method} skipped ResourceClaim {claim.name}")
    if answer.error:
        return Prepared(error=f"{message.method} failed for ResourceClaim {claim.name}: {answer.error}")
    return answer


def _as_prepared(answers: Mapping[str, Prepared] | Mapping[str, str] | None) -> FrozenMap[str, Prepared] | None:
    if answers is None:
        return None
    told = {uid: Prepared(error=each) if isinstance(each, str) else each for uid, each in answers.items()}
    return FrozenMap(told)
