"""`ImagePullActor`: one flight per image, one answer per question, limits, back-off and calling off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from actors.images.pull import ImagePullActor
from actors.images.pull_credentials import ASK_AGAIN_NS
from actors.images.pull_flights import CredentialPrograms, PullLimits
from actors.images.pull_rules import ALWAYS, judge_image
from actors.kernel import Actor, ActorRef, ActorStopped, ActorSystem, Promise, SimulatedDispatcher, handles, kept
from actors.messages.events import RecordEvent
from actors.messages.images import (
    FindCredentials,
    ImagePulled,
    ImagePullFailed,
    ProvidedCredential,
    ProviderCredentials,
    PullImage,
    PullWaits,
)
from actors.messages.node import ImagesChanged
from actors.messages.pods import ListPulls, PullInProgress
from config.credentials.docker_config import Credential, RegistryEntry
from config.credentials.image_providers import ImageProvider, TokenAttributes
from config.objects import ObjectMeta, Pod, PodSpec
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import Image, ImageStatusResponse, PullImageResponse
from runtime.cri.verbs import PULL_IMAGE
from runtime.state.docker_config_files import DockerConfigFiles, NodeCredentials
from tests.actors.recorders import Recorder
from tests.work import lines_of

SECOND_NS = 1_000_000_000


class Registry:
    """The image service of a runtime: every pull waits until the test ends it."""

    def __init__(self) -> None:
        self.pulls: list[tuple[str, Promise[PullImageResponse]]] = []
        self.shown: list[str] = []
        """Who each pull was made as, empty for nobody."""
        self.annotations: dict[str, str] = {}
        """Of the image in the last pull."""

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        if verb is PULL_IMAGE:
            promise: Promise[PullImageResponse] = Promise()
            self.pulls.append((request.image.image, promise))
            self.annotations = dict(request.image.annotations)
            self.shown.append("" if request.auth is None else request.auth.username)
            return promise
        return kept(ImageStatusResponse(image=Image(size=77)))

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")


class Worker(Actor):
    """A pod's worker: keeps its answers, and apart from them why its pulls wait."""

    def __init__(self, answers: list[Any], waits: list[str]) -> None:
        super().__init__()
        self.answers = answers
        self.waits = waits

    @handles(ImagePulled)
    def pulled(self, message: ImagePulled) -> None:
        self.answers.append(message)

    @handles(ImagePullFailed)
    def failed(self, message: ImagePullFailed) -> None:
        self.answers.append(message)

    @handles(PullWaits)
    def pull_waits(self, message: PullWaits) -> None:
        self.waits.append(message.why)


class World:
    def __init__(
        self, limits: PullLimits, docker_config: DockerConfigFiles | None = None, known: Sequence[ImageProvider] = ()
    ) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.registry = Registry()
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        node, self.node = Recorder.spawn_in(self.system, "node", ImagesChanged)
        asked, self.asked = Recorder.spawn_in(self.system, "programs", FindCredentials)
        programs = CredentialPrograms(tuple(known), asked) if known else None
        self.images = self.system.spawn(
            ImagePullActor, self.registry, events, limits, node, docker_config, programs=programs, name="images"
        )
        self.workers: dict[str, tuple[ActorRef, list[Any]]] = {}
        self.waits: dict[str, list[str]] = {}
        """By pod: why its pulls wait, as its worker has heard."""

    def ask(
        self, pod: str, image: str, container: str = "web", secrets: Sequence[str] = (), priority: int | None = None
    ) -> list[Any]:
        if pod not in self.workers:
            answers, waits = list[Any](), self.waits.setdefault(pod, [])
            self.workers[pod] = self.system.spawn(Worker, answers, waits, name=pod), answers
        ref, answers = self.workers[pod]
        meta = ObjectMeta(name=pod, namespace="default", uid=pod, annotations={"for": pod})
        credentials = tuple(Credential(name) for name in secrets)
        place = f"spec.containers{{{container}}}"
        one = Pod(metadata=meta, spec=PodSpec(priority=priority))
        self.images.tell(PullImage(ref, one, container, image, place, credentials))
        self.run(0)
        return answers

    def run(self, ns: int) -> None:
        self.dispatcher.run_for(ns)

    def stopped(self, pod: str) -> ActorStopped:
        """The message that a watcher of this pod's worker gets when the worker has stopped."""
        ref, _ = self.workers[pod]
        return ActorStopped(ref, ref.path)

    def pulling(self) -> list[str]:
        return [image for image, promise in self.registry.pulls if not promise.done()]

    def end(self, image: str, error: str | None = None, code: StatusCode = StatusCode.UNKNOWN) -> None:
        promise = next(p for name, p in self.registry.pulls if name == image and not p.done())
        if error is None:
            promise.set_result(PullImageResponse(image_ref="sha256:1"))
        else:
            promise.set_exception(CriError(code, error, "PullImage"))
        self.run(0)

    def said(self, pod: str) -> list[str]:
        return [f"{event.reason}: {event.message}" for event in self.events if event.uid == pod]


def limits(at_once: int = 1_000, per_second: int = 0) -> PullLimits:
    return PullLimits.of(False, at_once, per_second, 1)


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        assert world.system.stop()


@pytest.fixture
def world(worlds: list[World]) -> World:
    worlds.append(World(limits()))
    return worlds[-1]


def test_pods_that_want_one_image_share_one_pull_and_are_all_answered(world: World):
    answers = [world.ask(pod, image) for pod, image in (("a", "nginx"), ("b", "nginx:latest"))]
    world.ask("a", "nginx", container="side")
    assert world.pulling() == ["nginx:latest"]
    assert world.registry.annotations == {"for": "a"}, "those of the pod that asked first"
    world.run(2 * SECOND_NS)
    world.end("nginx:latest")
    assert answers[0] == [ImagePulled("nginx", "web"), ImagePulled("nginx", "side")]
    assert answers[1] == [ImagePulled("nginx:latest", "web")]
    assert world.said("b") == [
        'Pulling: Pulling image "nginx:latest"',
        'Pulled: Successfully pulled image "nginx:latest" in 2s (2s including waiting). Image size: 77 bytes.',
    ]
    assert world.events[0].field_path == "spec.containers{web}"


def test_the_node_status_hears_of_each_successful_pull_and_of_no_failed_one(world: World):
    world.ask("a", "nginx")
    world.ask("b", "redis")
    world.end("redis:latest", error="no such image")
    assert world.node == []
    world.end("nginx:latest")
    assert world.node == [ImagesChanged()]


def test_a_worker_that_asks_again_keeps_its_place_and_gets_one_answer(world: World):
    world.ask("a", "nginx")
    answers = world.ask("a", "nginx")
    world.end("nginx:latest")
    assert answers == [ImagePulled("nginx", "web")]
    assert len(world.said("a")) == 2


# (spec 6.2.1)
def test_an_image_that_hangs_holds_up_no_other_when_pulls_are_parallel(world: World):
    world.ask("a", "huge")
    answers = world.ask("b", "nginx")
    world.end("nginx:latest")
    assert answers == [ImagePulled("nginx", "web")]


@pytest.mark.parametrize(("pull_limits", "at_once"), [(PullLimits.of(True, None, 0, 10), 1), (limits(2), 2)])
# (spec 6.2.1)
def test_no_more_pulls_than_allowed_are_in_the_air_and_the_others_follow_in_order(
    worlds: list[World], pull_limits: PullLimits, at_once: int
):
    worlds.append(world := World(pull_limits))
    names = [f"image{n}:1" for n in range(5)]
    for name in names:
        world.ask(f"pod of {name}", name)
    for done in range(5):
        assert world.pulling() == names[done : done + at_once]
        world.end(names[done])


SERIAL = PullLimits.of(True, None, 0, 10)


def ask_for_many(world: World, pod: str, count: int) -> None:
    for number in range(count):
        world.ask(pod, f"image{number}:1", container=f"c{number}")


def test_a_pod_with_2000_images_delays_the_pull_of_another_by_one(worlds: list[World]):
    worlds.append(world := World(SERIAL))
    ask_for_many(world, "large", 2_000)
    world.ask("small", "mine:1")
    assert world.pulling() == ["image0:1"]
    assert world.waits["small"] == ["image0:1 comes first, in the turn of pod default/large"]
    world.end("image0:1")
    assert world.pulling() == ["mine:1"]
    assert world.waits["small"][-1] == ""
    world.end("mine:1")
    assert world.pulling() == ["image1:1"]


def test_an_image_that_a_large_pod_wants_last_comes_in_the_turn_of_a_small_pod(worlds: list[World]):
    worlds.append(world := World(SERIAL))
    ask_for_many(world, "large", 50)
    world.ask("small", "image49:1")
    world.end("image0:1")
    assert world.pulling() == ["image49:1"]


def test_a_critical_pod_pulls_first(worlds: list[World]):
    worlds.append(world := World(SERIAL))
    ask_for_many(world, "a", 3)
    world.ask("b", "other:1")
    world.ask("critical", "mine:1", priority=2_000_000_000)
    world.end("image0:1")
    assert world.pulling() == ["mine:1"]


def test_the_end_of_a_pod_with_2000_images_calls_off_all_and_lets_others_go_on(worlds: list[World]):
    worlds.append(world := World(SERIAL))
    ask_for_many(world, "large", 2_000)
    world.ask("small", "mine:1")
    world.images.tell(world.stopped("large"))
    world.run(0)
    assert world.pulling() == ["mine:1"]
    listed = world.images.ask(ListPulls(), block=False)
    world.run(0)
    assert [each.image for each in listed.get(timeout=0)] == ["mine:1"]


def test_a_worker_that_comes_right_after_the_end_of_another_of_its_pod_keeps_its_place(worlds: list[World]):
    worlds.append(world := World(SERIAL))
    ask_for_many(world, "large", 500)
    world.images.tell(world.stopped("large"))
    answers = world.ask("large", "image499:1", container="c499")
    world.end("image499:1")
    assert answers == [ImagePulled("image499:1", "c499")]


def test_a_pod_costs_the_same_however_many_images_another_waits_for():
    def cost(others: int) -> int:
        world = World(SERIAL)
        ask_for_many(world, "large", others)
        judge_image("mine:1", ALWAYS, False)  # many images push others out of its cache, and a miss costs a little

        def start_and_end() -> None:
            world.ask("small", "mine:1")
            world.images.tell(world.stopped("small"))
            world.end("image0:1", "denied")

        lines = lines_of(start_and_end)
        assert world.system.stop()
        return lines

    assert cost(1_000) <= 1.1 * cost(20)


# (spec 6.2.3)
def test_pulls_begin_no_faster_than_the_rate_and_none_fails_for_it(worlds: list[World]):
    worlds.append(world := World(limits(per_second=2)))
    answers = [world.ask(f"pod{n}", f"image{n}") for n in range(5)]
    assert len(world.pulling()) == 1
    world.run(SECOND_NS)
    assert len(world.pulling()) == 3
    world.run(SECOND_NS)
    assert len(world.pulling()) == 5
    assert answers == [[]] * 5


# (spec 2.1.7)
def test_a_failure_backs_off_per_pod_and_image(world: World):
    answers = world.ask("a", "nginx")
    world.end("nginx:latest", "manifest unknown")
    assert answers == [ImagePullFailed("nginx", "web", "ErrImagePull", "manifest unknown", 10 * SECOND_NS)]
    assert world.said("a")[1:] == [
        'Failed: Failed to pull image "nginx": manifest unknown',
        "Failed: Error: ErrImagePull",
    ]
    world.run(5 * SECOND_NS)
    world.ask("a", "nginx")
    assert world.pulling() == []
    assert answers[-1].reason == "ImagePullBackOff"
    assert answers[-1].message == 'Back-off pulling image "nginx": ErrImagePull: manifest unknown'
    assert answers[-1].retry_at_ns == 10 * SECOND_NS
    assert world.said("a")[-2:] == ['BackOff: Back-off pulling image "nginx"', "Failed: Error: ImagePullBackOff"]
    world.ask("b", "nginx")
    assert world.pulling() == ["nginx:latest"], "another pod has not failed yet"
    world.run(5 * SECOND_NS)
    world.ask("a", "nginx")
    world.end("nginx:latest", "RegistryUnavailable: down")
    assert (answers[-1].reason, answers[-1].retry_at_ns) == ("RegistryUnavailable", 30 * SECOND_NS)
    assert answers[-1].message == "image pull failed for nginx:latest because the registry is unavailable: down"


def test_a_code_of_the_runtime_is_told_where_it_says_something(world: World):
    answers = world.ask("a", "nginx")
    world.end("nginx:latest", "no such image", StatusCode.NOT_FOUND)
    text = "rpc error: code = NotFound desc = no such image"
    assert answers == [ImagePullFailed("nginx", "web", "ErrImagePull", text, 10 * SECOND_NS)]
    assert world.said("a")[1] == f'Failed: Failed to pull image "nginx": {text}'


def test_a_success_ends_the_back_off(world: World):
    answers = world.ask("a", "nginx")
    world.end("nginx:latest", "x")
    world.run(10 * SECOND_NS)
    world.ask("a", "nginx")
    world.end("nginx:latest")
    world.ask("a", "nginx")
    world.end("nginx:latest", "x")
    assert answers[-1].retry_at_ns == 20 * SECOND_NS


def test_a_name_nobody_could_pull_asks_no_runtime(world: World):
    (answer,) = world.ask("a", "Nginx")
    assert answer.reason == "InvalidImageName"
    assert world.registry.pulls == []


def test_a_pull_that_nobody_waits_for_is_called_off(worlds: list[World]):
    worlds.append(world := World(PullLimits.of(True, None, 0, 10)))
    world.ask("a", "huge")
    world.ask("b", "huge")
    world.ask("b", "nginx")
    world.images.tell(world.stopped("a"))
    world.run(0)
    assert world.pulling() == ["huge:latest"]
    world.images.tell(world.stopped("b"))
    answers = world.ask("c", "other")
    assert world.pulling() == ["other:latest"]
    world.end("other:latest")
    assert answers == [ImagePulled("other", "web")]
    assert world.workers["a"][1] == []


def test_a_request_right_after_a_cancelled_pull_gets_the_image(world: World):
    world.ask("a", "huge")
    worker, answers = Recorder.spawn_in(world.system, "late", ImagePulled, ImagePullFailed)
    world.run(0)
    pod = Pod(metadata=ObjectMeta(name="late", uid="late"))
    world.images.tell(world.stopped("a"))
    world.images.tell(PullImage(worker, pod, "web", "huge", ""))
    world.run(0)
    world.end("huge:latest")
    assert answers == [ImagePulled("huge", "web")]


def test_pulls_can_be_listed(world: World):
    world.ask("a", "nginx")
    world.run(3 * SECOND_NS)
    world.ask("b", "nginx")
    pulls: tuple[PullInProgress, ...] = world.images.ask(ListPulls())
    assert [msgspec.structs.astuple(pull) for pull in pulls] == [
        ("nginx:latest", 3 * SECOND_NS, True, ("default/a", "default/b"))
    ]


# --- credentials ----------------------------------------------------------------------------------------------------


class NodeFiles:
    """The node's own docker configuration."""

    def __init__(self, *names: str) -> None:
        self.entries = tuple(RegistryEntry("index.docker.io", Credential(name)) for name in names)
        self.error: OSError | None = None

    def read(self) -> NodeCredentials:
        if self.error is not None:
            raise self.error
        return NodeCredentials(self.entries)


# (spec 6.1.7)
def test_credentials_are_tried_in_order_until_one_is_taken(world: World):
    answers = world.ask("a", "nginx", secrets=("one", "two", "three"))
    world.end("nginx:latest", "denied")
    assert world.registry.shown == ["one", "two"]
    world.end("nginx:latest")
    assert answers == [ImagePulled("nginx", "web")]


def test_when_no_credential_is_taken_every_refusal_is_told_once(world: World):
    answers = world.ask("a", "nginx", secrets=("one", "two"))
    world.end("nginx:latest", "denied")
    world.end("nginx:latest", "expired")
    assert [answer.message for answer in answers] == ["[denied, expired]"]
    assert world.registry.shown == ["one", "two"]


def test_pods_with_other_credentials_do_not_share_a_pull(world: World):
    first = world.ask("a", "nginx", secrets=("mine",))
    second = world.ask("b", "nginx", secrets=("yours",))
    third = world.ask("c", "nginx", secrets=("mine",))
    assert world.registry.shown == ["mine", "yours"]
    world.end("nginx:latest")
    assert (first, second, third) == ([ImagePulled("nginx", "web")], [], [ImagePulled("nginx", "web")])


def test_a_pod_whose_secrets_change_while_it_waits_joins_another_flight(world: World):
    world.ask("a", "nginx", secrets=("old",))
    answers = world.ask("a", "nginx", secrets=("new",))
    assert len(world.pulling()) == 1
    world.end("nginx:latest")
    assert answers == [ImagePulled("nginx", "web")]
    assert world.registry.shown == ["old", "new"]


# (spec 6.3.1)
def test_credentials_of_the_node_come_after_those_of_the_pod(worlds: list[World]):
    worlds.append(world := World(limits(), NodeFiles("node", "mine")))
    world.ask("a", "nginx", secrets=("mine",))
    world.end("nginx:latest", "denied")
    world.end("nginx:latest", "denied")
    assert world.registry.shown == ["mine", "node"]


def test_credentials_for_another_registry_are_not_shown(worlds: list[World]):
    worlds.append(world := World(limits(), NodeFiles("node")))
    world.ask("a", "r.example.com/app:1")
    assert world.registry.shown == [""]


def test_a_disk_that_fails_holds_up_no_pull(worlds: list[World]):
    files = NodeFiles("node")
    files.error = OSError("stale file handle")
    worlds.append(world := World(limits(), files))
    answers = world.ask("a", "nginx")
    world.end("nginx:latest")
    assert answers == [ImagePulled("nginx", "web")]
    assert world.registry.shown == [""]


def test_a_pull_for_nobody_ends_between_two_tries(world: World):
    world.ask("a", "nginx", secrets=("one", "two"))
    world.images.tell(world.stopped("a"))
    world.run(0)
    assert world.pulling() == []
    assert world.registry.shown == ["one"]


# --- credential programs --------------------------------------------------------------------------------------------

PROGRAM = ImageProvider("p", ("docker.io",), 0)
WITH_TOKEN = ImageProvider("p", ("docker.io",), 0, token=TokenAttributes("a", True))


class ProgramWorld(World):
    def give(self, number: int, *names: str, problem: str = "") -> None:
        """Answer a question to the programs."""
        found = tuple(ProvidedCredential(Credential(name)) for name in names)
        self.images.tell(ProviderCredentials(self.asked[number].tag, found, (problem,) if problem else ()))
        self.run(0)


def with_programs(
    worlds: list[World], *known: ImageProvider, at_once: int = 1_000, node: NodeFiles | None = None
) -> ProgramWorld:
    world = ProgramWorld(limits(at_once), node, known)
    worlds.append(world)
    return world


# (spec 6.3.1)
def test_programs_are_asked_for_each_pull_and_come_after_all_other_credentials(worlds: list[World]) -> None:
    world = with_programs(worlds, PROGRAM, node=NodeFiles("node"))
    answers = world.ask("a", "nginx", secrets=("mine",))
    assert [each.image for each in world.asked] == ["docker.io/library/nginx"]
    world.give(0, "node", "given")
    world.end("nginx:latest", "denied")
    assert world.registry.shown == ["mine", "node"]
    world.end("nginx:latest", "denied")
    assert world.registry.shown == ["mine", "node", "given"]
    world.end("nginx:latest")
    assert answers == [ImagePulled("nginx", "web")]


def test_a_pull_waits_for_programs_only_when_no_other_credential_is_taken(worlds: list[World]) -> None:
    """A pod whose secret opens the registry does not wait for the programs, even if they hang."""
    world = with_programs(worlds, PROGRAM)
    answers = world.ask("a", "nginx", secrets=("mine",))
    world.end("nginx:latest")
    assert answers == [ImagePulled("nginx", "web")]
    world.give(0, "late")
    world.ask("b", "nginx", secrets=("wrong",))
    world.end("nginx:latest", "denied")
    assert world.registry.shown == ["mine", "wrong"]
    world.give(1, "given")
    assert world.registry.shown == ["mine", "wrong", "given"]


# (spec 6.1.7)
def test_without_any_credential_programs_come_before_an_anonymous_pull(worlds: list[World]) -> None:
    world = with_programs(worlds, PROGRAM)
    world.ask("a", "nginx")
    assert world.registry.shown == []
    world.give(0)
    assert world.registry.shown == [""]


def test_programs_for_other_images_are_not_asked(worlds: list[World]) -> None:
    world = with_programs(worlds, PROGRAM)
    world.ask("a", "r.example.com/app:1")
    assert (world.asked, world.registry.shown) == ([], [""])


def test_why_a_program_gave_nothing_is_told_with_the_refusal(worlds: list[World]) -> None:
    world = with_programs(worlds, PROGRAM)
    answers = world.ask("a", "nginx", secrets=("mine",))
    world.end("nginx:latest", "denied")
    world.give(0, problem="credential provider p: exit status 1")
    assert [answer.message for answer in answers] == ["denied; credential provider p: exit status 1"]


def test_how_long_the_programs_took_is_told_with_the_refusal(worlds: list[World]) -> None:
    world = with_programs(worlds, PROGRAM)
    answers = world.ask("a", "nginx", secrets=("mine",))
    world.end("nginx:latest", "denied")
    world.run(40 * SECOND_NS)
    world.give(0, problem="credential provider p: it does not answer")
    assert [answer.asking_ns for answer in answers] == [40 * SECOND_NS]


def test_a_program_that_hangs_holds_up_no_other_pull(worlds: list[World]) -> None:
    world = with_programs(worlds, PROGRAM, at_once=1)
    world.ask("a", "nginx")
    answers = world.ask("b", "r.example.com/app:1")
    world.end("r.example.com/app:1")
    assert len(answers) == 1
    world.ask("c", "r.example.com/other:1")
    world.give(0, "given")
    assert world.registry.shown == ["", ""]
    world.end("r.example.com/other:1")
    assert world.registry.shown == ["", "", "given"]


def test_a_program_whose_answer_was_lost_is_asked_again(worlds: list[World]) -> None:
    world = with_programs(worlds, PROGRAM)
    world.ask("a", "nginx")
    world.run(ASK_AGAIN_NS)
    assert len(world.asked) == 2
    world.give(1, "given")
    world.give(0, "late")
    assert world.registry.shown == ["given"]


def test_an_answer_for_a_pod_that_has_gone_is_for_nobody(worlds: list[World]) -> None:
    world = with_programs(worlds, PROGRAM)
    world.ask("a", "nginx")
    world.images.tell(world.stopped("a"))
    world.run(0)
    world.ask("b", "nginx")
    world.give(0, "late")
    assert world.registry.shown == []
    world.give(1, "given")
    assert world.registry.shown == ["given"]


def test_pods_share_a_pull_unless_the_program_is_given_their_tokens(worlds: list[World]) -> None:
    for program, questions in ((PROGRAM, ["a"]), (WITH_TOKEN, ["a", "b"])):
        world = with_programs(worlds, program)
        world.ask("a", "nginx")
        world.ask("b", "nginx")
        assert [each.pod.metadata.uid for each in world.asked] == questions
