"""The passes of `ContainerGCActor`: which dead containers stay, and for how long."""

from __future__ import annotations

from actors.containers.gc import PASSES_AT_ONCE, ContainerGCActor
from actors.containers.gc_rules import GcPolicy, Places
from actors.containers.removal import GcTools
from actors.kernel import Promise, broken
from actors.messages.events import RecordEvent
from actors.messages.pods import CollectorStarted, CollectPod, ContainersDied, KnownPods, PodCollected, PodWorkerStarted
from runtime.cri import CriError, StatusCode
from runtime.cri.messages import Container, ListContainersResponse
from runtime.logs.pod_logs import DeadLink
from tests.actors.containers.dead_containers import SECOND_NS, World, crashed
from tests.actors.containers.test_gc_rules import CREATED, READY, container, sandbox
from tests.actors.recorders import Recorder


# (spec 2.1.10, 3.6.3)
def test_after_a_death_only_the_newest_of_that_name_stays_with_its_log(world: World):
    world.runtime.add(*crashed(), container("other", "p/other"))
    world.tell(ContainersDied((("p", "c"),)), seconds=2)
    assert world.left() == {"p2", "other"}
    assert world.logs.removed == ["/var/log/pods/default_pod-p_p/c/0.log", "/var/log/pods/default_pod-p_p/c/1.log"]


def test_many_deaths_share_one_list(world: World):
    for number in range(100):
        world.runtime.add(*crashed(f"p{number}_", 2))
        world.tell(ContainersDied(((f"p{number}_", "c"),)))
    world.tell(seconds=3)
    assert len(world.left()) == 100
    assert world.runtime.lists == 1


# (spec 2.1.5)
def test_a_pass_each_minute_keeps_the_limits(world: World):
    world.runtime.add(*crashed())
    world.tell(seconds=59)
    assert len(world.left()) == 3
    world.tell(seconds=3)
    assert world.left() == {"p2"}


# (spec 1.5.2)
def test_remains_of_unknown_pods_are_kept_until_every_source_has_reported(world: World):
    world.runtime.add(*crashed("gone", 1), *crashed("known", 1), *crashed("new", 1))
    world.runtime.add(
        container("ghost", "gone/g", state=CREATED), sandbox("old", "gone2"), sandbox("up", "gone3", READY)
    )
    world.logs.pods = tuple(f"/var/log/pods/ns_x_{uid}" for uid in ("gone", "gone4", "known", "new"))
    world.tell(seconds=121)
    assert len(world.left()) == 6
    world.tell(PodWorkerStarted("new", world.worker), KnownPods(frozenset({"known"})), seconds=2)
    assert world.left() == {"known0", "new0", "up"}
    assert ("/var/log/pods/ns_x_gone4",) in world.logs.removed
    world.tell(seconds=61)
    assert ("/var/log/pods/ns_x_gone",) in world.logs.removed
    assert ("/var/log/pods/ns_x_new",) not in world.logs.removed


def test_all_of_an_unknown_pod_goes_at_once(world: World):
    world.runtime.add(container("dead", "gone/c", sandbox="box"), sandbox("box", "gone"))
    world.logs.pods = ("/var/log/pods/ns_x_gone",)
    world.logs.into = {"/var/log/pods/ns_x_gone": (DeadLink("/c/x-dead.log", "dead"),)}
    world.tell(KnownPods(frozenset()), seconds=2)
    assert world.left() == set()
    assert world.logs.removed[1:] == [("/var/log/pods/ns_x_gone",), "/c/x-dead.log"]
    lists = world.runtime.lists
    world.tell(seconds=50)
    assert world.runtime.lists == lists


def test_a_runtime_that_shows_what_it_has_removed_is_not_asked_without_end(world: World):
    class Liar(dict[str, Container]):
        def __delitem__(self, _: str) -> None:
            pass

    world.runtime.containers = Liar()
    world.runtime.add(container("dead", "gone/c", sandbox="box"), sandbox("box", "gone"))
    world.tell(KnownPods(frozenset()), seconds=50)
    assert world.runtime.lists == PASSES_AT_ONCE


def test_a_pod_that_came_and_ended_since_the_last_report_is_still_known(world: World):
    world.tell(KnownPods(frozenset()), PodWorkerStarted("p", world.worker), seconds=2)
    world.runtime.add(*crashed(times=1))
    world.tell(seconds=61)
    assert world.left() == {"p0"}
    world.tell(KnownPods(frozenset()), seconds=61)
    assert world.left() == {"p0"}, "that word may be from before its beginning"
    world.tell(KnownPods(frozenset()), seconds=61)
    assert world.left() == set()


def test_a_worker_announced_during_a_list_keeps_its_containers(world: World):
    world.tell(KnownPods(frozenset()), seconds=2)
    world.runtime.listing = Promise()
    world.tell(seconds=61)
    listing, world.runtime.listing = world.runtime.listing, None
    world.runtime.add(container("just made", "p/c", state=CREATED))
    world.gc.tell(PodWorkerStarted("p", world.worker))
    listing.set_result(ListContainersResponse(containers=tuple(world.runtime.containers.values())))
    world.tell(seconds=5)
    assert world.left() == {"just made"}


def test_a_hanging_removal_holds_up_neither_the_pass_nor_an_ended_pod(world: World):
    world.runtime.add(*crashed("p", 40), *crashed("q", 2), *crashed("e", 2))
    world.runtime.hanging = {"p0", "q0"}
    world.tell(seconds=61)
    world.tell(CollectPod(world.worker, "e", ""), seconds=2)
    assert world.answers == [PodCollected("e")]
    assert len(world.left()) == 7, "all but the ones that hang, and what stood in line behind those"
    world.runtime.hanging.clear()
    world.tell(seconds=400)
    assert world.left() == {"p39", "q1"}


def test_20_000_dead_containers_drain_and_an_ended_pod_does_not_wait_for_them(world: World):
    for number in range(1_000):
        world.runtime.add(*crashed(f"p{number}_", 20))
    world.runtime.add(*crashed("e", 2))
    world.tell(seconds=59)
    world.gc.tell(CollectPod(world.worker, "e", ""))
    world.dispatcher.run_until(lambda: bool(world.answers), 10 * SECOND_NS)
    assert world.answers == [PodCollected("e")]
    assert len(world.left()) >= 10_000
    world.tell(seconds=10)
    assert len(world.left()) == 1_000


# (spec 3.12.5)
def test_dead_links_of_containers_that_are_gone_are_removed(world: World):
    world.runtime.add(*crashed(times=1))
    world.logs.links = (DeadLink("/c/a-p0.log", "p0"), DeadLink("/c/a-gone.log", "gone"))
    world.tell(seconds=62)
    assert world.logs.removed == ["/c/a-gone.log"]


def test_a_list_that_fails_is_tried_again(world: World):
    world.runtime.add(*crashed())
    world.runtime.listing = broken(CriError(StatusCode.UNAVAILABLE, "down", "ListContainers"))
    world.tell(seconds=62)
    world.runtime.listing = None
    assert len(world.left()) == 3
    world.tell(seconds=60)
    assert world.left() == {"p2"}


def test_a_list_that_fails_is_told_by_an_event_of_the_node(world: World):
    events, heard = Recorder.spawn_in(world.system, "events", RecordEvent, CollectorStarted)
    tools = GcTools(world.runtime, world.logs, GcPolicy(), Places(), "n", events)
    world.runtime.listing = broken(CriError(StatusCode.UNAVAILABLE, "down", "ListContainers"))
    world.system.spawn(ContainerGCActor, events, tools, name="another")
    world.tell(seconds=62)
    (event,) = [each for each in heard if isinstance(each, RecordEvent)]
    assert (event.kind, event.name, event.type, event.reason) == ("Node", "n", "Warning", "ContainerGCFailed")
    assert "down" in event.message
