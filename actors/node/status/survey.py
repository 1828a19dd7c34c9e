"""`NodeSurveyActor`: reads the machine and the runtime's images for the actor that publishes the node.

It reads the machine once, network and disk every period, and images once a minute and after a pull. Files are read on a
lane, since a mount may be dead and a resolver silent. Each kind has one read at a time. The owner gets the results; if
there is no answer the last value stands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from actors.kernel import Actor, ActorRef, Message, SoleMessage, handles
from actors.messages.node import (
    DiskObserved,
    ImagesChanged,
    ImagesObserved,
    MachineObserved,
    NetworkObserved,
    SurveyAgain,
)
from runtime.cri import Cri, StatusCode
from runtime.cri.messages import ListImagesRequest
from runtime.cri.verbs import LIST_IMAGES
from runtime.host.facts import HostFacts

R = TypeVar("R")

SECOND_NS = 1_000_000_000
LOOK_NS = 5 * SECOND_NS
"""The limit for one read of the machine."""
IMAGES_NS = 60 * SECOND_NS
IMAGES_TIMEOUT_NS = 60 * SECOND_NS

RUNTIME_IS_AWAY = f"({StatusCode.UNAVAILABLE.name})"
"""How the error of a call to a runtime that is not there ends. The runtime monitor says that, once."""


class BeginSurvey(SoleMessage, frozen=True):
    """To itself: time to read."""


class Read(Message, frozen=True):
    """To itself: `what` has been read. `found`: the message for the owner; None with an `error`."""

    what: str
    found: Message | None
    error: str = ""


class NodeSurveyActor(Actor):
    """See the module. `name`: of the node; `directory`: on the disk of pods; `owner`: gets the results."""

    health_limit_ns: ClassVar[int | None] = 60 * SECOND_NS

    def __init__(self, cri: Cri, host: HostFacts, name: str, directory: str, period_ns: int, owner: ActorRef) -> None:
        super().__init__()
        self._cri = cri
        self._host = host
        self._name = name
        self._directory = directory
        self._period_ns = period_ns
        self._owner = owner
        self._machine_read = False
        self._reading: set[str] = set()
        self._images_at_ns: int | None = None
        self._said: dict[str, str] = {}
        """The last error of each, as logged."""

    def on_start(self) -> None:
        self.every(self._period_ns, BeginSurvey())
        self.look(BeginSurvey())

    @handles(SurveyAgain)
    def survey_again(self, _: SurveyAgain) -> None:
        """Work: constant."""
        self._machine_read = False
        self._images_at_ns = None
        self.look(BeginSurvey())

    @handles(ImagesChanged)
    def images_changed(self, _: ImagesChanged) -> None:
        """Work: constant."""
        self._images_at_ns = None

    @handles(BeginSurvey)
    def look(self, _: BeginSurvey) -> None:
        """Work: constant."""
        host = self._host
        if not self._machine_read:
            self._ask("machine", host.machine, MachineObserved)
        self._ask("network", lambda: host.network(self._name), NetworkObserved)
        self._ask("disk", lambda: host.disk_bytes(self._directory), DiskObserved)
        at_ns = self._images_at_ns
        if at_ns is None or self.now_ns() - at_ns >= IMAGES_NS:
            self._list_images()

    def _ask(self, what: str, ask: Callable[[], R], told: Callable[[R], Message]) -> None:
        if what in self._reading:
            return
        self._reading.add(what)
        lane = self.lane("host-facts", size=1, per_key=1)
        self.attempt(
            lambda: lane.submit(what, ask, deadline_ns=LOOK_NS),
            lambda value, error: Read(what, None if value is None else told(value), error),
        )

    def _list_images(self) -> None:
        if "images" in self._reading:
            return
        self._reading.add("images")
        self._images_at_ns = self.now_ns()
        self.attempt(
            lambda: self._cri.call(LIST_IMAGES, ListImagesRequest(), timeout_ns=IMAGES_TIMEOUT_NS),
            lambda answer, error: Read("images", None if answer is None else ImagesObserved(answer.images), error),
        )

    @handles(Read)
    def read(self, message: Read) -> None:
        """Work: all images."""
        self._reading.discard(message.what)
        if message.error != self._said.get(message.what, ""):
            self._said[message.what] = message.error
            if message.error and not message.error.endswith(RUNTIME_IS_AWAY):
                self.log.warning("facts of the node (%s) cannot be read: %s", message.what, message.error)
        if message.found is not None:
            self._machine_read = self._machine_read or message.what == "machine"
            self._owner.tell(message.found)
        elif message.what == "images":
            self._images_at_ns = None
