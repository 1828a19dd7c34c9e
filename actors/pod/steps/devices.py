"""Part of the starts of containers: the devices of plugins that they get (spec 10.11).

The node tells what the pod has before it answers the question for admission. After a start of the agent containers wait
for plugins that have not come back; those that run go on. A plugin that wants to know of starts is told of each.
"""

from __future__ import annotations

from actors.kernel import handles
from actors.messages.devices import AnnounceStart, DevicesGiven, StartAnnounced
from actors.model.devices import HeldDevices
from actors.model.refusal import ContainerRefusedError
from actors.pod.one_pass import PassWait
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from actors.pod.view import PodView, Question
from actors.start.devices import NO_SETUP, joined_setup
from config.frozen_map import FrozenMap
from runtime.device_plugins.capability import DeviceSetup

UNTOLD = PassWait("the node is asked which devices it has", "its containers start then")
NONE_HELD: FrozenMap[str, HeldDevices] = FrozenMap()


class PodDevices:
    def __init__(self, worker: PodActor, services: PodServices, view: PodView) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._questions: dict[tuple[str, str], Question] = {}
        """(Container, resource) -> the question whether the container may start."""
        self._answers: dict[tuple[str, str], str] = {}
        """The same -> the answer, an error or empty. Each counts for one start."""

    def wait(self) -> PassWait | None:
        """What the containers of a pod that asks for devices wait for; None: for nothing."""
        if self._services.device_plugins is None:
            return None
        given = self._view.devices
        if given is None:
            return UNTOLD
        if not given.awaited:
            return None
        plugins = " and ".join(given.awaited)
        return PassWait(f"the device plugin of {plugins} has not registered yet", "its containers start then")

    def announcing(self) -> frozenset[str]:
        """Names of containers whose plugins have not answered yet."""
        return frozenset(name for (name, _), question in self._questions.items() if not question.is_due())

    def setup(self, name: str, path: str) -> DeviceSetup | None:
        """What a container needs for its devices at one start; None: wait.

        `path`: document path of the container. Raises ContainerRefusedError if a plugin objects.
        """
        given = self._view.devices
        if given is None:
            return NO_SETUP
        held = given.devices.get(name, NONE_HELD)
        announced = [(name, resource) for resource in held if resource in given.announced]
        missing = [key for key in announced if key not in self._answers]
        for key in missing:
            self._ask(key, held[key[1]])
        if missing:
            return None
        errors = [error for key in announced if (error := self._answers.pop(key))]
        if errors:
            raise ContainerRefusedError(f"{path}.resources", errors[0])
        return joined_setup(held)

    def _ask(self, key: tuple[str, str], held: HeldDevices) -> None:
        plugins, (name, resource) = self._services.device_plugins, key
        question = self._questions.setdefault(key, Question(self._worker, f"start {name} {resource}"))
        if plugins is not None and question.may_ask():
            plugins.tell(AnnounceStart(self._worker.ref, resource, self._view.uid, name, held.ids))

    @handles(StartAnnounced)
    def announced(self, message: StartAnnounced) -> Pass | None:
        key = (message.container, message.resource)
        question = self._questions.pop(key, None)
        if question is None:
            return None
        question.answered()
        self._answers[key] = message.error
        return self._worker.go_on()

    @handles(DevicesGiven)
    def devices_given(self, message: DevicesGiven) -> Pass | None:
        before, self._view.devices = self._view.devices, message
        return None if before == message else self._worker.go_on()
