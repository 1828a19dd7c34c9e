"""An `ImagePullActor` with records of pulls on a disk, a runtime, and credential programs.

The tests end each call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from actors.images.pull import ImagePullActor
from actors.images.pull_book import PullBook
from actors.images.pull_flights import CredentialPrograms, PullLimits
from actors.images.pull_rules import AccessPolicy
from actors.images.record_keeping import PullRecords
from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher, kept
from actors.messages.events import RecordEvent
from actors.messages.images import (
    FindCredentials,
    ImagePulled,
    ImagePullFailed,
    ImagesSeen,
    ProvidedCredential,
    ProviderCredentials,
    PullImage,
    SecretCredential,
)
from actors.model.pull_records import PullSecret, credential_hash, decode_record
from config.credentials.docker_config import Credential
from config.credentials.image_providers import ImageProvider, TokenAttributes
from config.frozen_map import FrozenMap
from config.objects import ObjectMeta, Pod, PodSpec
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import Image, ImageStatusResponse, PullImageResponse
from runtime.cri.verbs import PULL_IMAGE
from runtime.metrics.meters import Meters
from runtime.state.pull_record_files import PULLED, PULLING, FileChange, PullFiles
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
IMAGE, REF = "r.io/app:1", "sha256:1"
ANN = Credential("ann", "word")
CLOUD = ImageProvider("cloud", ("r.io",), 0, token=TokenAttributes("sts", True))


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
    def __init__(self, policy: str = "NeverVerifyPreloadedImages", *known: ImageProvider) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.files = Files()
        self.meters = Meters()
        self.pulls: list[Promise[PullImageResponse]] = []
        self.at_call: list[list[str]] = []
        """What was on disk at each call."""
        self._policy = policy
        self._known = known
        self.asked: list[FindCredentials] = []
        """What the credential programs of this life were asked."""
        self._lives = 0
        self.workers: dict[str, tuple[ActorRef, list[Any]]] = {}
        self.events: list[RecordEvent] = []

    def start(self) -> None:
        """The actor, or the next one on the same disk."""
        self._lives += 1
        events, self.events = Recorder.spawn_in(self.system, f"events-{self._lives}", RecordEvent)
        records = PullRecords(self.files, PullBook(AccessPolicy(self._policy)))
        asked, self.asked = Recorder.spawn_in(self.system, f"programs-{self._lives}", FindCredentials)
        self.images = self.system.spawn(
            ImagePullActor,
            self,
            events,
            PullLimits.of(False, None, 0, 1),
            meters=self.meters,
            programs=CredentialPrograms(self._known, asked) if self._known else None,
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

    def ask(
        self, pod: str, *secrets: str, present: str = "", policy: str = "IfNotPresent", account: str = ""
    ) -> list[Any]:
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
                pod=Pod(
                    metadata=ObjectMeta(name=pod, namespace="ns", uid=pod),
                    spec=PodSpec(service_account_name=account or None),
                ),
                container="web",
                image=IMAGE,
                field_path="spec.containers{web}",
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

    def give(self, account_uid: str = "") -> None:
        """The programs answer the last question: for the account of that uid, or with nothing."""
        question = self.asked[-1]
        name = question.pod.spec.service_account_name or ""
        found = (ProvidedCredential(Credential("robot"), "ns", name, account_uid),) if account_uid else ()
        self.images.tell(ProviderCredentials(question.tag, found))
        self.run(0)

    def said(self, pod: str) -> list[str]:
        return [event.reason for event in self.events if event.uid == pod]

    def record(self) -> Any:
        (content,) = (content for (directory, _), content in self.files.content.items() if directory == PULLED)
        return decode_record(content).credential_mapping

    def seen(self, *images: Image) -> None:
        self.run(SECOND_NS)
        self.images.tell(ImagesSeen(images, self.dispatcher.now_ns()))
        self.run(0)
