"""Would this node take a pod now, and who would have to go? Pure (`explain --what-if`).

The functions are those of admission: `admit`, then `assign`. They work on a copy of what `ResourceManagerActor` knows,
on the thread of whoever asks. So a long search holds up no admission, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import combinations, islice
from typing import TypeVar

import msgspec

from actors.kernel import Message
from actors.messages.devices import NodeDevices
from actors.model.allocation import Allocation, Book, allocation_of
from actors.model.devices import PodDevices
from actors.model.shares import NO_SHARES, PodShares, ShareBook, exclusive_cpus
from actors.resources.abilities import Abilities
from actors.resources.admission import (
    NO_PRESSURE,
    Admitted,
    NodeIsStale,
    NodePressure,
    Preempts,
    Snapshot,
    admit,
    wants_nothing_of_its_own,
)
from actors.resources.devices.choosing import DeviceSearch
from actors.resources.devices.wanted import never_listed, without_healthy
from actors.resources.shares.assigning import NamedHints, assign_with_hints
from actors.resources.shares.book import shared_cpus
from actors.resources.shares.rules import ShareRules
from actors.resources.verdict import Rejected
from config.frozen_map import FrozenMap
from config.objects import Node, Pod
from config.values.quantity import QuantityError
from runtime.host.topology import MachineTopology

T = TypeVar("T")
PODS_THAT_GO = 3
TRIES = 5_000
"""How many sets of pods are tried; some seconds of work on a node with 110 pods."""


class TellNode(Message, frozen=True):
    """Edge -> ResourceManagerActor (ask): what do you decide by?

    Answered with `KnownNode`; None while unknown.
    """


class KnownNode(msgspec.Struct, frozen=True):
    """All that admission decides by. `rules` None: no pod has CPUs or memory for itself."""

    node: Node
    allocations: tuple[Allocation, ...]
    abilities: Abilities
    pressure: NodePressure = NO_PRESSURE
    shutting_down: bool = False
    machine: MachineTopology = MachineTopology()
    rules: ShareRules | None = None
    shares: ShareBook = NO_SHARES
    devices: NodeDevices = NodeDevices()
    waits_for_plugins: bool = False
    """Whether pods wait for plugins that are away."""


class TellRefusal(Message, frozen=True):
    """Edge -> ResourceManagerActor (ask): what did you decide by when you refused the pod of this UID?

    Answered with `Refusal`; None if it is not remembered.
    """

    uid: str


class Refusal(msgspec.Struct, frozen=True):
    """The node when it refused a pod, without that pod, and when that was."""

    wall_ns: int
    node: KnownNode


class Foreseen(msgspec.Struct, frozen=True):
    """What admission would do.

    `refused` None: the node takes the pod, after the end of `victims`, which it preempts. Then the shares are not known
    yet. `pool`: the CPUs of containers without their own. `hints`: those that do not fit together. `devices`: of
    plugins, which may prefer others. `waits_for`: resources whose plugin is away; nothing else is known yet.
    """

    refused: Rejected | None = None
    victims: tuple[Allocation, ...] = ()
    shares: PodShares = PodShares()
    pool: frozenset[int] = frozenset()
    hints: tuple[NamedHints, ...] = ()
    devices: PodDevices = FrozenMap()
    waits_for: tuple[str, ...] = ()


class WhoWouldGo(msgspec.Struct, frozen=True):
    """The fewest pods without which the node takes the pod; () if there are none.

    `refused`: why it refuses the pod even without all other pods, or None. `tried_all`: there was no need to stop.
    """

    pods: tuple[Allocation, ...] = ()
    refused: Rejected | None = None
    tried_all: bool = True


def foresee(pod: Pod, known: KnownNode) -> Foreseen:
    """What admission would do with the pod now."""
    return _Trial(pod, known).without(())


def who_would_go(pod: Pod, known: KnownNode, *, tries: int = TRIES) -> WhoWouldGo:
    """The fewest pods that would have to go for a refused pod, up to three, those with most first."""
    trial = _Trial(pod, known)
    refused = trial.without(known.allocations).refused
    if refused is not None:
        return WhoWouldGo(refused=refused)
    pods = sorted(known.allocations, key=lambda each: _size(each, known.shares))
    sets = (some for size in range(1, PODS_THAT_GO + 1) for some in combinations(pods, size))
    for some in islice(sets, tries):
        if trial.without(some, why=False).refused is None:
            return WhoWouldGo(some)
    return WhoWouldGo(tried_all=next(sets, None) is None)


def _size(pod: Allocation, shares: ShareBook) -> tuple[int, int, int, str]:
    """The pods with most come first."""
    cpus = len(exclusive_cpus(shares[pod.uid])) if pod.uid in shares else 0
    return -cpus, -pod.requests.get("cpu", 0), -pod.requests.get("memory", 0), pod.uid


class _Trial:
    """Asks admission again and again, each time without some of the pods."""

    def __init__(self, pod: Pod, known: KnownNode) -> None:
        self._pod = pod
        self._known = known
        self._book = Book()
        for allocation in known.allocations:
            self._book.put(allocation)

    def without(self, gone: Sequence[Allocation], *, why: bool = True) -> Foreseen:
        """What admission would do without these pods. `why`: whether the reason of a refusal matters."""
        with ExitStack() as stack:
            for each in gone:
                stack.enter_context(self._book.without(each.uid))
            return self._foreseen(frozenset(each.uid for each in gone), why)

    def _foreseen(self, gone: frozenset[str], why: bool) -> Foreseen:
        known, offers = self._known, self._known.devices.offers
        snapshot = Snapshot(
            known.node,
            self._book,
            known.abilities,
            pressure=known.pressure,
            shutting_down=known.shutting_down,
            offers=offers,
        )
        try:
            listed = known.node.status.allocatable if known.node.status is not None else {}
            away = (*without_healthy(self._pod, offers), *never_listed(self._pod, offers, listed))
            if away and known.waits_for_plugins:
                return Foreseen(waits_for=away)
            own = self._own(gone | {self._pod.metadata.uid})
            asked = (lambda: own().refused) if why else wants_nothing_of_its_own
            verdict = admit(self._pod, allocation_of(self._pod), snapshot, asked)
            if isinstance(verdict, NodeIsStale):
                verdict = verdict.otherwise
            if isinstance(verdict, Preempts):
                return Foreseen(victims=verdict.victims)
            if isinstance(verdict, Admitted) or (why and verdict == own().refused):
                return own()
            return Foreseen(verdict)
        except QuantityError as fault:
            return Foreseen(Rejected("UnexpectedAdmissionError", str(fault)))

    def _own(self, left: frozenset[str]) -> Callable[[], Foreseen]:
        """What the pod would have for itself, without the pods that have left. Raises QuantityError."""
        known = self._known

        @cache
        def own() -> Foreseen:
            search = DeviceSearch(known.devices.offers, _left(known.devices.book, left), self._pod)
            if known.rules is None:
                return Foreseen(search.take_all(), devices=search.found())
            book = _left(known.shares, left)
            found, hints = assign_with_hints(known.machine, book, self._pod, known.rules, search)
            if isinstance(found, Rejected):
                return Foreseen(found, hints=hints)
            has_cpus = known.rules.cpus is not None
            pool = shared_cpus(known.machine, known.rules, book | {"": found}) if has_cpus else frozenset[int]()
            return Foreseen(shares=found, pool=pool, devices=search.found())

        return own


def _left(book: FrozenMap[str, T], gone: Collection[str]) -> FrozenMap[str, T]:
    return FrozenMap({uid: has for uid, has in book.items() if uid not in gone})
