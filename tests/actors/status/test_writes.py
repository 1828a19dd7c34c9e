"""The status manager's writes to the API: how many, how soon, and in which order."""

from __future__ import annotations

import pytest

from actors.messages.pods import ListPods
from actors.messages.status import PodReconciled, Unwritten, WantUnwritten
from actors.status.manager import MAX_WRITES, StatusManagerActor
from actors.status.urgency import ON_ITS_WAY_NS
from config.objects import PodStatus
from tests.actors.recorders import Recorder
from tests.actors.status.written_pods import SECOND_NS, SOON_NS, World, api_pod, ready


def test_a_pod_that_comes_to_run_costs_one_write(world: World):
    for _ in range(3):
        world.tell("web", PodStatus(phase="Pending", message="on its way"))
    world.tell("web", ready(pod_ip="10.0.0.7"))
    body = world.accept()
    assert body["metadata"] == {"uid": "uid-web"}
    assert body["status"]["phase"] == "Running"
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1


def test_a_requester_hears_which_statuses_are_not_written_yet(world: World):
    asker, heard = Recorder.spawn_in(world.system, "asker", Unwritten)

    def unwritten() -> frozenset[str]:
        world.manager.tell(WantUnwritten(asker, frozenset({"uid-web", "uid-job", "uid-gone"})))
        world.run()
        return heard[-1].uids

    world.tell("web", ready())
    world.tell("job", ready("Failed"), final=True)
    world.tell("other", ready())
    assert unwritten() == {"uid-web", "uid-job"}
    while world.api.open_calls:
        world.accept()
    assert unwritten() == frozenset()
    world.tell("web", PodStatus(phase="Running", message="on its way"))
    assert unwritten() == {"uid-web"}, "what is kept back is not written"


def test_a_pod_that_stays_on_its_way_is_shown_after_a_while(world: World):
    world.tell("web", PodStatus(phase="Pending", host_ip="10.0.0.1"))
    world.run(ON_ITS_WAY_NS // 2)
    assert world.api.calls == []
    world.run(ON_ITS_WAY_NS)
    assert world.accept()["status"] == {"hostIP": "10.0.0.1"}


def test_an_alarm_for_a_pod_that_came_to_run_takes_nothing_from_the_next(world: World):
    world.tell("web", PodStatus(phase="Pending", host_ip="10.0.0.1"))
    world.run(ON_ITS_WAY_NS // 2)
    world.tell("web", ready())
    world.accept()
    world.tell("db", PodStatus(phase="Pending", host_ip="10.0.0.1"))
    world.run(ON_ITS_WAY_NS - SECOND_NS // 10)
    assert world.names() == ["web"], "the alarm has rung, for nobody"
    world.run(SECOND_NS // 10)
    assert world.names() == ["web", "db"]


def test_an_alarm_that_rings_while_the_mailbox_is_full_is_heard(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(StatusManagerActor, "mailbox_capacity", 1)
    world = World()
    world.tell("web", PodStatus(phase="Pending", host_ip="10.0.0.1"))
    world.run(ON_ITS_WAY_NS - 2 * SOON_NS)
    for _ in range(5 * SOON_NS // 1_000_000):
        world.manager.tell(PodReconciled(api_pod("one")))
        world.run(1_000_000)
    world.run(ON_ITS_WAY_NS)
    assert world.names() == ["web"]
    world.system.stop()


# (spec 4.5.1)
def test_changes_during_a_write_become_one(world: World):
    world.tell("web", ready())
    for phase in ("False", "True", "False"):
        world.tell("web", ready(value=phase))
    assert len(world.api.calls) == 1
    world.accept()
    assert len(world.api.calls) == 2
    body = world.accept()
    assert [each["status"] for each in body["status"]["conditions"]] == ["False"]
    assert len(world.api.calls) == 2


def test_the_worst_news_go_first(world: World):
    for number in range(MAX_WRITES):
        world.tell(f"busy-{number}", ready())
    world.tell("ready", ready())
    world.pods["unready"] = api_pod("unready", status=ready())
    world.tell("unready", ready(value="False"))
    world.tell("ended", ready("Failed", "False"), final=True)
    for _ in range(MAX_WRITES + 3):
        world.accept()
    assert world.names()[MAX_WRITES:] == ["ended", "unready", "ready"]


def test_no_more_writes_are_under_way_than_the_limit(world: World):
    for number in range(3 * MAX_WRITES):
        world.tell(f"pod-{number}", ready())
    assert len(world.api.open_calls) == MAX_WRITES


def test_an_older_picture_of_a_pod_changes_nothing(world: World):
    world.tell("web", ready())
    world.accept()
    world.manager.tell(PodReconciled(api_pod("web", 1)))
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1


def test_a_status_without_a_look_does_not_replace_that_of_an_earlier_agent(world: World):
    world.tell("web", PodStatus(phase="Pending"), seen=False)
    world.manager.tell(PodReconciled(api_pod("web", 2, status=ready())))
    world.run(2 * ON_ITS_WAY_NS)
    assert world.api.calls == []
    world.tell("web", ready(value="False"))
    assert len(world.api.calls) == 1


def test_a_worker_that_begins_anew_and_has_seen_nothing_takes_nothing_back(world: World):
    world.tell("web", ready())
    world.accept()
    world.tell("web", PodStatus(phase="Pending"), seen=False)
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1
    assert next(iter(world.manager.ask(ListPods()))).status == ready()


def test_a_status_seen_before_the_worker_reports_is_compared_later(world: World):
    world.pods["web"] = api_pod("web", 1, status=ready())
    world.manager.tell(PodReconciled(api_pod("web", 2, status=ready(value="False"))))
    world.tell("web", ready())
    world.run(2 * ON_ITS_WAY_NS)
    assert len(world.api.calls) == 1
