"""`VolumeReconcilerActor` and volumes made of API objects.

Their objects are gathered, written, renewed, tried again.

The disk is that of the simulated host; the object cache, the tokens and the workers are small actors that answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import pytest

from actors.kernel import Actor, ActorRef, ActorSystem, SimulatedDispatcher, handles
from actors.messages.events import RecordEvent
from actors.messages.pods import FollowNode, NodeObserved
from actors.messages.references import (
    ObjectRef,
    ObjectsChanged,
    ObjectsRead,
    ReadFailure,
    ReadObjects,
    RequestToken,
    TokenIssued,
    TokenRefused,
)
from actors.messages.volumes import (
    PrepareVolumes,
    ReleaseVolumes,
    RenewVolumes,
    VolumeReconcilerStarted,
    VolumesPrepared,
    VolumesReleased,
)
from actors.volumes.actual import RETRY_MAX_NS
from actors.volumes.reconciler import VolumeReconcilerActor
from actors.volumes.wishes.contents import TOKENS_AT_ONCE, ContentSources, resync_ns
from actors.volumes.wishes.desires import digest_of
from actors.volumes.wishes.pod_volumes import RESYNC_JITTER
from config.flags.command_line import POD_VOLUME_CONTENT_BYTES
from config.frozen_map import FrozenMap
from config.objects import (
    ConfigMap,
    ConfigMapVolumeSource,
    Container,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    Node,
    NodeStatus,
    ObjectFieldSelector,
    ObjectMeta,
    Pod,
    PodSpec,
    ProjectedVolumeSource,
    ResourceFieldSelector,
    Secret,
    ServiceAccountTokenProjection,
    Volume,
    VolumeMount,
    VolumeProjection,
)
from runtime.volumes.capability import Payload, Say, VolumeFile, VolumeSpec
from simulation.host.file_tree import FileTree
from simulation.host.volumes import SimulatedNodeVolumes
from tests.actors.recorders import Recorder

SECOND_NS = 1_000_000_000
HOUR_S = 3600
CFG = ObjectRef("ConfigMap", "ns", "cfg")
NOT_FOUND = 'MountVolume.SetUp failed for volume "cfg" : configmap "cfg" not found'

CONFIG_MAP = Volume(name="cfg", config_map=ConfigMapVolumeSource(name="cfg"))
OPTIONAL = Volume(name="cfg", config_map=ConfigMapVolumeSource(name="cfg", optional=True))
DATA = Volume(name="data", empty_dir=EmptyDirVolumeSource())
LABELS = Volume(
    name="down",
    downward_api=DownwardAPIVolumeSource(
        items=(DownwardAPIVolumeFile(path="labels", field_ref=ObjectFieldSelector(field_path="metadata.labels")),)
    ),
)
TOKEN = Volume(
    name="token",
    projected=ProjectedVolumeSource(
        sources=(VolumeProjection(service_account_token=ServiceAccountTokenProjection(path="token")),)
    ),
)


def pod_with(*volumes: Volume, uid: str = "u", labels: Mapping[str, str] | None = None) -> Pod:
    mounts = tuple(VolumeMount(name=volume.name, mount_path=f"/{volume.name}") for volume in volumes)
    spec = PodSpec(volumes=volumes, containers=(Container(name="c", volume_mounts=mounts),))
    return Pod(metadata=ObjectMeta(name="p", namespace="ns", uid=uid, labels=labels or {}), spec=spec)


class Cluster:
    """What the object cache and the tokens would answer; `silent` ones do not."""

    def __init__(self) -> None:
        self.objects: dict[ObjectRef, ConfigMap | Secret] = {}
        self.away = ""
        self.silent = False
        self.reads: list[ReadObjects] = []
        self.requests: list[RequestToken] = []
        self.token: TokenIssued | TokenRefused = TokenRefused(None, "failed to fetch token: forbidden")


class Objects(Actor):
    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.cluster = cluster

    @handles(ReadObjects)
    def read(self, message: ReadObjects) -> None:
        cluster = self.cluster
        cluster.reads.append(message)
        if cluster.silent:
            return
        found = {} if cluster.away else {ref: cluster.objects[ref] for ref in message.refs if ref in cluster.objects}
        failure = ReadFailure(not cluster.away, cluster.away or "404")
        missing = FrozenMap((ref, failure) for ref in message.refs if ref not in found)
        message.reader.tell(ObjectsRead(message.tag, FrozenMap(found), missing))


class Tokens(Actor):
    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.cluster = cluster

    @handles(RequestToken)
    def request(self, message: RequestToken) -> None:
        self.cluster.requests.append(message)
        answer = self.cluster.token
        if self.cluster.silent:
            return
        if isinstance(answer, TokenIssued):
            message.reader.tell(TokenIssued(message.tag, answer.token, answer.expires_wall_ns, answer.refresh_wall_ns))
        else:
            message.reader.tell(TokenRefused(message.tag, answer.reason))


class Worker(Actor):
    """Asks for its pod's volumes, and again when it is told to."""

    def __init__(self, pods: dict[str, Pod], uid: str, volumes: ActorRef, answers: list[Any]) -> None:
        super().__init__()
        self.pods = pods
        self.uid = uid
        self.volumes = volumes
        self.answers = answers

    def on_start(self) -> None:
        self.volumes.tell(PrepareVolumes(self.ref, self.pods[self.uid]))

    @handles(RenewVolumes)
    def renew(self, _: RenewVolumes) -> None:
        if self.uid in self.pods:
            self.volumes.tell(PrepareVolumes(self.ref, self.pods[self.uid], renewal=True))

    @handles(VolumesPrepared, VolumesReleased)
    def hear(self, message: Any) -> None:
        self.answers.append(message)


class Disk(SimulatedNodeVolumes):
    """The simulated disk, and the volumes that were made on it, one for each call."""

    def __init__(self) -> None:
        self.tree = FileTree()
        super().__init__(self.tree, "/root")
        self.prepared: list[str] = []

    def prepare(self, pod: Pod, spec: VolumeSpec, say: Say) -> str:
        self.prepared.append(spec.name)
        return super().prepare(pod, spec, say)


class World:
    def __init__(self, alone: bool = False, limit_bytes: int = POD_VOLUME_CONTENT_BYTES) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.cluster = Cluster()
        self.disk = Disk()
        self.pods: dict[str, Pod] = {}
        self.answers: list[Any] = []
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        sync_loop, self.heard = Recorder.spawn_in(self.system, "sync-loop", VolumeReconcilerStarted)
        objects = self.system.spawn(Objects, self.cluster, name="objects")
        tokens = self.system.spawn(Tokens, self.cluster, name="tokens")
        node, self.followers = Recorder.spawn_in(self.system, "node-status", FollowNode)
        sources = ContentSources() if alone else ContentSources(objects, tokens, node, limit_bytes=limit_bytes)
        self.actor: ActorRef = self.system.spawn(
            VolumeReconcilerActor, self.disk, events, sources, sync_loop, name="volumes"
        )

    def run(self, seconds: float = 1) -> None:
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def start(self, pod: Pod, seconds: float = 0.1) -> ActorRef:
        uid = pod.metadata.uid
        self.pods[uid] = pod
        worker = self.system.spawn(Worker, self.pods, uid, self.actor, self.answers, name=f"worker-{uid}")
        self.run(seconds)
        return worker

    def change(self, *uids: str) -> None:
        self.actor.tell(ObjectsChanged(frozenset(uids or ("u",))))
        self.run(0.1)

    def issue(self, token: str, refresh_in_s: int) -> None:
        now_ns = self.dispatcher.wall_ns()
        self.cluster.token = TokenIssued(None, token, now_ns + HOUR_S * SECOND_NS, now_ns + refresh_in_s * SECOND_NS)

    def read(self, path: str, uid: str = "u") -> str:
        return self.disk.tree.read(f"/root/pods/{uid}/volumes/kubernetes.io~{path}").decode()


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    assert world.system.stop()


def test_contents_are_gathered_at_once_and_written_before_the_worker_hears(world: World):
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    world.issue("jwt", HOUR_S)
    world.start(pod_with(CONFIG_MAP, TOKEN, LABELS, DATA, labels={"app": "web"}))
    (answer,) = world.answers
    assert answer.error == ""
    assert sorted(answer.host_paths) == ["cfg", "data", "down", "token"]
    assert world.read("configmap/cfg/a") == "x"
    assert world.read("projected/token/token") == "jwt"
    assert world.read("downward-api/down/labels") == 'app="web"'
    assert [read.refs for read in world.cluster.reads] == [(CFG,)]
    assert [(request.audience, request.expiration_seconds) for request in world.cluster.requests] == [("", 3600)]
    assert world.events == []


def test_a_pod_without_such_volumes_asks_for_nothing(world: World):
    world.start(pod_with(DATA), seconds=HOUR_S)
    assert (world.cluster.reads, world.cluster.requests) == ([], [])
    assert len(world.disk.prepared) == 1


def test_a_missing_object_is_an_event_and_is_tried_again_ever_more_slowly(world: World):
    world.start(pod_with(CONFIG_MAP), seconds=0)
    start_ns = world.dispatcher.now_ns()
    times: list[float] = []
    seen = 0
    while world.dispatcher.now_ns() - start_ns < 700 * SECOND_NS:
        world.run(0.25)
        if len(world.events) > seen:
            seen = len(world.events)
            times.append((world.dispatcher.now_ns() - start_ns) / SECOND_NS)
    assert {event.message for event in world.events} == {NOT_FOUND}
    assert {event.reason for event in world.events} == {"FailedMount"}
    assert {event.field_path for event in world.events} == {"spec.volumes[0].configMap"}
    delays = [later - sooner for sooner, later in pairwise(times)]
    assert delays == pytest.approx([0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122, 122, 122], abs=0.3)
    assert RETRY_MAX_NS == 122 * SECOND_NS
    assert world.answers == [VolumesPrepared(FrozenMap(), NOT_FOUND)], "the same news is told once"


def test_an_object_that_comes_is_taken_at_once(world: World):
    world.start(pod_with(CONFIG_MAP, DATA), seconds=60)
    assert [answer.error for answer in world.answers] == [NOT_FOUND]
    assert list(world.answers[0].host_paths) == ["data"], "the others are ready"
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    world.change()
    assert world.answers[-1].error == ""
    assert world.read("configmap/cfg/a") == "x"


def test_another_failure_is_told(world: World):
    world.start(pod_with(CONFIG_MAP))
    world.cluster.away = "timeout"
    world.run(60)
    errors = [answer.error for answer in world.answers]
    text = 'MountVolume.SetUp failed for volume "cfg" : configmap "cfg" cannot be read: timeout'
    assert errors == [NOT_FOUND, text]


def test_an_object_that_changes_is_written_and_the_worker_need_not_know(world: World):
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    world.start(pod_with(CONFIG_MAP))
    world.cluster.objects[CFG] = ConfigMap(data={"b": "y"})
    world.change()
    assert world.read("configmap/cfg/b") == "y"
    assert not world.disk.tree.exists("/root/pods/u/volumes/kubernetes.io~configmap/cfg/a")
    assert len(world.answers) == 1


def test_an_object_that_goes_leaves_its_files_to_a_running_pod(world: World):
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    world.start(pod_with(CONFIG_MAP))
    del world.cluster.objects[CFG]
    world.change()
    assert world.read("configmap/cfg/a") == "x"
    assert [event.message for event in world.events] == [NOT_FOUND]
    assert [answer.error for answer in world.answers] == [""]


def test_content_that_grows_too_large_leaves_the_old_to_a_running_pod_and_warns():
    world = World(limit_bytes=100_000)
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x" * 90_000})
    world.start(pod_with(CONFIG_MAP, LABELS, labels={"a": "1"}))
    world.cluster.objects[CFG] = ConfigMap(data={"a": "y" * 110_000})
    world.change()
    assert world.read("configmap/cfg/a") == "x" * 90_000
    (event,) = world.events
    assert event.reason == "FailedMount"
    assert "spec.volumes[0].configMap: with 'a' the agent writes 110000 bytes" in event.message
    assert [answer.error for answer in world.answers] == [""]
    world.cluster.objects[CFG] = ConfigMap(data={"a": "z"})
    world.change()
    assert world.read("configmap/cfg/a") == "z"
    assert world.system.stop()


# (spec 8.7.9)
def test_an_optional_object_that_goes_leaves_an_empty_volume(world: World):
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    world.start(pod_with(OPTIONAL))
    del world.cluster.objects[CFG]
    world.change()
    assert world.disk.tree.names_in("/root/pods/u/volumes/kubernetes.io~configmap/cfg") == []
    assert world.events == []


def test_an_api_server_that_is_away_takes_nothing_from_a_running_pod(world: World):
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    world.start(pod_with(OPTIONAL))
    world.cluster.away = "timeout"
    world.run(600)
    assert world.read("configmap/cfg/a") == "x"
    assert [answer.error for answer in world.answers] == [""]


def test_a_token_is_renewed_when_it_says_so(world: World):
    world.issue("first", 40)
    world.start(pod_with(TOKEN))
    world.issue("second", HOUR_S)
    world.run(39)
    assert world.read("projected/token/token") == "first"
    world.run(2)
    assert world.read("projected/token/token") == "second"
    assert len(world.answers) == 1


def test_a_token_that_is_always_old_is_not_asked_for_without_end(world: World):
    world.issue("old", -10)
    world.start(pod_with(TOKEN))
    world.run(60)
    assert 2 <= len(world.cluster.requests) <= 13


def test_a_token_that_is_refused_refuses_its_volume(world: World):
    world.start(pod_with(TOKEN))
    text = 'MountVolume.SetUp failed for volume "token" : failed to fetch token: forbidden'
    assert world.answers == [VolumesPrepared(FrozenMap(), text)]
    world.issue("jwt", HOUR_S)
    world.run(1)
    assert world.answers[-1].error == ""


def test_a_pod_with_many_tokens_asks_for_the_next_one_as_each_comes(world: World):
    wanted = [ServiceAccountTokenProjection(path=f"t{i}", audience=f"a{i}") for i in range(3 * TOKENS_AT_ONCE)]
    sources = tuple(VolumeProjection(service_account_token=each) for each in wanted)
    world.cluster.silent = True
    world.start(pod_with(Volume(name="token", projected=ProjectedVolumeSource(sources=sources))))
    assert len(world.cluster.requests) == TOKENS_AT_ONCE
    first, second = world.cluster.requests[:2]
    first.reader.tell(TokenIssued(first.tag, "jwt", world.dispatcher.wall_ns() + HOUR_S * SECOND_NS, 0))
    second.reader.tell(TokenRefused(second.tag, "failed to fetch token: forbidden"))
    world.run(0.1)
    assert len(world.cluster.requests) == TOKENS_AT_ONCE + 2
    world.cluster.silent = False
    for each in world.cluster.requests[2:]:
        each.reader.tell(TokenRefused(each.tag, "failed to fetch token: forbidden"))
    world.run(0.1)
    assert [each.audience for each in world.cluster.requests[: len(wanted)]] == [each.audience for each in wanted]
    assert "forbidden" in world.answers[0].error


def test_objects_are_read_again_now_and_then_and_what_is_the_same_costs_no_disk(world: World):
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    world.start(pod_with(CONFIG_MAP), seconds=HOUR_S)
    assert HOUR_S / 60 / (1 + RESYNC_JITTER) <= len(world.cluster.reads) <= HOUR_S / 60 + 1
    assert len(world.disk.prepared) == 1
    world.cluster.objects[CFG] = ConfigMap(data={"a": "y"})
    world.run(100)
    assert world.read("configmap/cfg/a") == "y", "though nobody has said that it has changed"


def test_files_about_the_pod_change_with_it_and_are_not_read_again_otherwise(world: World):
    worker = world.start(pod_with(LABELS, labels={"a": "1"}), seconds=HOUR_S)
    assert len(world.disk.prepared) == 1
    world.pods["u"] = pod_with(LABELS, labels={"a": "2"})
    worker.tell(RenewVolumes())
    world.run(0.1)
    assert world.read("downward-api/down/labels") == 'a="2"'
    assert len(world.answers) == 1


def test_a_repeated_request_is_answered_again(world: World):
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    worker = world.start(pod_with(CONFIG_MAP))
    world.actor.tell(PrepareVolumes(worker, world.pods["u"]))
    world.run(0.1)
    assert len(world.answers) == 2
    assert world.answers[0] == world.answers[1]


def test_a_cache_that_never_answers_is_a_failure_like_any_other(world: World):
    world.cluster.silent = True
    world.start(pod_with(CONFIG_MAP), seconds=119)
    assert world.answers == []
    world.run(2)
    (answer,) = world.answers
    assert answer.error.endswith('configmap "cfg" cannot be read: no answer within 120 s')
    world.cluster.silent = False
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    world.run(120)
    assert world.answers[-1].error == ""


def test_answers_to_an_older_question_are_ignored(world: World):
    world.cluster.silent = True
    worker = world.start(pod_with(CONFIG_MAP))
    world.actor.tell(PrepareVolumes(worker, world.pods["u"], renewal=True))
    world.run(0.1)
    first, second = world.cluster.reads
    first.reader.tell(ObjectsRead(first.tag, FrozenMap({CFG: ConfigMap(data={"a": "old"})}), FrozenMap()))
    world.run(0.1)
    assert world.answers == []
    second.reader.tell(ObjectsRead(second.tag, FrozenMap({CFG: ConfigMap(data={"a": "new"})}), FrozenMap()))
    world.run(0.1)
    assert world.read("configmap/cfg/a") == "new"
    assert [answer.error for answer in world.answers] == [""], "the first question was asked by one who waits"


def test_an_impatient_worker_causes_no_second_read(world: World):
    world.cluster.silent = True
    worker = world.start(pod_with(CONFIG_MAP))
    world.actor.tell(PrepareVolumes(worker, world.pods["u"]))
    world.run(0.1)
    (read,) = world.cluster.reads
    read.reader.tell(ObjectsRead(read.tag, FrozenMap({CFG: ConfigMap(data={"a": "x"})}), FrozenMap()))
    world.run(0.1)
    assert [answer.error for answer in world.answers] == [""]


@pytest.mark.parametrize(("strategy", "seconds"), [("Watch", 600), ("Cache", 60), ("Get", 60)])
def test_watched_objects_are_reread_rarely(strategy: str, seconds: int):
    assert resync_ns(60 * SECOND_NS, strategy) == seconds * SECOND_NS


def test_a_released_pod_gets_no_files_again(world: World):
    world.cluster.silent = True
    worker = world.start(pod_with(CONFIG_MAP))
    world.pods.clear()
    world.actor.tell(ReleaseVolumes(worker, "u"))
    world.run(0.1)
    (read,) = world.cluster.reads
    read.reader.tell(ObjectsRead(read.tag, FrozenMap({CFG: ConfigMap(data={"a": "x"})}), FrozenMap()))
    world.change()
    world.run(HOUR_S)
    assert world.disk.list_uids() == ()
    assert world.answers == [VolumesReleased("u")]
    assert len(world.cluster.reads) == 1


def test_an_actor_that_begins_has_every_worker_ask_again(world: World):
    assert len(world.heard) == 0
    world.run(0)
    assert world.heard == [VolumeReconcilerStarted()]


def test_the_node_allocatable_replaces_a_limit_that_is_not_set(world: World):
    selector = ResourceFieldSelector(container_name="c", resource="limits.cpu")
    file = DownwardAPIVolumeFile(path="cpu", resource_field_ref=selector)
    world.start(pod_with(Volume(name="down", downward_api=DownwardAPIVolumeSource(items=(file,)))))
    assert "no limit of cpu is set" in world.answers[-1].error
    world.actor.tell(NodeObserved(Node(status=NodeStatus(allocatable={"cpu": "3500m"}))))
    world.run(1)
    assert world.answers[-1].error == ""
    assert world.read("downward-api/down/cpu") == "4"
    assert world.followers == [FollowNode(world.actor)]


def test_a_node_without_api_server_says_so_and_serves_what_needs_none():
    world = World(alone=True)
    world.start(pod_with(CONFIG_MAP, TOKEN, LABELS, labels={"a": "1"}))
    (answer,) = world.answers
    assert answer.error == (
        'MountVolume.SetUp failed for volume "cfg" : configmap "cfg" cannot be read: this node has no API server; '
        'MountVolume.SetUp failed for volume "token" : failed to fetch token: this node has no API server'
    )
    assert world.read("downward-api/down/labels") == 'a="1"'
    assert world.system.stop()


def test_hundreds_of_pods_are_renewed_each_at_its_own_time(world: World):
    world.cluster.objects[CFG] = ConfigMap(data={"a": "x"})
    for number in range(200):
        world.start(pod_with(CONFIG_MAP, uid=f"u{number}"), seconds=0)
    world.run(59)
    first = len(world.cluster.reads)
    world.run(3)
    assert first == 200
    assert 0 < len(world.cluster.reads) - first < 60


@pytest.mark.parametrize(
    "other",
    [
        {"a": VolumeFile(b"y")},
        {"b": VolumeFile(b"x")},
        {"a": VolumeFile(b"x", 0o600)},
        {"a": VolumeFile(b"x", 0o644, 0)},
        {},
    ],
)
def test_a_digest_tells_contents_apart(other: Payload):
    assert digest_of({"a": VolumeFile(b"x")}) == digest_of({"a": VolumeFile(b"x")})
    assert digest_of({"a": VolumeFile(b"x")}) != digest_of(other)
