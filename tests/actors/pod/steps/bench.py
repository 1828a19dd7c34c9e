"""A step on its own: the parts of a worker, without the worker, on a simulated dispatcher."""

from __future__ import annotations

from typing import Any

from actors.kernel import ActorSystem, Message, SimulatedDispatcher, handles, part
from actors.messages.pods import LookAgain
from actors.model.observed import ObservedPod
from actors.pod.one_pass import Outcome, PodPass, Step
from actors.pod.parts import PodParts
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from config.objects import Pod
from simulation.cri import Settings, SimulatedCri
from tests.actors.recorders import Recorder
from tests.actors.services import services_for

UID = "uid-1"


class Take(Message, frozen=True):
    """Take this step."""

    step: Step
    this: PodPass


class Holder(PodActor):
    """Has the parts, takes steps, and begins no passes of its own."""

    parts = part(PodParts)

    def __init__(self, services: PodServices, made: list[PodParts], outcomes: list[Outcome | Exception]) -> None:
        super().__init__()
        self.parts = PodParts(self, UID, services, None)
        self._outcomes = outcomes
        made.append(self.parts)

    @handles(Take)
    async def take(self, message: Take) -> None:
        try:
            self._outcomes.append(await message.step(message.this))
        except Exception as failure:
            self._outcomes.append(failure)

    @handles(LookAgain)
    def look(self, _: LookAgain) -> None: ...

    def go_on(self) -> Pass | None:
        return None

    def go_on_soon(self) -> None: ...

    def explain(self) -> None: ...


class Bench:
    """`asked` has the messages of these kinds that the parts have sent to any other actor."""

    def __init__(self, *kinds: type[Message], **services: Any) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.cri = SimulatedCri(self.dispatcher, Settings(images=("image:1",)))
        others, self.asked = Recorder.spawn_in(self.system, "others", *kinds)
        names = ("resources", "volumes", "ids", "image_gc", "images", "events", "cluster", "sync_loop")
        given = {"cri": self.cri, **dict.fromkeys(names, others), **services}
        made: list[PodParts] = []
        self._outcomes: list[Outcome | Exception] = []
        self.holder = self.system.spawn(
            Holder, services_for(self.dispatcher, self.system, **given), made, self._outcomes, name="holder"
        )
        self.dispatcher.run_for(0)
        [self.parts] = made

    def tell(self, *answers: Message) -> None:
        """Answers of other actors."""
        for answer in answers:
            self.holder.tell(answer)
        self.dispatcher.run_for(0)

    def passing(self, pod: Pod, **known: Any) -> PodPass:
        """A pass that has come to the step at hand. `known`: fields of it."""
        self.parts.view.pod = pod
        this = PodPass(pod, self.parts.view.runtime, ObservedPod(UID))
        for name, value in known.items():
            setattr(this, name, value)
        return this

    def take(self, step: Step, this: PodPass, seconds: float = 0) -> Outcome:
        """The outcome of the step. Raises what it raises."""
        before = len(self._outcomes)
        self.holder.tell(Take(step, this))
        self.dispatcher.run_for(int(seconds * 10**9))
        [outcome] = self._outcomes[before:]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def step_of(self, kind: type) -> Step:
        """The gate or step of a pass that a part of this class owns."""
        steps = (*self.parts.gates, *self.parts.steps)
        [found] = [each for each in steps if isinstance(getattr(each, "__self__", None), kind)]
        return found

    def outcome(self, step: Step, pod: Pod, **known: Any) -> Outcome:
        return self.take(step, self.passing(pod, **known))
