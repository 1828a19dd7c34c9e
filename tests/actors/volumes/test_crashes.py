"""The agent dies at every operation of mounting and unmounting, and at every turn between.

Pain 6.

Every kind of volume is in it, one on a device that two pods share. After each death a new agent comes. Then nothing of
a removed pod is left, neither directory nor mount, and every wanted pod has all its volumes. No mount of a live pod was
ever touched.
"""

from __future__ import annotations

import pytest

from actors.kernel import Actor, ActorRef, ActorSystem, SimulatedDispatcher, handles
from actors.messages.claims import ClaimsResolved, ForgetClaims, ResolveClaims
from actors.messages.events import RecordEvent
from actors.messages.pods import KnownPods
from actors.messages.references import ObjectRef, TokenIssued
from actors.messages.volumes import PrepareVolumes, ReleaseVolumes, VolumesPrepared, VolumesReleased
from actors.volumes.reconciler import VolumeReconcilerActor
from actors.volumes.wishes.contents import ContentSources
from config.frozen_map import FrozenMap
from config.objects import (
    ConfigMap,
    CSIPersistentVolumeSource,
    HostPathVolumeSource,
    ImageVolumeSource,
    LocalVolumeSource,
    NFSVolumeSource,
    PersistentVolume,
    PersistentVolumeClaimVolumeSource,
    PersistentVolumeSpec,
    Pod,
    Secret,
    SecretVolumeSource,
    Volume,
)
from runtime.volumes.capability import VolumeSpec
from simulation.host.file_tree import FileTree
from simulation.host.volumes import SimulatedNodeVolumes
from simulation.node.killable import KillableDispatcher
from tests.actors.recorders import Recorder
from tests.actors.volumes.test_contents import CONFIG_MAP, DATA, LABELS, TOKEN, Cluster, Objects, Tokens, pod_with

SECOND_NS = 1_000_000_000
SOURCES = {
    "disk": ("csi", PersistentVolumeSpec(csi=CSIPersistentVolumeSource(driver="driver", volume_handle="handle"))),
    "ssd": ("local", PersistentVolumeSpec(local=LocalVolumeSource(path="/mnt/ssd"))),
}
CLAIMED = tuple(
    Volume(name=name, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=name)) for name in SOURCES
)
VOLUMES = (
    DATA,
    CONFIG_MAP,
    Volume(name="sec", secret=SecretVolumeSource(secret_name="sec")),
    LABELS,
    TOKEN,
    Volume(name="host", host_path=HostPathVolumeSource(path="/srv")),
    Volume(name="share", nfs=NFSVolumeSource(server="s", path="/")),
    Volume(name="img", image=ImageVolumeSource(reference="i")),
    *CLAIMED,
)
LIVES, GOES = (pod_with(*VOLUMES, uid=uid, labels={"a": "1"}) for uid in ("lives", "goes"))
MOUNTS = 6
"""Of one pod: secret, labels, token, nfs, local, csi. The device is another, for both."""


class Death(BaseException):
    """The process ends in the middle of a call."""


class Claims(Actor):
    @handles(ResolveClaims)
    def resolve(self, message: ResolveClaims) -> None:
        specs = {
            name: VolumeSpec(name=f"pv-{name}", volume=volume, source=source, persistent=PersistentVolume(spec=spec))
            for volume in CLAIMED
            for name, (source, spec) in SOURCES.items()
            if volume.name == name
        }
        message.reader.tell(ClaimsResolved(message.tag, FrozenMap(specs), FrozenMap()))

    @handles(ForgetClaims)
    def forget(self, _: ForgetClaims) -> None:
        """Nothing is kept."""


class Host:
    """The world that agents live and die in. `operations`: every single thing that was done to the disk."""

    def __init__(self, seed: int = 1) -> None:
        self.dispatcher = SimulatedDispatcher(seed)
        self.disk = SimulatedNodeVolumes(FileTree(), "/root", self.before)
        self.cluster = Cluster()
        self.cluster.objects[ObjectRef("ConfigMap", "ns", "cfg")] = ConfigMap(data={"a": "x"})
        self.cluster.objects[ObjectRef("Secret", "ns", "sec")] = Secret(data={"a": "eA=="})
        now_ns = self.dispatcher.wall_ns()
        self.cluster.token = TokenIssued(None, "jwt", now_ns + 7200 * SECOND_NS, now_ns + 3600 * SECOND_NS)
        self.lives = 0
        self.operations: list[str] = []
        self.dies_before: int | None = None
        self.untouchable = False
        self.agent: Agent = self.new_agent()

    def before(self, operation: str) -> None:
        if self.dies_before == len(self.operations):
            self.dies_before = None
            self.agent.killable.kill()
            raise Death
        self.operations.append(operation)
        if self.untouchable and operation.startswith(("unmount", "remove")):
            assert "/lives/" not in operation, f"{operation}: of a pod that lives"
            assert "globalmount" not in operation, f"{operation}: a pod that lives is on it"

    def new_agent(self) -> Agent:
        self.lives += 1
        self.dies_before = None
        self.agent = Agent(self)
        return self.agent

    def run(self, seconds: float) -> None:
        self.dispatcher.run_for(int(seconds * SECOND_NS))

    def of(self, uid: str) -> list[str]:
        return [path for path in self.disk.mounted if f"/{uid}/" in path]


class Agent:
    """One life: the reconciler and those around it. `worker` hears for all pods."""

    def __init__(self, host: Host) -> None:
        self.killable = KillableDispatcher(host.dispatcher, host.lives)
        self.system = ActorSystem(self.killable)
        events, self.events = Recorder.spawn_in(self.system, "events", RecordEvent)
        objects = self.system.spawn(Objects, host.cluster, name="objects")
        tokens = self.system.spawn(Tokens, host.cluster, name="tokens")
        claims = self.system.spawn(Claims, name="claims")
        sources = ContentSources(objects, tokens, claims=claims)
        self.worker, self.answers = Recorder.spawn_in(self.system, "worker", VolumesPrepared, VolumesReleased)
        self.actor: ActorRef = self.system.spawn(VolumeReconcilerActor, host.disk, events, sources, name="volumes")

    def want(self, *pods: Pod) -> None:
        for pod in pods:
            self.actor.tell(PrepareVolumes(self.worker, pod))

    def know(self, *pods: Pod) -> None:
        self.actor.tell(KnownPods(frozenset(pod.metadata.uid for pod in pods)))

    def settled(self, *pods: Pod) -> bool:
        """Every one of these pods was told that it has all its volumes."""
        sound = [each for each in self.answers if isinstance(each, VolumesPrepared) and not each.error]
        return len(sound) >= len(pods)


def check_in_the_end(host: Host, *pods: Pod) -> None:
    """These pods have all their volumes, and nobody else has anything."""
    uids = tuple(sorted(pod.metadata.uid for pod in pods))
    assert host.agent.settled(*pods)
    assert host.disk.list_uids() == uids
    assert {uid: len(host.of(uid)) for uid in ("lives", "goes")} == {
        uid: MOUNTS if uid in uids else 0 for uid in ("lives", "goes")
    }
    assert len(host.disk.scan().devices) == bool(pods)
    assert len(host.disk.mounted) == MOUNTS * len(pods) + bool(pods)


def with_both(seed: int = 1) -> Host:
    host = Host(seed)
    host.agent.want(LIVES, GOES)
    host.agent.know(LIVES, GOES)
    host.run(2)
    check_in_the_end(host, LIVES, GOES)
    return host


def operations_of(host: Host, release: bool) -> int:
    """How many single operations the mounting takes, or the unmounting of one of both pods."""
    before = len(host.operations)
    if release:
        host.agent.actor.tell(ReleaseVolumes(host.agent.worker, "goes"))
        host.run(2)
    return len(host.operations) - before if release else len(host.operations)


MOUNTING = operations_of(with_both(), release=False)
UNMOUNTING = operations_of(with_both(), release=True)


def test_the_crash_tests_cover_many_operations():
    assert MOUNTING > 40
    assert UNMOUNTING >= 15


@pytest.mark.parametrize("operation", range(MOUNTING + 1))
@pytest.mark.parametrize("wanted", ["both", "one", "none"])
def test_an_agent_that_dies_in_the_middle_of_mounting_leaves_nothing_of_what_is_not_wanted_later(
    operation: int, wanted: str
):
    host = Host(operation)
    host.dies_before = operation
    host.agent.want(LIVES, GOES)
    host.agent.know(LIVES, GOES)
    host.run(2)
    host.agent.killable.kill()
    host.untouchable = wanted != "none"
    pods = {"both": (LIVES, GOES), "one": (LIVES,), "none": ()}[wanted]
    agent = host.new_agent()
    agent.want(*pods)
    agent.know(*pods)
    host.run(5)
    check_in_the_end(host, *pods)
    assert [event.message for event in agent.events] == []


@pytest.mark.parametrize("operation", range(UNMOUNTING + 1))
def test_an_agent_that_dies_in_the_middle_of_unmounting_goes_on_with_it_and_touches_no_other(operation: int):
    host = with_both(operation)
    host.untouchable = True
    host.dies_before = len(host.operations) + operation
    host.agent.actor.tell(ReleaseVolumes(host.agent.worker, "goes"))
    host.run(2)
    host.agent.killable.kill()
    agent = host.new_agent()
    host.run(1)
    agent.want(LIVES)
    host.run(1)
    agent.know(LIVES)
    host.run(5)
    check_in_the_end(host, LIVES)


@pytest.mark.parametrize("operation", range(UNMOUNTING + 1))
def test_an_agent_that_dies_at_the_end_of_the_last_pod_leaves_no_device(operation: int):
    host = Host(operation)
    host.agent.want(GOES)
    host.agent.know(GOES)
    host.run(2)
    host.dies_before = len(host.operations) + operation
    host.agent.actor.tell(ReleaseVolumes(host.agent.worker, "goes"))
    host.run(2)
    host.agent.killable.kill()
    host.new_agent().know()
    host.run(5)
    check_in_the_end(host)


@pytest.mark.parametrize("seed", range(8))
def test_an_agent_that_dies_at_any_turn_of_starts_and_ends_is_followed_by_one_that_makes_it_right(seed: int):
    host = Host(seed)
    chance = host.dispatcher.chance
    host.agent.want(LIVES)
    host.run(2)
    host.untouchable = True
    for turn in range(60):
        wanted = (LIVES, GOES) if chance.random() < 0.5 else (LIVES,)
        host.agent.want(*wanted)
        host.agent.know(*wanted)
        if len(wanted) == 1:
            host.agent.actor.tell(ReleaseVolumes(host.agent.worker, "goes"))
        for _ in range(turn):
            host.dispatcher.step(host.dispatcher.now_ns() + SECOND_NS)
        host.agent.killable.kill()
        host.new_agent()
    host.agent.want(LIVES)
    host.agent.know(LIVES)
    host.run(5)
    check_in_the_end(host, LIVES)


def test_mounts_that_hang_while_the_agent_dies_are_no_harm_to_the_next():
    host = Host()
    host.agent.want(LIVES)
    host.run(2)
    host.untouchable = True
    host.disk.tree.hang("/root/pods/goes/volumes")
    host.agent.want(GOES)
    host.agent.know(LIVES, GOES)
    host.run(2)
    host.agent.killable.kill()
    agent = host.new_agent()
    agent.want(LIVES)
    agent.know(LIVES)
    host.run(5)
    assert agent.settled(LIVES)
    assert host.of("goes") == [] or host.disk.list_uids() == ("goes", "lives")
    host.disk.tree.heal("/root/pods/goes/volumes")
    host.run(300)
    agent.know(LIVES)
    host.run(300)
    check_in_the_end(host, LIVES)
