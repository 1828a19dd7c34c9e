"""The one owner of ids (spec 17.6): what it answers, what it keeps, what a sick disk does to it."""

from __future__ import annotations

from collections.abc import Mapping

from actors.kernel import ActorRef, ActorSystem, SimulatedDispatcher
from actors.messages.ids import AssignIds, IdsAssigned, ReleaseIds
from actors.model.id_ranges import IdRange, document
from actors.resources.user_namespaces import UserNamespaceActor
from tests.actors.recorders import Recorder

PER_POD = 65536


class Disk:
    """`runtime.state.id_files.IdFiles` in memory, with what each record is and what fails."""

    def __init__(self, records: dict[str, str] | None = None, said: str | None = None) -> None:
        self.kept = dict(records or {})
        self.said = said
        self.broken = False

    def subordinate(self) -> tuple[str | None, str | None]:
        return self.said, self.said

    def records(self) -> Mapping[str, str]:
        self._check()
        return dict(self.kept)

    def write(self, uid: str, text: str) -> None:
        self._check()
        self.kept[uid] = text

    def remove(self, uid: str) -> None:
        self._check()
        self.kept.pop(uid, None)

    def _check(self) -> None:
        if self.broken:
            raise OSError("the disk is broken")


class Scene:
    def __init__(self, disk: Disk) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.disk = disk
        self.worker: ActorRef
        self.worker, self.answers = Recorder.spawn_in(self.system, "worker", IdsAssigned)
        self.owner = self.system.spawn(UserNamespaceActor, disk, PER_POD, 2, name="ids")

    def ask(self, uid: str) -> IdsAssigned:
        self.owner.tell(AssignIds(self.worker, uid))
        self.dispatcher.run_for(10**9)
        answer = self.answers[-1]
        assert isinstance(answer, IdsAssigned)
        return answer

    def release(self, uid: str) -> None:
        self.owner.tell(ReleaseIds(uid))
        self.dispatcher.run_for(10**9)


def test_ids_are_told_once_they_are_recorded_and_stay_the_same() -> None:
    scene = Scene(Disk())
    first = scene.ask("a")
    assert first.ids == IdRange(PER_POD, PER_POD)
    assert scene.disk.kept == {"a": document(first.ids)}
    assert scene.ask("a") == first
    assert scene.ask("b").ids == IdRange(2 * PER_POD, PER_POD)


def test_released_user_ids_are_assigned_again() -> None:
    scene = Scene(Disk())
    first = scene.ask("a").ids
    scene.release("a")
    assert scene.disk.kept == {}
    assert scene.ask("b").ids == first


# (spec 17.6.3)
def test_another_life_of_the_agent_finds_what_it_gave() -> None:
    scene = Scene(Disk({"b": document(IdRange(PER_POD, PER_POD))}))
    assert scene.ask("a").ids == IdRange(2 * PER_POD, PER_POD)
    assert scene.ask("b").ids == IdRange(PER_POD, PER_POD)


def test_a_pod_whose_id_record_cannot_be_kept_gets_the_error_until_it_is_released() -> None:
    scene = Scene(Disk({"a": "{}", "b": document(IdRange(PER_POD, 2 * PER_POD))}))
    assert "cannot be read" in scene.ask("a").error
    assert "idsPerPod" in scene.ask("b").error
    assert scene.ask("c").ids == IdRange(3 * PER_POD, PER_POD), "those of b go to nobody"
    scene.release("b")
    assert scene.ask("b").ids == IdRange(PER_POD, PER_POD)


def test_a_broken_disk_assigns_no_ids_and_releases_none() -> None:
    scene = Scene(Disk())
    first = scene.ask("a").ids
    scene.disk.broken = True
    assert scene.ask("b") == IdsAssigned(None, "the disk is broken")
    scene.release("a")
    scene.disk.broken = False
    assert scene.ask("b").ids != first, "the record of the other pod is still there"


def test_a_range_of_the_system_that_is_too_small_is_said_to_every_pod() -> None:
    scene = Scene(Disk(said=f"0: kubelet {PER_POD} {PER_POD}"))
    assert "maxPods" in scene.ask("a").error
