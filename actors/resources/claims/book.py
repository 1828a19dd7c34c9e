"""A part of `ResourceClaimsActor`: the book of claims, and what is due of each (spec 10.12).

`life.py` says what is due; here it is done. What changes goes to the disk before a driver is called, and what drivers
said goes there before a pod hears it. A call that failed is made again after a pause, while somebody needs the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from actors.kernel import Actor, Message, Rank, handles, part
from actors.model.disk_lane import DISK_LANE_SIZE
from actors.resources.book_saves import BookSaves
from actors.resources.claims.calls import PREPARE, UNPREPARE, DriverCalls
from actors.resources.claims.life import Called, ClaimLife, ClaimStage, Event, PreparedBy, UnpreparedBy, advance
from actors.resources.claims.written import read_claims, written_claims
from config.frozen_map import FrozenMap
from runtime.dra.capability import DraDrivers, Prepared
from runtime.metrics.claims import ANY, IN_USE
from runtime.metrics.meters import Meters
from runtime.state.opaque_file import OpaqueFile

T = TypeVar("T")

SECOND_NS = 1_000_000_000
DISK_NS = 15 * SECOND_NS
SAVE_AGAIN_NS = 30 * SECOND_NS
FIRST_PAUSE_NS = SECOND_NS
LONGEST_PAUSE_NS = 60 * SECOND_NS


class ClaimsRead(Message, frozen=True):
    """To itself: the claims in the file, or why it is of no use."""

    lives: tuple[ClaimLife, ...]
    error: str


class BookWritten(Message, frozen=True):
    """To itself: this write has ended."""

    number: int
    error: str


class WriteAgain(Message, frozen=True):
    """To itself: try the disk again."""


class TryClaim(Message, frozen=True):
    """To itself: the pause of this claim is over."""

    uid: str


class ClaimBook:
    """See the module.

    `is_wanted`: whether a pod waits for the claim now. It calls `on_read` when the file has been read, `on_change` when
    drivers have answered, and `on_write` when a write has ended, with the reason if it failed.
    """

    calls = part(DriverCalls)

    def __init__(
        self,
        actor: Actor,
        drivers: DraDrivers,
        file: OpaqueFile,
        meters: Meters,
        *,
        is_wanted: Callable[[ClaimLife], bool],
        on_read: Callable[[], None],
        on_change: Callable[[], None],
        on_write: Callable[[str], None],
    ) -> None:
        self._actor = actor
        self._file = file
        self._meters = meters
        self._is_wanted, self._on_read, self._on_change, self._on_write = is_wanted, on_read, on_change, on_write
        self.here = frozenset(drivers.names())
        """The drivers that are registered."""
        self.is_read = False
        self._lives: dict[str, ClaimLife] = {}
        """By the UID of the claim."""
        self._answers: dict[str, dict[str, Prepared]] = {}
        """Claim -> driver -> its answer to the call under way."""
        self._failures: dict[str, int] = {}
        self._pausing: set[str] = set()
        self._saves = BookSaves()
        self.calls = DriverCalls(actor, drivers, self._driver_answered)
        self._counted: dict[str, int] = {}
        """Driver -> its claims that are prepared, as the metric has it."""

    @property
    def lives(self) -> Mapping[str, ClaimLife]:
        """All claims in use, by UID."""
        return self._lives

    def is_saved(self) -> bool:
        """Whether the disk has the book as it is now."""
        return self._saves.is_saved()

    # --- the file ---------------------------------------------------------------------------------------------------

    def read(self) -> None:
        """Begin: the actor has started."""
        self._disk = self._actor.lane("disk", size=DISK_LANE_SIZE, per_key=2)
        self._actor.attempt(
            lambda: self._on_disk(self._file.load, read_claims),
            lambda lives, error: ClaimsRead(lives or (), error),
        )
        self._meters.put(IN_USE, 0, ANY)

    def _on_disk(self, operation: Callable[..., T], *args: Any) -> Any:
        return self._disk.submit("claims", operation, *args, deadline_ns=DISK_NS, rank=Rank.FIRST)

    @handles(ClaimsRead)
    def claims_read(self, message: ClaimsRead) -> None:
        """Work: all claims in use."""
        self.is_read = True
        if message.error:
            self._actor.log.warning(
                "which claims are prepared cannot be read, and is found out anew: %s", message.error
            )
        for life in message.lives:
            self._lives.setdefault(life.ref.uid, life)
        self._on_read()
        self.go_on()

    def _save(self) -> None:
        number = self._saves.begin()
        if number is not None:
            content = written_claims(self._lives.values())
            self._actor.attempt(
                lambda: self._on_disk(self._file.save, content), lambda _, error: BookWritten(number, error)
            )

    @handles(BookWritten)
    def book_written(self, message: BookWritten) -> None:
        """Work: all claims in use, and the pods that wait."""
        self._saves.ended(message.number, message.error)
        if message.error:
            self._actor.log.warning("which claims are prepared cannot be saved: %s", message.error)
            self._actor.after(SAVE_AGAIN_NS, WriteAgain(), key="write")
        self._on_write(message.error)
        if not message.error:
            self.go_on()

    @handles(WriteAgain)
    def write_again(self, _: WriteAgain) -> None:
        """Work: all claims in use."""
        self.go_on()

    # --- what is due --------------------------------------------------------------------------------------------------

    def drivers_here(self, names: frozenset[str]) -> None:
        """These drivers are registered, and no others. What failed is tried again at once."""
        self.here = names
        self._pausing.clear()

    def advance(self, life: ClaimLife, event: Event) -> ClaimLife:
        """Let this happen to the claim, which may be new; its life after that. `go_on` does what is due."""
        before = self._lives.get(life.ref.uid)
        after = advance(life, event)
        if after.stage is ClaimStage.GONE:
            self._lives.pop(after.ref.uid, None)
            self._failures.pop(after.ref.uid, None)
            self._pausing.discard(after.ref.uid)
        else:
            self._lives[after.ref.uid] = after
        if (before is not None and before.stage is ClaimStage.PREPARED) is not (after.stage is ClaimStage.PREPARED):
            self._count(after, 1 if after.stage is ClaimStage.PREPARED else -1)
        if before is None or after.stage is ClaimStage.GONE or _kept(before) != _kept(after):
            self._saves.changed()
        return after

    def _count(self, life: ClaimLife, by: int) -> None:
        """A claim is prepared now, or is no more. A driver without claims has no series."""
        for driver in (ANY, *life.drivers):
            count = self._counted[driver] = self._counted.get(driver, 0) + by
            if count or driver == ANY:
                self._meters.put(IN_USE, count, driver)
            else:
                del self._counted[driver]
                self._meters.drop(IN_USE, driver)

    def go_on(self) -> None:
        """Save what has changed; call drivers for what is on the disk."""
        if not self.is_read:
            return
        self._save()
        if not self._saves.is_saved():
            return
        for life in list(self._lives.values()):
            if life.ref.uid in self._pausing or not self.here.issuperset(life.drivers):
                continue
            if life.stage is ClaimStage.WANTED and self._is_wanted(life):
                self._call(life, PREPARE, life.missing)
            elif life.stage is ClaimStage.ENDING:
                self._call(life, UNPREPARE, life.drivers)

    def _call(self, life: ClaimLife, method: str, drivers: tuple[str, ...]) -> None:
        if method == PREPARE and not drivers:
            # An earlier agent has heard of all of them; a new sandbox wants to hear it again.
            life = msgspec.structs.replace(life, devices=FrozenMap())
            drivers = life.drivers
        self.advance(life, Called())
        self._answers[life.ref.uid] = {}
        for driver in drivers:
            self.calls.ask(driver, method, life.ref, min(life.pods, default=""))
        if not drivers:
            self.advance(self._lives[life.ref.uid], PreparedBy(FrozenMap()) if method == PREPARE else _ALL_DONE)
            self._on_change()
            self._save()

    def _driver_answered(self, driver: str, method: str, uid: str, answer: Prepared) -> None:
        life = self._lives.get(uid)
        if life is None:
            return
        answers = self._answers.setdefault(uid, {})
        answers[driver] = answer
        wanted = life.missing if method == PREPARE else life.drivers
        if any(each not in answers for each in wanted):
            return
        del self._answers[uid]
        error = "; ".join(answers[each].error for each in sorted(answers) if answers[each].error)
        if method == PREPARE:
            devices = {each: answer.devices for each, answer in answers.items() if not answer.error}
            life = self.advance(life, PreparedBy(FrozenMap(devices), error))
        else:
            done = frozenset(each for each, answer in answers.items() if not answer.error)
            life = self.advance(life, UnpreparedBy(done, error))
        if error:
            self._pause(life, error)
        else:
            self._failures.pop(uid, None)
        self._on_change()
        self.go_on()

    def _pause(self, life: ClaimLife, error: str) -> None:
        uid = life.ref.uid
        failures = self._failures[uid] = self._failures.get(uid, 0) + 1
        pause_ns = min(FIRST_PAUSE_NS << min(failures - 1, 10), LONGEST_PAUSE_NS)
        self._pausing.add(uid)
        self._actor.log.warning("claim %s/%s: %s", life.ref.namespace, life.ref.name, error)
        self._actor.after(pause_ns, TryClaim(uid), key=("claim", uid))

    @handles(TryClaim)
    def try_claim(self, message: TryClaim) -> None:
        """Work: all claims in use."""
        self._pausing.discard(message.uid)
        self.go_on()


_ALL_DONE = UnpreparedBy(frozenset())


def _kept(life: ClaimLife) -> tuple[Any, ...]:
    """What the file tells of the claim."""
    return (life.drivers, life.pods, life.devices)
