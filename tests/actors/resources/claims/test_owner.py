"""The one owner of claims, with simulated drivers: what is called when, and what pods hear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from actors.kernel import ActorRef, ActorSystem, Promise, SimulatedDispatcher
from actors.messages.pods import KnownPods
from actors.messages.resource_claims import (
    ClaimsAnswered,
    ClaimsReleased,
    DraDriversChanged,
    PrepareClaims,
    ReleaseClaims,
)
from actors.resources.claims.owner import ResourceClaimsActor
from actors.resources.claims.written import read_claims
from config.objects import ResourceClaim
from config.pods.resource_claims import NeededClaim, PodWithClaims
from runtime.api import ApiError
from runtime.io.pending import PendingAnswer
from simulation.host.dra_drivers import PREPARE, UNPREPARE, SimulatedDraDriver, SimulatedDraDrivers
from tests.actors.recorders import Recorder
from tests.actors.resources.claims.test_claim_rules import claim

SECOND = 10**9


class Disk:
    """`OpaqueFile` in memory."""

    def __init__(self) -> None:
        self.content: bytes | None = None
        self.broken = False

    def load(self, decode: Callable[[bytes], Any]) -> Any:
        content, self.content = self.content, None
        found = None if content is None else decode(content)
        self.content = content
        return found

    def save(self, content: bytes) -> None:
        if self.broken:
            raise OSError("the disk is broken")
        self.content = content

    def pods(self) -> dict[str, set[str]]:
        """Claim -> pods, as the file has it."""
        return {life.ref.name: set(life.pods) for life in read_claims(self.content or b"")}


class Claims:
    """An API server that only knows claims."""

    def __init__(self, dispatcher: SimulatedDispatcher) -> None:
        self._dispatcher = dispatcher
        self.objects: dict[str, ResourceClaim] = {}

    def call(self, call: Any, *, timeout_ns: int | None = None) -> PendingAnswer[Any]:
        answer: Any = Promise()
        found = self.objects.get(call.name)
        if found is None:
            answer.set_exception(ApiError(404, "NotFound", f'resourceclaims "{call.name}" not found', call.verb))
        else:
            answer.set_result(found)
        return answer


class Scene:
    def __init__(self, disk: Disk | None = None, drivers: SimulatedDraDrivers | None = None) -> None:
        self.dispatcher = SimulatedDispatcher(1)
        self.system = ActorSystem(self.dispatcher)
        self.disk = disk or Disk()
        self.drivers = drivers or SimulatedDraDrivers()
        self.api = Claims(self.dispatcher)
        self.workers: dict[str, tuple[ActorRef, list[Any]]] = {}
        self.owner = self.system.spawn(ResourceClaimsActor, self.api, self.drivers, self.disk, name="claims")
        self.go(1)

    def go(self, seconds: float) -> None:
        self.dispatcher.run_for(int(seconds * SECOND))

    def driver(self, name: str = "one") -> SimulatedDraDriver:
        driver = self.drivers.add(name)
        self.register(driver)
        return driver

    def register(self, driver: SimulatedDraDriver) -> None:
        self.drivers.register(driver.name, driver.endpoint, "v1.DRAPlugin")
        self.tell_drivers()

    def unregister(self, driver: SimulatedDraDriver) -> None:
        self.drivers.unregister(driver.name, driver.endpoint)
        self.tell_drivers()

    def tell_drivers(self) -> None:
        self.owner.tell(DraDriversChanged(self.drivers.names()))
        self.go(0.1)

    def worker(self, uid: str) -> tuple[ActorRef, list[Any]]:
        if uid not in self.workers:
            self.workers[uid] = Recorder.spawn_in(self.system, f"worker {uid}", ClaimsAnswered, ClaimsReleased)
        return self.workers[uid]

    def asks(self, *claims: str, uid: str = "p", anew: bool = True, seconds: float = 0.5) -> ClaimsAnswered | None:
        """The pod asks for its claims; its last answer."""
        worker, answers = self.worker(uid)
        before = len(answers)
        the_pod = PodWithClaims(uid, "default", "web", tuple(NeededClaim(each, own=False) for each in claims))
        self.owner.tell(PrepareClaims(worker, the_pod, anew))
        self.go(seconds)
        return answers[-1] if len(answers) > before else None

    def last(self, uid: str = "p") -> Any:
        return self.worker(uid)[1][-1]

    def leaves(self, uid: str = "p", seconds: float = 0.5) -> ClaimsReleased | None:
        worker, answers = self.worker(uid)
        before = len(answers)
        self.owner.tell(ReleaseClaims(worker, uid))
        self.go(seconds)
        return answers[-1] if len(answers) > before else None

    def allocates(self, name: str, *drivers: str, users: tuple[str, ...] = ("p",)) -> None:
        found = claim(name, drivers=drivers)
        (reserved,) = found.status.reserved_for
        users_of = tuple(replace(reserved, uid=each) for each in users)
        self.api.objects[name] = replace(found, status=replace(found.status, reserved_for=users_of))


def ready(answer: Any) -> bool:
    assert isinstance(answer, ClaimsAnswered), answer
    return answer.claims is not None


def test_a_driver_is_called_for_each_pod_by_itself() -> None:
    scene = Scene()
    driver = scene.driver()
    wanted = {"p": ("a", "c"), "q": ("b",), "r": ("d",)}
    for uid, names in wanted.items():
        for name in names:
            scene.allocates(name, "one", users=(uid,))
        needed = tuple(NeededClaim(each, own=False) for each in names)
        scene.owner.tell(PrepareClaims(scene.worker(uid)[0], PodWithClaims(uid, "default", "web", needed), anew=True))
    scene.go(1)
    assert all(ready(scene.last(uid)) for uid in wanted)
    assert sorted(driver.calls) == [(PREPARE, ("uid-a", "uid-c")), (PREPARE, ("uid-b",)), (PREPARE, ("uid-d",))]


# (spec 10.12.1, 10.12.2)
def test_claims_are_prepared_together_and_unprepared_once_by_the_last_pod() -> None:
    scene = Scene()
    driver = scene.driver()
    for name in ("a", "b"):
        scene.allocates(name, "one", users=("p", "q"))
    assert ready(scene.asks("a", "b"))
    assert driver.calls == [(PREPARE, ("uid-a", "uid-b"))], "one call for both"
    assert ready(scene.asks("a", uid="q"))
    assert len(driver.calls) == 1, "it is ready already"
    assert scene.disk.pods() == {"a": {"p", "q"}, "b": {"p"}}
    assert scene.leaves("p") == ClaimsReleased()
    assert set(driver.prepared) == {"uid-a"}
    assert scene.leaves("q") == ClaimsReleased()
    assert driver.prepared == {}
    assert scene.disk.pods() == {}
    assert scene.leaves("never") == ClaimsReleased()


def test_a_pod_waits_for_its_driver_says_so_and_leaves_nothing_behind() -> None:
    scene = Scene()
    scene.allocates("a", "one", "two")
    driver = scene.driver("two")
    answer = scene.asks("a")
    assert answer == ClaimsAnswered(None, "DRA driver one is not registered", refused=True)
    assert scene.disk.content is None
    assert scene.leaves() == ClaimsReleased()
    assert driver.calls == []
    scene.asks("a")
    scene.driver("one")
    assert ready(scene.last())


def test_a_claim_that_the_pod_may_not_use_or_that_is_not_there_is_an_error() -> None:
    scene = Scene()
    scene.driver()
    scene.allocates("a", "one", users=("q",))
    answer = scene.asks("a")
    assert answer is not None
    assert "is not allowed to use ResourceClaim a" in answer.text
    answer = scene.asks("b")
    assert answer is not None
    assert answer.text.startswith("fetch ResourceClaim b: ")
    assert answer.refused


def test_a_driver_that_fails_is_asked_again_and_the_pod_hears_why() -> None:
    scene = Scene()
    driver = scene.driver()
    scene.allocates("a", "one")
    driver.fails["uid-a"] = "the card is on fire"
    answer = scene.asks("a")
    assert answer is not None
    assert answer.text == "NodePrepareResources failed for ResourceClaim a: the card is on fire"
    scene.go(5)
    assert 2 <= len(driver.calls) <= 4, "with pauses"
    del driver.fails["uid-a"]
    scene.go(5)
    assert ready(scene.last())


# kubernetes/kubernetes#137819
def test_where_one_of_two_drivers_fails_both_undo_it_when_the_pod_goes() -> None:
    scene = Scene()
    one, two = scene.driver("one"), scene.driver("two")
    two.fails["uid-a"] = "no"
    scene.allocates("a", "one", "two")
    scene.asks("a")
    assert set(one.prepared) == {"uid-a"}
    del two.fails["uid-a"]
    two.stop()
    scene.unregister(two)
    assert "two: it is not registered" in getattr(scene.leaves(), "waits", "")
    assert set(one.prepared) == {"uid-a"}, "it is undone by all drivers together"
    two.start()
    scene.register(two)
    scene.go(2)
    assert one.prepared == two.prepared == {}
    assert (UNPREPARE, ("uid-a",)) in two.calls, "it may have done a part of it"


# kubernetes/kubernetes#140527
def test_a_claim_that_is_being_prepared_is_not_unprepared_before_the_answer() -> None:
    scene = Scene()
    driver = scene.driver()
    driver.hangs.add(PREPARE)
    scene.allocates("a", "one", users=("p", "q"))
    scene.asks("a")
    assert scene.leaves() is None, "the call has not ended"
    assert driver.calls == [(PREPARE, ("uid-a",))]
    driver.hangs.clear()
    scene.go(70)
    assert isinstance(scene.last(), ClaimsReleased)
    assert driver.prepared == {}


def test_a_driver_that_hangs_costs_only_its_own_claims() -> None:
    scene = Scene()
    hung, good = scene.driver("one"), scene.driver("two")
    hung.hangs |= {PREPARE, UNPREPARE}
    for number in range(12):
        scene.allocates(f"h{number}", "one", users=(f"h{number}",))
        scene.asks(f"h{number}", uid=f"h{number}", seconds=0.01)
    scene.allocates("a", "two")
    assert ready(scene.asks("a"))
    assert set(good.prepared) == {"uid-a"}


# kubernetes/kubernetes#129402
def test_a_pod_whose_driver_is_away_ends_and_the_claim_is_unprepared_when_it_is_back() -> None:
    scene = Scene()
    driver = scene.driver()
    scene.allocates("a", "one")
    assert ready(scene.asks("a"))
    driver.stop()
    scene.unregister(driver)
    assert scene.leaves() == ClaimsReleased("ResourceClaim a stays prepared: DRA driver one: it is not registered")
    assert scene.disk.pods() == {"a": set()}
    driver.start()
    scene.register(driver)
    scene.go(1)
    assert driver.prepared == {}
    assert scene.disk.pods() == {}


def test_a_pod_that_comes_while_the_claim_is_unprepared_has_it_prepared_anew() -> None:
    scene = Scene()
    driver = scene.driver()
    scene.allocates("a", "one", users=("p", "q"))
    scene.asks("a")
    driver.fails[UNPREPARE] = "busy"
    released = scene.leaves(seconds=0.2)
    assert released is not None
    assert "busy" in released.waits
    assert ready(scene.asks("a", uid="q", seconds=3))
    assert driver.calls[-1] == (PREPARE, ("uid-a",))
    assert set(driver.prepared) == {"uid-a"}


def test_the_next_agent_lets_go_of_claims_of_pods_that_are_gone() -> None:
    scene = Scene()
    driver = scene.driver()
    scene.allocates("a", "one")
    scene.allocates("b", "one", users=("q",))
    scene.asks("a")
    scene.asks("b", uid="q")
    after = Scene(scene.disk, scene.drivers)
    after.owner.tell(KnownPods(frozenset({"q"})))
    after.go(1)
    assert set(driver.prepared) == {"uid-b"}
    assert after.disk.pods() == {"b": {"q"}}


# kubernetes/kubernetes#141433
def test_a_new_sandbox_after_a_reboot_has_its_claim_prepared_anew_and_an_old_one_uses_what_is_known() -> None:
    scene = Scene()
    driver = scene.driver()
    scene.allocates("a", "one")
    first = scene.asks("a")
    driver.calls.clear()
    after = Scene(scene.disk, scene.drivers)
    after.api = scene.api
    after.allocates("a", "one")
    restarted = Scene(scene.disk, SimulatedDraDrivers())
    restarted.allocates("a", "one")
    assert restarted.asks("a", anew=False) == first, "its driver is away, and nothing is needed of it"
    assert driver.calls == []


def test_claims_wait_for_the_disk_and_say_so() -> None:
    scene = Scene()
    driver = scene.driver()
    scene.disk.broken = True
    scene.allocates("a", "one")
    answer = scene.asks("a")
    assert answer is not None
    assert "cannot be saved" in answer.text
    assert driver.calls == []
    scene.disk.broken = False
    scene.go(40)
    assert ready(scene.last())


def test_a_claim_with_no_devices_needs_no_driver() -> None:
    scene = Scene()
    scene.allocates("a")
    assert ready(scene.asks("a"))
    assert scene.leaves() == ClaimsReleased()


def test_a_file_of_no_use_is_put_aside() -> None:
    disk = Disk()
    disk.content = b"{"
    scene = Scene(disk)
    scene.driver()
    scene.allocates("a", "one")
    assert ready(scene.asks("a"))
