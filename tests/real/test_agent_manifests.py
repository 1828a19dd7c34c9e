"""Static pods on containerd: a manifest comes, changes, moves, breaks or goes (spec 1, 2.6)."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from tests.real.agent import NODE, Agent
from tests.real.images import BUSYBOX
from tests.real.pods import STAY, Truth, Witness, container, pod
from tests.real.waiting import until

SECOND_NS = 1_000_000_000
OTHER_IMAGE = "actorlet.test/busybox:2"


def test_a_manifest_that_is_dropped_runs_without_waiting_for_the_next_check(agent: Agent, truth: Truth) -> None:
    agent.configure(fileCheckFrequency="24h")
    agent.start()
    for round_ in range(3):
        name = f"dropped-{round_}"
        dropped = agent.drop(f"{name}.json", pod(name))
        until(partial(truth.lives, name, "main"), 20, agent.troubles)
        agent.await_running(name)
        life = truth.running(name)
        took_s = (life.status.started_at - dropped.stat().st_mtime_ns) / SECOND_NS
        print(f"from the drop of {dropped.name} to the start of its container: {took_s * 1000:.0f} ms")
    assert agent.pod("dropped-0").metadata.name == f"dropped-0-{NODE}"


def test_an_edited_manifest_is_a_new_pod_that_starts_after_the_old_one_has_ended(agent: Agent, truth: Truth) -> None:
    agent.start()
    witness = Witness(agent.directory)
    agent.drop("edited.json", witness.pod("edited", "old"))
    agent.await_running("edited")
    witness.await_said("old begins")
    old = agent.pod("edited")
    agent.drop("edited.json", witness.pod("edited", "new", image=OTHER_IMAGE))
    agent.await_that(lambda: agent.pod("edited").metadata.uid != old.metadata.uid, "the edit is not seen")
    agent.await_running("edited")
    new = agent.pod("edited")
    assert [life.running for life in truth.lives("edited", "main", new.metadata.uid)] == [True]
    witness.await_story("old begins", "old ends", "new begins")
    assert truth.run(truth.running("edited"), "sh", "-c", "echo $VERSION") == "2\n"
    ready = [sandbox.metadata for sandbox in truth.sandboxes("edited") if sandbox.state == 0]
    assert [metadata and metadata.uid for metadata in ready] == [new.metadata.uid]
    until(lambda: not agent.pod_directory(old.metadata.uid).exists(), 20, "the old pod's directory stays")
    assert agent.pod_directory(new.metadata.uid).is_dir()


def test_with_a_uid_of_its_own_the_edited_pod_stays_and_only_its_container_is_replaced(
    agent: Agent, truth: Truth
) -> None:
    agent.start()
    manifest = pod("kept", container(), container("other"))
    manifest["metadata"]["uid"] = "a-uid-of-its-own"
    agent.drop("kept.json", manifest)
    agent.await_running("kept")
    old, other, sandboxes = truth.life("kept"), truth.life("kept", "other"), truth.sandboxes("kept")
    manifest["spec"]["containers"][0]["image"] = OTHER_IMAGE
    agent.drop("kept.json", manifest)
    until(lambda: any(life.attempt == 1 and life.running for life in truth.lives("kept", "main")), 20, agent.troubles)
    new = truth.running("kept")
    assert truth.run(new, "sh", "-c", "echo $VERSION") == "2\n"
    for life in truth.lives("kept", "main"):
        if life.id == old.id:
            assert life.status.finished_at <= new.status.created_at
    assert truth.life("kept", "other").key == other.key
    assert [each.id for each in truth.sandboxes("kept")] == [each.id for each in sandboxes]

    def counted() -> bool:
        main = agent.container("kept")
        return main is not None and main.restart_count == 1 and main.ready

    agent.await_that(counted, "the restart is not counted")
    said = agent.container("kept")
    assert said is not None
    assert said.image == OTHER_IMAGE
    assert (said.container_id or "").endswith(f"://{new.id}")


def test_a_deleted_manifest_ends_the_pod_gracefully_and_leaves_nothing_of_it(agent: Agent, truth: Truth) -> None:
    agent.start()
    witness = Witness(agent.directory)
    manifest = agent.drop("gone.json", witness.pod("gone", "it"))
    agent.drop("stays.json", pod("stays"))
    agent.await_running("gone", "stays")
    witness.await_said("it begins")
    uid, untouched = agent.pod("gone").metadata.uid, truth.life("stays").key
    (logs,) = agent.pod_logs.glob("*_gone-*")
    manifest.unlink()
    truth.await_none("gone")
    assert witness.said() == ["it begins", "it ends"]
    agent.await_that(lambda: "gone" not in agent.pods(), "the pod is still told of")
    agent.await_that(lambda: not agent.pod_directory(uid).exists(), "the pod's directory stays")
    agent.await_that(lambda: not truth.sandboxes("gone") and not truth.lives("gone"), "the runtime keeps its remains")
    agent.await_that(lambda: not logs.exists(), "the pod's logs stay")
    agent.await_that(lambda: not any("gone-" in link.name for link in agent.log_links()), "a link stays")
    assert witness.said(), "what is on the host belongs to the host"
    assert truth.life("stays").key == untouched


def test_a_renamed_manifest_is_one_pod_at_a_time(agent: Agent, truth: Truth) -> None:
    agent.start()
    witness = Witness(agent.directory)
    old_file = agent.drop("old-name.json", witness.pod("moved", "it"))
    agent.await_running("moved")
    witness.await_said("it begins")
    old = agent.pod("moved")
    old_file.rename(agent.manifests / "new-name.json")
    agent.await_that(lambda: agent.pod("moved").metadata.uid != old.metadata.uid, "the new name is not seen")
    agent.await_running("moved")
    new = agent.pod("moved")
    assert [life.id for life in truth.lives("moved", "main", new.metadata.uid)] == [truth.running("moved").id]
    witness.await_story("it begins", "it ends", "it begins")


def test_only_one_of_two_files_with_the_same_pod_runs(agent: Agent, truth: Truth) -> None:
    agent.drop("a.json", pod("twin", container("of-a")))
    agent.drop("b.json", pod("twin", container("of-b")))
    agent.drop("c.json", pod("alone"))
    agent.start()
    agent.await_running("twin", "alone")
    assert len([sandbox for sandbox in truth.sandboxes("twin") if sandbox.state == 0]) == 1
    assert any(event.event.reason == "FailedValidation" for event in agent.events())


def test_a_broken_manifest_is_named_and_what_ran_runs_on(agent: Agent, truth: Truth) -> None:
    agent.start()
    good = agent.drop("breaks.json", pod("breaks"))
    agent.drop("sound.json", pod("sound"))
    agent.await_running("breaks", "sound")
    before = truth.life("breaks").key, truth.life("sound").key
    good.write_text("{ this is not a manifest")
    broken = pod("never", container(image=""))
    bad = agent.drop("bad.json", broken)
    agent.drop("late.json", pod("late"))
    agent.await_running("late")
    agent.await_that(lambda: {str(good), str(bad)} <= _origins(agent), f"not reported: {agent.problems()}")
    (problem,) = (each for each in agent.problems() if each.origin == str(bad))
    assert problem.path == "$.spec.containers[0].image"
    assert "required" in problem.reason
    assert agent.said().count(f"{bad}: $.spec.containers[0].image: {problem.reason}") == 1, "said once, in one line"
    assert "never" not in agent.pods()
    assert (truth.life("breaks").key, truth.life("sound").key) == before, "the last good pods stay"
    bad.unlink()
    good.write_text(json.dumps(pod("breaks")))
    agent.await_that(lambda: not agent.problems(), f"still reported: {agent.problems()}")


def _origins(agent: Agent) -> set[str]:
    """The files that have problems, without the lines."""
    return {each.origin.partition(":")[0] for each in agent.problems()}


# (spec 1.1.10)
def test_lists_and_yaml_are_manifests_and_dot_files_are_none(agent: Agent, truth: Truth) -> None:
    agent.drop(".hidden.json", pod("hidden"))
    agent.drop("several.json", pod("first"), pod("second"))
    (agent.manifests / "third.yaml").write_text(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: third, namespace: elsewhere}}\n"
        f"spec:\n  containers:\n  - name: main\n    image: {BUSYBOX}\n    command: [sh, -c, {json.dumps(STAY)}]\n"
    )
    agent.start()
    agent.await_running("first", "second", "third")
    assert agent.pod("third").metadata.namespace == "elsewhere"
    assert not truth.lives("hidden")
    assert set(agent.pods()) == {"first", "second", "third"}


def test_a_directory_of_manifests_that_is_missing_is_waited_for(agent: Agent) -> None:
    agent.manifests.rmdir()
    agent.start()
    agent.await_that(lambda: any(each.origin == str(agent.manifests) for each in agent.problems()), "not reported")
    agent.manifests.mkdir()
    agent.drop("late.json", pod("late"))
    agent.await_running("late")
    assert agent.problems() == ()


def test_a_directory_that_is_replaced_as_a_whole_is_followed(agent: Agent, truth: Truth) -> None:
    """Configuration management writes a new directory and turns a link."""
    first, second = Path(f"{agent.manifests}-1"), Path(f"{agent.manifests}-2")
    agent.manifests.rmdir()
    for directory, name in ((first, "before"), (second, "after")):
        directory.mkdir()
        (directory / "pod.json").write_text(json.dumps(pod(name)))
    agent.manifests.symlink_to(first)
    agent.configure(fileCheckFrequency="1s")
    agent.start()
    agent.await_running("before")
    turned = Path(f"{agent.manifests}-new")
    turned.symlink_to(second)
    turned.rename(agent.manifests)
    agent.await_running("after")
    truth.await_none("before")
