"""No container starts before the images of its pod are leased.

The runtime is asked for them while the sandbox is made. While its image cannot be pulled, a container shows the reason.
"""

from __future__ import annotations

from typing import Any

import pytest

from actors.images.pull_rules import ImageAction
from actors.kernel import Message
from actors.messages.admission import PodAdmitted
from actors.messages.images import ImagePullFailed, ImagesLeased
from actors.pod.one_pass import CONTINUE, Outcome, PassWait, PodPass, StartPlace
from actors.pod.steps.images import AHEAD_AT_MOST, AHEAD_GOOD_FOR_NS
from actors.pod_rules.action_types import Start
from actors.pod_rules.actions import PodActions
from actors.pod_rules.container_start import PullNeeded, Wanted
from config.objects import Container
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import PodSandboxConfig
from tests.actors.pod.steps.bench import Bench
from tests.actors.pod_pictures import pod

SECOND_NS = 1_000_000_000
WEB = pod("app")
PLACE = StartPlace(0, "box-0", PodSandboxConfig())
WAITS = PassWait(
    "an image that it names is just being removed, or nobody has said yet that none is",
    "its containers are started then",
)


@pytest.mark.parametrize(
    ("place", "answers", "services", "expected"),
    [
        pytest.param(None, (), {}, CONTINUE, id="nothing is to be started"),
        pytest.param(PLACE, (), {}, WAITS, id="no answer"),
        pytest.param(PLACE, (ImagesLeased(frozenset({"image:1"})),), {}, CONTINUE, id="leased"),
        pytest.param(PLACE, (ImagesLeased(frozenset({"image:2"})),), {}, WAITS, id="an answer to another question"),
        pytest.param(PLACE, (), {"image_gc": None}, CONTINUE, id="nobody removes images"),
    ],
)
# (spec 3.7.1)
def test_containers_wait_for_the_leases(
    place: StartPlace | None, answers: tuple[Message, ...], services: dict[str, Any], expected: Outcome
):
    bench = Bench(**services)
    bench.parts.leases.pod_desired(WEB)
    bench.tell(*answers)
    assert bench.outcome(bench.parts.leases.step, WEB, place=place) == expected


@pytest.mark.parametrize(
    ("asking_s", "retry_s", "shown"),
    [
        pytest.param(0, 10, ["ErrImagePull", "ImagePullBackOff", "ImagePullBackOff"], id="no program is slow"),
        pytest.param(60, 40, ["ErrImagePull"] * 3, id="the program hangs for longer than the back-off lasts"),
        pytest.param(5, 80, ["ErrImagePull", "ErrImagePull", "ImagePullBackOff"], id="and for less long"),
    ],
)
def test_a_failed_pull_shows_its_reason_for_as_long_as_the_credential_programs_took(
    asking_s: int, retry_s: int, shown: list[str]
):
    failed = ImagePullFailed("app:1", "app", "ErrImagePull", "denied", retry_s * SECOND_NS, asking_s * SECOND_NS)
    bench = Bench()
    lives = bench.parts.view.start_lives
    lives.meet("app", Wanted("app:1"))
    lives.meet("app", PullNeeded(0))
    bench.tell(failed)
    found = []
    for at_s in (0, 2, 9):
        lives.meet("app", Wanted("app:1"))
        found.append(lives.meet("app", PullNeeded(at_s * SECOND_NS)).reason)
    assert found == shown


LEASED = ImagesLeased(frozenset({"image:1"}))


class Looks:
    """Looks at `image:1`, ahead of its container and then for it.

    `told` has the images that the runtime was asked for, and `verbs` all calls. `fails`: so many looks fail, from the
    first on.
    """

    def __init__(self, *answers: Message, fails: int = 0) -> None:
        self.bench = Bench()
        self.told: list[str] = []
        self.verbs: list[str] = []
        self._fails = fails
        self.bench.cri.intercept(self._call)
        self.bench.parts.leases.pod_desired(WEB)
        self.bench.tell(*answers)

    def _call(self, verb: str, request: Any, do: Any) -> Any:
        self.verbs.append(verb)
        if verb == "ImageStatus":
            self.told.append(request.image.image)
            if len(self.told) <= self._fails:
                raise CriError(StatusCode.UNKNOWN, "no", verb)
        return do(verb, request)

    def ahead(self, *containers: Container, create_sandbox: bool = True) -> None:
        starts = tuple(Start(each, 0) for each in containers or WEB.spec.containers[:1])
        actions = PodActions(create_sandbox=create_sandbox, start=starts)
        parts = self.bench.parts
        self.bench.outcome(parts.admission.step, WEB)
        self.bench.tell(PodAdmitted())
        assert self.bench.take(parts.sandbox.step, self.bench.passing(WEB, actions=actions), seconds=1) is CONTINUE

    def found(self) -> ImageAction:
        verdicts: list[ImageAction] = []

        async def step(_: PodPass) -> Outcome:
            found, verdict = await self.bench.parts.containers.images.find("image:1", "IfNotPresent", is_pulled=False)
            assert (found is not None) is (verdict.action is ImageAction.USE)
            verdicts.append(verdict.action)
            return CONTINUE

        self.bench.outcome(step, WEB)
        return verdicts[0]


def test_an_image_is_looked_at_once_while_the_sandbox_is_made():
    looks = Looks(LEASED)
    looks.ahead()
    assert looks.told == ["image:1"]
    assert looks.found() is ImageAction.USE
    assert looks.told == ["image:1"]
    assert looks.verbs == ["RunPodSandbox", "ImageStatus", "PodSandboxStatus"]


def test_the_first_images_are_looked_at_in_the_order_of_their_containers():
    images = [f"image:{number}" for number in range(20)]
    looks = Looks(LEASED)
    looks.ahead(*(Container(name=f"c{number}", image=image) for number, image in enumerate([*images, "image:0"])))
    assert looks.told == images[:AHEAD_AT_MOST]


def test_a_look_ahead_serves_one_start():
    looks = Looks(LEASED)
    looks.ahead()
    assert [looks.found(), looks.found()] == [ImageAction.USE] * 2
    assert looks.told == ["image:1"] * 2


def test_a_look_ahead_that_failed_is_repeated():
    looks = Looks(LEASED, fails=1)
    looks.ahead()
    assert looks.found() is ImageAction.USE
    assert looks.told == ["image:1"] * 2


def test_a_sandbox_that_takes_long_looks_again():
    looks = Looks(LEASED)
    looks.ahead()
    looks.bench.dispatcher.run_for(AHEAD_GOOD_FOR_NS)
    assert looks.found() is ImageAction.USE
    assert looks.told == ["image:1"] * 2


@pytest.mark.parametrize(
    ("answers", "container", "create_sandbox"),
    [
        pytest.param((), Container(name="app", image="image:1"), True, id="an image that may be removed now"),
        pytest.param((LEASED,), Container(name="app", image="image:1"), False, id="the sandbox is there"),
        pytest.param(
            (LEASED,), Container(name="app", image="image:latest"), True, id="an image that is pulled in any case"
        ),
        pytest.param((LEASED,), Container(name="app", image="A//b"), True, id="no name of an image"),
    ],
)
def test_nothing_is_looked_at_ahead_without_need(
    answers: tuple[Message, ...], container: Container, create_sandbox: bool
):
    looks = Looks(*answers)
    looks.ahead(container, create_sandbox=create_sandbox)
    assert looks.told == []
