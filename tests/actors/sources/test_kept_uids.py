"""Static pods that another agent runs keep their UIDs.

They do not if anything shows another manifest or another pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from actors.kernel import ActorSystem, SimulatedDispatcher
from actors.messages.pods import SourceRead
from actors.sources.kept_uids import Running, kept_uids
from actors.sources.static import FileSourceActor, decoder_of
from config.frozen_map import FrozenMap
from config.manifests import Origin, read_manifest
from config.objects import Pod
from config.pods.identity import CONFIG_HASH, CONFIG_SEEN, CONFIG_SOURCE, config_hash
from config.values.api_time import ns_of
from runtime.cri import CriError, StatusCode
from runtime.cri.identity import CONTAINER_HASH, CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID
from runtime.cri.messages import (
    Container,
    ContainerState,
    ListContainersResponse,
    ListPodSandboxResponse,
    PodSandbox,
    PodSandboxState,
)
from runtime.manifests.files import ManifestFile, ManifestReading
from tests.actors.recorders import Recorder
from tests.actors.sources.test_static import Directory
from tests.runtime.cri.tiny import TinyCri

KUBELETS = "0d80be97c0742b3cd2601c74b8096d4e"
SEEN = "2026-11-25T21:34:27.002645159Z"
TOUCHED_NS = (ns_of(SEEN) or 0) - 1_000_000
SECOND_NS = 1_000_000_000
MANIFEST = """
metadata: {name: web, labels: {app: shop}, annotations: {a: b}%s}
spec: {containers: [{name: web, image: "image:1"}]}
kind: Pod
apiVersion: v1
"""
WEB = read_manifest((MANIFEST % "").encode(), Origin.file("/m/web"), "n1").pods[0]
LABELS = {"app": "shop", POD_NAME: "web-n1", POD_NAMESPACE: "default", POD_UID: KUBELETS}
ENDED = PodSandboxState.SANDBOX_NOTREADY
NOTES = {"a": "b", CONFIG_HASH: KUBELETS, CONFIG_SOURCE: "file", CONFIG_SEEN: SEEN}


def sandbox(
    labels: Mapping[str, str] = FrozenMap(), notes: Mapping[str, str] = FrozenMap(), **fields: Any
) -> PodSandbox:
    """As a kubelet makes it of `WEB`; a label or note that is empty is left out."""
    return PodSandbox(
        **{
            "id": "box",
            "state": PodSandboxState.SANDBOX_READY,
            "labels": {key: value for key, value in {**LABELS, **labels}.items() if value},
            "annotations": {key: value for key, value in {**NOTES, **notes}.items() if value},
            **fields,
        }
    )


def made(name: str = "web", written: str = "c8d4bc82", **fields: Any) -> Container:
    """A container of that sandbox."""
    state = ContainerState.CONTAINER_RUNNING
    labels, notes = {**LABELS, CONTAINER_NAME: name}, {CONTAINER_HASH: written}
    return Container(**{"state": state, "labels": labels, "annotations": notes, **fields})


def kept(*sandboxes: PodSandbox, containers: tuple[Container, ...] = (made(),), touched_ns: int = TOUCHED_NS) -> Any:
    running = Running(sandboxes, containers)
    return kept_uids({WEB.metadata.uid: touched_ns}, [WEB], "file", running).get(WEB.metadata.uid)


def test_a_pod_that_a_kubelet_runs_keeps_its_uid() -> None:
    assert kept(sandbox()) == KUBELETS
    ended = made("gone", "1", state=ContainerState.CONTAINER_EXITED)
    assert kept(sandbox(), containers=(made(), ended)) == KUBELETS


def test_a_pod_that_has_ended_keeps_its_uid_and_so_does_not_run_again() -> None:
    assert kept(sandbox(state=ENDED), containers=(made(state=ContainerState.CONTAINER_EXITED),)) == KUBELETS
    earlier = sandbox({POD_UID: WEB.metadata.uid}, created_at=-1)
    assert kept(earlier, sandbox(state=ENDED)) is None, "what runs is the last"


@pytest.mark.parametrize(
    ("what", "running"),
    [
        ("nothing runs", []),
        ("another name", [sandbox({POD_NAME: "wab-n1"})]),
        ("another namespace", [sandbox({POD_NAMESPACE: "kube-system"})]),
        ("another label", [sandbox({"app": "shop2"})]),
        ("a label more", [sandbox({"tier": "front"})]),
        ("a label less", [sandbox({"app": ""})]),
        ("another annotation", [sandbox(notes={"a": "c"})]),
        ("a pod of the API server", [sandbox(notes={CONFIG_SOURCE: "api"})]),
        ("a pod of a URL", [sandbox(notes={CONFIG_SOURCE: "http"})]),
        ("no source", [sandbox(notes={CONFIG_SOURCE: ""})]),
        ("a hash that is not a UID", [sandbox(notes={CONFIG_HASH: "f" * 32})]),
        ("no hash", [sandbox(notes={CONFIG_HASH: ""})]),
        ("no time", [sandbox(notes={CONFIG_SEEN: ""})]),
        ("an odd time", [sandbox(notes={CONFIG_SEEN: "yesterday"})]),
        ("a UID that is a path", [sandbox({POD_UID: "../../etc"}, {CONFIG_HASH: "../../etc"})]),
        ("it runs as the manifest says", [sandbox(state=ENDED), sandbox({POD_UID: WEB.metadata.uid})]),
        ("it ran later as the manifest says", [sandbox(), sandbox({POD_UID: WEB.metadata.uid}, created_at=1)]),
    ],
)
def test_a_container_of_another_pod_gives_no_uid(what: str, running: list[PodSandbox]) -> None:
    assert kept(*running) is None, what


def test_a_file_that_was_touched_later_may_say_something_else() -> None:
    seen_ns = ns_of(SEEN) or 0
    assert kept(sandbox(), touched_ns=seen_ns) == KUBELETS
    assert kept(sandbox(), touched_ns=seen_ns + 1) is None


@pytest.mark.parametrize("running", [made(written="cb09a284"), made("wob")])
def test_a_container_of_another_definition_shows_another_manifest(running: Container) -> None:
    assert kept(sandbox(), containers=(made(), running)) is None


def test_the_newest_of_two_counts() -> None:
    newer = "1" * 32
    later = sandbox({POD_UID: newer}, {CONFIG_HASH: newer}, created_at=2)
    assert kept(sandbox(created_at=1), later, sandbox(created_at=0)) == newer


# --- the source -------------------------------------------------------------------------------------------------------


class Touched(Directory):
    """Files that were last touched before the kubelet saw them."""

    def read(self, path: str) -> Any:
        reading = super().read(path)
        assert isinstance(reading, ManifestReading)
        return ManifestReading(
            tuple(ManifestFile(each.path, each.content, touched_ns=TOUCHED_NS) for each in reading.files)
        )


class World:
    def __init__(self) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.storage, self.sets = Recorder.spawn_in(self.system, "storage", SourceRead)
        self.directory = Touched()
        self.directory.files = {"web": MANIFEST % ""}
        self.cri = TinyCri(
            ListPodSandbox=ListPodSandboxResponse(items=(sandbox(),)),
            ListContainers=ListContainersResponse(containers=(made(),)),
        )

    def start(self) -> None:
        decode = decoder_of("file", "n1")
        args = (self.storage, self.directory, "/m", 20 * SECOND_NS, decode, self.cri)
        self.system.spawn(FileSourceActor, *args, name="file")
        self.dispatcher.run_for(SECOND_NS)

    def pod(self, after_ns: int = 0) -> Pod:
        self.dispatcher.run_for(after_ns)
        pod: Pod = self.sets[-1].pods[0]
        assert config_hash(pod) == pod.metadata.uid
        return pod


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_the_source_tells_the_uid_that_the_pod_keeps_until_its_manifest_changes(world: World) -> None:
    world.start()
    assert world.pod().metadata.uid == KUBELETS
    world.directory.files = {"web": MANIFEST % "", "other": (MANIFEST % "").replace("web", "other")}
    assert {each.metadata.uid for each in (world.pod(20 * SECOND_NS), world.sets[-1].pods[1])} >= {KUBELETS}
    world.directory.files = {"web": (MANIFEST % "").replace("image:1", "image:2")}
    assert world.pod(20 * SECOND_NS).metadata.uid != KUBELETS
    assert [name for name, _, _ in world.cri.asked] == ["ListPodSandbox", "ListContainers"], "it asks once"


def test_a_uid_that_the_manifest_gives_stays(world: World) -> None:
    world.directory.files = {"web": MANIFEST % ", uid: mine"}
    world.start()
    assert world.pod().metadata.uid == "mine"
    assert world.cri.asked == []


def test_the_source_waits_for_a_runtime_that_begins(world: World) -> None:
    answer = world.cri.answers["ListContainers"]
    world.cri.answers["ListContainers"] = CriError(StatusCode.UNAVAILABLE, "it begins", "ListContainers")
    world.start()
    assert world.sets == []
    world.cri.answers["ListContainers"] = answer
    assert world.pod(2 * SECOND_NS).metadata.uid == KUBELETS


def test_pods_are_told_without_the_runtime_when_it_does_not_answer(world: World) -> None:
    world.cri.answers["ListPodSandbox"] = CriError(StatusCode.UNAVAILABLE, "it is gone", "ListPodSandbox")
    world.start()
    assert world.pod(60 * SECOND_NS).metadata.uid == WEB.metadata.uid
