"""`ImagePullActor` and the records of pulls: what is on disk around each pull, and who may use what is here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from actors.images.pull import ImagePullActor
from actors.images.pull_book import PullBook
from actors.images.pull_flights import PullLimits
from actors.images.pull_rules import AccessPolicy
from actors.images.record_keeping import LOAD_AGAIN_NS, PullRecords
from actors.kernel import ActorRef, ActorStopped, ActorSystem, Promise, SimulatedDispatcher, kept
from actors.messages.events import RecordEvent
from actors.messages.images import (
    ImagePulled,
    ImagePullFailed,
    ImageRemoved,
    ImagesSeen,
    PullImage,
    SecretCredential,
)
from actors.model.pull_records import PullSecret, credential_hash, decode_record
from config.credentials.docker_config import Credential
from config.frozen_map import FrozenMap
from config.objects import ObjectMeta, Pod
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import Image, ImageStatusResponse, PullImageResponse
from runtime.cri.verbs import PULL_IMAGE
from runtime.metrics.kubelet import ENSURE_IMAGE, MUST_PULL_CHECKS
from runtime.metrics.meters import Meters
from runtime.state.pull_record_files import PULLED, PULLING, FileChange, PullFiles
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
IMAGE, REF = "r.io/app:1", "sha256:1"
ANN = Credential("ann", "word")


class Files:
    """The disk; every call fails while `error` is set."""

    def __init__(self) -> None:
        self.content: dict[tuple[str, str], bytes] = {}
        self.error: OSError | None = None

    def load(self) -> PullFiles:
        self._check()
        return PullFiles(self._in(PULLING), self._in(PULLED))

    def _in(self, part: str) -> FrozenMap[str, bytes]:
        return FrozenMap({name: content for (directory, name), content in self.content.items() if directory == part})

    def apply(self, changes: Iterable[FileChange]) -> None:
        self._check()
        for change in changes:
            if change.content is None:
                self.content.pop((change.directory, change.name), None)
            else:
                self.content[change.directory, change.name] = change.content

    def _check(self) -> None:
        if self.error is not None:
            raise self.error

    def kinds(self) -> list[str]:
        return sorted(directory for directory, _ in self.content)


class World:
    def __init__(self, policy: str = "NeverVerifyPreloadedImages") -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.files = Files()
        self.meters = Meters()
        self.pulls: list[Promise[PullImageResponse]] = []
        self.at_call: list[list[str]] = []
        """What was on disk at each call."""
        self._policy = policy
        self._lives = 0
        self.workers: dict[str, tuple[ActorRef, list[Any]]] = {}
        self.events: list[RecordEvent] = []

    def start(self) -> None:
        """The actor, or the next one on the same disk."""
        self._lives += 1
        events, self.events = Recorder.spawn_in(self.system, f"events-{self._lives}", RecordEvent)
        records = PullRecords(self.files, PullBook(AccessPolicy(self._policy)))
        self.images = self.system.spawn(
            ImagePullActor,
            self,
            events,
            PullLimits.of(False, None, 0, 1),
            meters=self.meters,
            records=records,
            name=f"images-{self._lives}",
        )
        self.run(0)

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Promise[Any]:
        if verb is not PULL_IMAGE:
            return kept(ImageStatusResponse(image=Image(size=77)))
        self.at_call.append(self.files.kinds())
        self.pulls.append(Promise())
        return self.pulls[-1]

    def stream(self, *_: Any) -> Any:
        raise AssertionError("nobody streams here")

    def ask(self, pod: str, *secrets: str, present: str = "", policy: str = "IfNotPresent") -> list[Any]:
        """`secrets`: names of secrets that have the one good credential."""
        if pod not in self.workers:
            self.workers[pod] = Recorder.spawn_in(self.system, pod, ImagePulled, ImagePullFailed)
        ref, answers = self.workers[pod]
        whose = tuple(
            SecretCredential(ANN, PullSecret(f"uid-{each}", "ns", each, credential_hash(ANN))) for each in secrets
        )
        self.images.tell(
            PullImage(
                worker=ref,
                pod=Pod(metadata=ObjectMeta(name=pod, namespace="ns", uid=pod)),
                container="web",
                image=IMAGE,
                field_path="",
                credentials=(ANN,) if secrets else (),
                secrets=whose,
                present=present,
                policy=policy,
            )
        )
        self.run(0)
        return answers

    def run(self, ns: int) -> None:
        self.dispatcher.run_for(ns)

    def end(self, code: StatusCode | None = None) -> None:
        promise = next(each for each in self.pulls if not each.done())
        if code is None:
            promise.set_result(PullImageResponse(image_ref=REF))
        else:
            promise.set_exception(CriError(code, "no", "PullImage"))
        self.run(0)

    def record(self) -> Any:
        (content,) = (content for (directory, _), content in self.files.content.items() if directory == PULLED)
        return decode_record(content).credential_mapping

    def seen(self, *images: Image) -> None:
        self.run(SECOND_NS)
        self.images.tell(ImagesSeen(images, self.dispatcher.now_ns()))
        self.run(0)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    assert made.system.stop()


def test_no_pull_begins_before_its_intent_is_on_disk(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    assert world.at_call == [[PULLING]]
    assert world.files.kinds() == [PULLED]


def test_an_intent_that_cannot_be_written_is_a_failed_pull(world: World) -> None:
    world.start()
    world.files.error = OSError("disk full")
    (failed,) = world.ask("a")
    assert (failed.reason, world.pulls) == ("ErrImagePull", [])
    assert failed.message.startswith("failed to record image pull intent: ")
    assert "disk full" in failed.message


@pytest.mark.parametrize(("code", "left"), [(StatusCode.UNKNOWN, []), (StatusCode.UNAVAILABLE, [PULLING])])
def test_an_intent_stays_when_the_runtime_may_still_bring_the_image(
    world: World, code: StatusCode, left: list[str]
) -> None:
    world.start()
    world.ask("a")
    world.end(code)
    assert world.files.kinds() == left


def test_a_pull_that_nobody_waits_for_any_more_leaves_its_intent_until_a_look(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    ref, _ = world.workers["a"]
    world.images.tell(ActorStopped(ref, ref.path))
    world.run(0)
    assert world.files.kinds() == [PULLING]
    world.seen(Image(id=REF, repo_tags=(IMAGE,)))
    assert (world.files.kinds(), world.record()) == ([PULLED], {})


def test_a_record_has_every_secret_that_shared_the_pull(world: World) -> None:
    world.start()
    world.ask("a", "one")
    world.ask("b", "two")
    world.end()
    assert [each.name for each in world.record()["r.io/app"].kubernetes_secrets] == ["one", "two"]


def test_a_pull_without_credentials_opens_the_image_to_all(world: World) -> None:
    world.start()
    world.ask("a")
    world.end()
    assert world.record()["r.io/app"].node_pods_accessible
    assert world.ask("b", present=REF) == [ImagePulled(IMAGE, "web", present=True)]


def test_an_image_that_is_here_is_pulled_again_by_a_pod_whose_secrets_have_not_opened_it(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    assert world.ask("friend", "pull", present=REF) == [ImagePulled(IMAGE, "web", present=True)]
    said = [event.message for event in world.events if event.uid == "friend"]
    assert said == [f'Container image "{IMAGE}" already present on machine and can be accessed by the pod']
    answers = world.ask("stranger", present=REF)
    world.end(StatusCode.UNKNOWN)
    assert [(answer.reason, answer.message) for answer in answers] == [("ErrImagePull", "no")]
    assert world.ask("copy", "copied", present=REF) == [ImagePulled(IMAGE, "web", present=True)]


def test_a_pod_with_the_policy_never_does_not_learn_that_the_image_is_here(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    (refused,) = world.ask("stranger", present=REF, policy="Never")
    assert (refused.reason, len(world.pulls)) == ("ErrImageNeverPull", 1)
    assert refused.message == f'Container image "{IMAGE}" is not present with pull policy of Never'


def test_the_next_agent_asks_the_same_pods_for_credentials(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    world.start()
    assert world.ask("friend", "pull", present=REF) == [ImagePulled(IMAGE, "web", present=True)]
    assert world.ask("stranger", present=REF) == []
    assert len(world.pulls) == 2


def test_who_asks_before_the_records_are_read_is_answered_then(world: World) -> None:
    world.files.error = OSError("stale")
    world.start()
    assert world.ask("a", present=REF) == []
    world.files.error = None
    world.run(LOAD_AGAIN_NS)
    assert world.workers["a"][1] == [ImagePulled(IMAGE, "web", present=True)]


def test_who_asks_while_the_records_cannot_be_read_is_refused_and_let_in_when_they_can(world: World) -> None:
    world.files.error = OSError("stale")
    world.start()
    world.ask("a")
    world.run(LOAD_AGAIN_NS)
    (refused,) = world.workers["a"][1]
    assert (refused.reason, refused.retry_at_ns, world.pulls) == (
        "ErrImagePull",
        world.dispatcher.now_ns() + LOAD_AGAIN_NS,
        [],
    )
    assert refused.message.startswith("the records of pulled images cannot be read, so no image may be used: ")
    assert [event.message for event in world.events] == [
        f'Failed to pull image "{IMAGE}": {refused.message}',
        "Error: ErrImagePull",
    ]
    world.files.error = None
    world.run(LOAD_AGAIN_NS)
    world.ask("a")
    assert len(world.pulls) == 1


def test_a_pod_that_has_ended_is_not_answered_when_the_records_come(world: World) -> None:
    world.files.error = OSError("stale")
    world.start()
    world.ask("a")
    ref, answers = world.workers["a"]
    world.images.tell(ActorStopped(ref, ref.path))
    world.files.error = None
    world.run(LOAD_AGAIN_NS)
    assert (world.pulls, answers) == ([], [])


def test_a_record_goes_with_its_image(world: World) -> None:
    world.start()
    world.ask("a")
    world.end()
    world.run(SECOND_NS)
    world.images.tell(ImageRemoved(REF, world.dispatcher.now_ns()))
    world.run(0)
    assert world.files.kinds() == []


def test_looks_at_the_records_are_counted_by_what_they_came_to(world: World) -> None:
    world.start()
    world.ask("a", "pull")
    world.end()
    world.ask("friend", "pull", present=REF)
    world.ask("stranger", present=REF)
    for result in ("credentialRecordFound", "mustAuthenticate"):
        assert [row.value for row in world.meters.series(MUST_PULL_CHECKS, result).rows(())] == [1]
    for required in ("false", "true"):
        rows = world.meters.series(ENSURE_IMAGE, "IfNotPresent", "true", required).rows(())
        assert [row.value for row in rows] == [1]
