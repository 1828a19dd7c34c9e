"""What a person sees who adds, edits, renames and removes manifests of a node."""

from __future__ import annotations

import pytest

from actors.status.manager import StatusManagerActor
from actors.sync.state import NameLines
from config import examples
from tests.simulation.node.test_api_server import Cluster
from tests.simulation.node.worlds import IMAGE, OTHER_IMAGE, SECOND, Fail, World, container, let_fail, manifest


def test_the_sample_manifests_run():
    world = World({path.name: path.read_text() for path in examples.DIRECTORY.glob("*.yaml")}).start()
    world.run(10 * SECOND)
    assert world.phases() == {"prepared": "Running", "report": "Succeeded", "shared": "Running", "web": "Running"}
    assert world.node.stop()


def test_a_manifest_that_is_put_runs_within_two_seconds_of_image_presence():
    world = World().start()
    world.run(30 * SECOND)
    world.node.put_manifest("web.json", manifest("web"))
    assert world.until(lambda: world.running() == ["web/app"]) <= 2 * SECOND
    world.run(2 * SECOND)
    pod = world.pod("web")
    assert pod.status is not None
    assert pod.status.phase == "Running"
    assert {condition.type for condition in pod.status.conditions if condition.status == "True"} >= {
        "Ready",
        "ContainersReady",
        "Initialized",
        "PodScheduled",
    }
    assert world.status("web").restart_count == 0


def test_another_image_in_a_manifest_with_a_uid_replaces_that_container_and_no_other():
    world = World({"web": manifest("web", [container("app"), container("other")], uid="one")}).start()
    world.run(5 * SECOND)
    (other,) = (record for record in world.running_records() if record.name.startswith("other"))
    edited = manifest("web", [container("app", OTHER_IMAGE), container("other")], uid="one")
    world.node.put_manifest("web", edited)
    world.run(60 * SECOND)
    assert world.running() == ["web/app", "web/other"]
    images = {record.config.image.user_specified_image for record in world.running_records() if record.config.image}
    assert images == {IMAGE, OTHER_IMAGE}
    assert other in world.running_records()


def test_a_removed_manifest_ends_its_pod_and_leaves_nothing():
    world = World({"web": manifest("web", terminationGracePeriodSeconds=5)}).start()
    world.run(5 * SECOND)
    world.node.remove_manifest("web")
    world.run(30 * SECOND)
    assert world.running() == []
    assert world.node.pods() == ()
    world.run(120 * SECOND)
    assert not world.cri.state.containers
    assert not world.cri.state.sandboxes
    assert world.node.volumes.list_uids() == ()
    assert world.node.host.pod_logs.list_pods() == ()


def test_a_broken_manifest_is_told_and_the_others_run_and_its_last_good_version_too():
    world = World({"bad": "kind: Pod\nspec: [", "good": manifest("good")}).start()
    world.run(5 * SECOND)
    assert world.running() == ["good/app"]
    (problem,) = world.node.node.problems()
    assert problem.origin.startswith("/etc/kubernetes/manifests/bad")
    world.node.put_manifest("good", "nonsense: {")
    world.run(30 * SECOND)
    assert world.running() == ["good/app"]
    assert {problem.origin.rpartition("/")[2].partition(":")[0] for problem in world.node.node.problems()} == {
        "bad",
        "good",
    }
    world.node.put_manifest("bad", manifest("late"))
    world.run(30 * SECOND)
    assert world.running() == ["good/app", "late/app"]


def test_a_renamed_file_with_the_same_pod_is_another_incarnation_that_waits_for_the_first():
    world = World({"a": manifest("web", terminationGracePeriodSeconds=5)}).start()
    world.run(5 * SECOND)
    world.node.remove_manifest("a")
    world.node.put_manifest("b", manifest("web", terminationGracePeriodSeconds=5))
    world.run(60 * SECOND)
    assert world.running() == ["web/app"]
    assert len(world.node.pods()) == 1


def test_an_edited_pod_that_is_no_change_in_place_is_ended_and_begun_anew():
    slow = {"stop-delay": "3s"}
    world = World({"web": manifest("web", behaviour=slow)}).start()
    world.run(5 * SECOND)
    (first,) = world.running_records()
    world.node.put_manifest("web", manifest("web", [container("renamed")], behaviour=slow))
    world.run(60 * SECOND)
    assert world.running() == ["web/renamed"]
    assert first.sandbox.pod_uid != world.running_records()[0].sandbox.pod_uid


def test_a_manifest_put_back_while_its_pod_ends_runs_again_after_the_end():
    text = manifest("web", behaviour={"stop-delay": "8s"})
    world = World({"web": text}).start()
    world.run(5 * SECOND)
    world.node.remove_manifest("web")
    world.run(2 * SECOND)
    world.node.put_manifest("web", text)
    world.run(60 * SECOND)
    assert world.running() == ["web/app"]
    assert len(world.starts_of("web")) == 2
    assert world.phases() == {"web": "Running"}


def test_a_manifest_that_is_removed_and_put_back_at_once_restarts_its_pod():
    """As with a kubelet: people restart a static pod so."""
    web = manifest("web")
    world = World({"web": web}).start()
    world.until(lambda: world.phases() == {"web": "Running"})
    uid = world.pod("web").metadata.uid
    world.node.remove_manifest("web")
    world.node.put_manifest("web", web)
    world.until(lambda: len(world.starts_of("web")) == 2)
    world.run(5 * SECOND)
    assert (world.running(), world.phases()) == (["web/app"], {"web": "Running"})
    assert world.status("web").restart_count == 1, "its last life is still there to be read"
    assert world.pod("web").metadata.uid == uid
    world.run(60 * SECOND)
    assert len(world.starts_of("web")) == 2


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_manifest_of_a_pod_that_does_not_restart_is_begun_anew_too_when_it_is_put_back(policy: str):
    job = manifest("job", behaviour={"run-for": "30s"}, restartPolicy=policy)
    world = World({"job": job}).start()
    world.until(lambda: world.phases() == {"job": "Running"})
    world.run(5 * SECOND)
    world.node.remove_manifest("job")
    world.node.put_manifest("job", job)
    world.run(10 * SECOND)
    assert (world.running(), world.phases()) == (["job/app"], {"job": "Running"})
    world.until(lambda: world.phases() == {"job": "Succeeded"})
    world.node.remove_manifest("job")
    world.node.put_manifest("job", job)
    world.until(lambda: world.phases() == {"job": "Running"})
    assert len(world.starts_of("job")) == 3


def test_a_manifest_that_is_saved_again_restarts_nothing():
    web = manifest("web")
    world = World({"web": web}).start()
    world.until(lambda: world.phases() == {"web": "Running"})
    world.node.put_manifest("web", web)
    world.run(60 * SECOND)
    assert len(world.starts_of("web")) == 1


def test_a_field_that_is_not_honoured_yet_is_a_warning_with_its_path_and_the_pod_runs():
    signalled = container("app") | {"lifecycle": {"stopSignal": "SIGUSR1"}}
    world = World({"web": manifest("web", [signalled], os={"name": "linux"})}).start()
    world.run(60 * SECOND)
    assert world.running() == ["web/app"]
    warnings = [each for each in world.node.node.events() if each.event.reason == "FieldsNotHonoured"]
    assert [(each.event.type, each.count) for each in warnings] == [("Warning", 1)]
    assert "$.spec.containers[0].lifecycle.stopSignal" in warnings[0].event.message


def test_a_pod_at_which_the_sync_loop_fails_takes_no_other_with_it_and_runs_once_it_can(
    monkeypatch: pytest.MonkeyPatch,
):
    world = World({"web": manifest("web"), "other": manifest("other")}).start()
    world.run(10 * SECOND)
    before = [record.id for record in world.running_records()]
    join = NameLines.join

    def fails(self: NameLines, name: str, uid: str) -> None:
        if "late" in name:
            raise ZeroDivisionError("a fault of the program")
        join(self, name, uid)

    with monkeypatch.context() as broken:
        broken.setattr(NameLines, "join", fails)
        world.node.put_manifest("late", manifest("late"))
        world.run(30 * SECOND)
        assert world.running() == ["other/app", "web/app"]
    world.run(60 * SECOND)
    assert world.running() == ["late/app", "other/app", "web/app"]
    assert set(before) <= {record.id for record in world.running_records()}, "nobody was started anew"


def test_a_manifest_that_is_renamed_under_its_uid_runs_under_the_new_name_and_another_may_have_the_old_one():
    world = World({"web": manifest("web", uid="one")}).start()
    world.until(lambda: world.running() == ["web/app"])
    world.node.put_manifest("web", manifest("shop", uid="one"))
    world.node.put_manifest("other", manifest("web", uid="two"))
    world.until(lambda: world.running() == ["shop/app", "web/app"], 20 * SECOND)
    world.run(5 * SECOND)
    assert world.phases() == {"shop": "Running", "web": "Running"}
    assert {record.sandbox.pod_uid for record in world.running_records()} == {"one", "two"}


def test_the_mirror_of_a_manifest_that_is_renamed_under_its_uid_is_renamed_too():
    cluster = Cluster(manifests={"web": manifest("web", uid="one")})
    cluster.until(lambda: cluster.phases() == {"web-node": "Running"})
    cluster.node.put_manifest("web", manifest("shop", uid="one"))
    cluster.until(lambda: cluster.phases() == {"shop-node": "Running"}, 30 * SECOND)


def test_the_status_of_a_mirror_is_written_on_by_a_status_manager_that_has_failed(monkeypatch: pytest.MonkeyPatch):
    let_fail(monkeypatch, StatusManagerActor)
    cluster = Cluster(manifests={"web": manifest("web", behaviour={"run-for": "30s,forever"})})
    cluster.until(lambda: cluster.phases() == {"web-node": "Running"})
    cluster.run(SECOND)
    status_manager = cluster.node.node.system.find("/node/status-manager")
    assert status_manager is not None
    status_manager.tell(Fail())
    cluster.run(60 * SECOND)
    [shown] = cluster.pods()["web-node"]["status"]["containerStatuses"]
    assert shown["restartCount"] == 1
