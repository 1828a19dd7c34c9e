"""Lives of containers on containerd: order of starts and ends, restarts, last words (spec 3, 4)."""

from __future__ import annotations

from typing import Any

from config.objects import ContainerStateTerminated, ContainerStatus
from tests.real.agent import Agent
from tests.real.pods import Truth, Witness, container, pod

SIDECAR = {"restartPolicy": "Always"}
COUNT = "n=$(cat /count/n 2>/dev/null || echo 0); echo $((n+1)) > /count/n; sleep 0.1; "
"""Counts the lives of a container in `n`, which is 0 in the first."""
COUNTED: dict[str, Any] = {"volumeMounts": [{"name": "count", "mountPath": "/count"}]}
COUNTER = [{"name": "count", "emptyDir": {}}]


def ended(status: ContainerStatus | None) -> ContainerStateTerminated:
    """How a container has ended, now or last."""
    assert status is not None
    for state in (status.state, status.last_state):
        if state is not None and state.terminated is not None:
            return state.terminated
    raise AssertionError(f"it has not ended: {status}")


def test_init_containers_run_one_after_another_and_sidecars_with_the_rest(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)
    inits = [
        witness.passing("one"),
        witness.container("early", "early", 0.1, **SIDECAR),
        witness.passing("two"),
        witness.container("late", "late", 0.1, **SIDECAR),
    ]
    regular = [witness.container("main"), witness.container("other", "other")]
    manifest = agent.drop("order.json", pod("order", *regular, initContainers=inits, volumes=[witness.volume]))
    agent.start()
    agent.await_running("order")
    agent.await_that(lambda: len(witness.said()) == 8, f"not all have begun: {witness.said()}")
    # What a sidecar says when it begins may come after what the next one says: only that it runs is waited for.
    assert [life.name for life in truth.lives("order")][:4] == ["one", "early", "two", "late"]
    passing = [each for each in witness.said() if each.startswith(("one", "two"))]
    assert passing == ["one begins", "one ends", "two begins", "two ends"]
    assert witness.said().index("main begins") > witness.said().index("two ends")
    status = agent.status("order")
    assert [each.name for each in status.init_container_statuses] == ["one", "early", "two", "late"]
    assert ended(agent.container("order", "one")).reason == "Completed"
    conditions = {each.type: each.status for each in status.conditions}
    assert {conditions[each] for each in ("Initialized", "Ready", "ContainersReady", "PodScheduled")} == {"True"}
    manifest.unlink()
    truth.await_none("order")
    assert sorted(witness.said()[8:10]) == ["main ends", "other ends"], "at the same time"
    assert witness.said()[10:] == ["late ends", "early ends"], "sidecars last, the latest first"


def test_a_sidecar_that_ends_is_restarted_and_the_others_run_on(agent: Agent, truth: Truth) -> None:
    agent.drop("side.json", pod("side", initContainers=[container("sidecar", **SIDECAR)], restartPolicy="Never"))
    agent.start()
    agent.await_running("side")
    main, sidecar = truth.life("side").key, truth.life("side", "sidecar")
    truth.end(sidecar)
    agent.await_that(
        lambda: any(life.attempt == 1 and life.running for life in truth.lives("side", "sidecar")), "not restarted"
    )
    assert truth.life("side").key == main


def test_restart_policies_decide_what_follows_an_end(agent: Agent, truth: Truth) -> None:
    agent.drop("failed.json", pod("failed", container(script="sleep 0.1; exit 7"), restartPolicy="Never"))
    agent.drop("done.json", pod("done", container(script="sleep 0.1"), restartPolicy="OnFailure"))
    second_time = container(script=f"{COUNT} test $n -gt 0", **COUNTED)
    agent.drop("twice.json", pod("twice", second_time, restartPolicy="OnFailure", volumes=COUNTER))
    first_ends = container(script=f"{COUNT} test $n -eq 0 || sleep 1000", **COUNTED)
    agent.drop("always.json", pod("always", first_ends, volumes=COUNTER))
    half = [container(script="sleep 0.1; exit 1"), container("stays")]
    agent.drop("half.json", pod("half", *half, restartPolicy="Never"))
    agent.start()
    agent.await_phase("Failed", "failed")
    agent.await_phase("Succeeded", "done", "twice")
    agent.await_that(lambda: (truth.lives("always", "main") or [None])[-1].running, "not restarted")  # type: ignore[union-attr]
    agent.await_running("half")
    assert (ended(agent.container("failed")).exit_code, ended(agent.container("failed")).reason) == (7, "Error")
    assert (ended(agent.container("done")).exit_code, ended(agent.container("done")).reason) == (0, "Completed")
    twice = agent.container("twice")
    assert twice is not None
    assert twice.restart_count == 1
    assert [life.attempt for life in truth.lives("failed")] == [0]
    assert [life.attempt for life in truth.lives("done")] == [0]
    assert [life.attempt for life in truth.lives("half", "main")] == [0]
    half_done = {each.type: each.status for each in agent.status("half").conditions}
    assert half_done["Ready"] == "False"


def test_an_init_container_that_fails_is_repeated_or_fails_the_pod(agent: Agent, truth: Truth) -> None:
    agent.drop("never.json", pod("never", initContainers=[container("fails", "exit 9")], restartPolicy="Never"))
    repeated = container("fails-once", f"{COUNT} test $n -gt 0", **COUNTED)
    agent.drop("repeats.json", pod("repeats", initContainers=[repeated], volumes=COUNTER))
    agent.start()
    agent.await_phase("Failed", "never")
    agent.await_running("repeats")
    assert ended(agent.container("never", "fails")).exit_code == 9
    assert truth.lives("never", "main") == ()
    fails_once = agent.container("repeats", "fails-once")
    assert fails_once is not None
    assert (fails_once.restart_count, ended(fails_once).exit_code) == (1, 0)


def test_a_container_ends_gracefully_or_is_killed_when_its_grace_is_over(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)
    polite = agent.drop("polite.json", witness.pod("polite", "polite"))
    deaf_script = "trap '' TERM; while :; do sleep 0.1; done"
    deaf = agent.drop("deaf.json", pod("deaf", container(script=deaf_script), terminationGracePeriodSeconds=2))
    agent.start()
    agent.await_running("polite", "deaf")
    witness.await_said("polite begins")
    sandboxes = {each.id for each in truth.sandboxes()}
    killed = truth.life("deaf")
    polite.unlink()
    truth.await_none("polite")
    assert witness.said() == ["polite begins", "polite ends"]
    deaf.unlink()
    last = {}

    def gone() -> bool:
        last.update({life.id: life for life in truth.lives("deaf")})
        return not any(life.running for life in truth.lives("deaf"))

    agent.await_that(gone, "it is not killed", 10)
    agent.await_that(lambda: not sandboxes & {each.id for each in truth.sandboxes()}, "the sandboxes stay")
    seen = last[killed.id].status
    assert seen.exit_code in (0, 137), "killed, where it was still to be seen"


def test_the_last_words_of_a_container_are_in_its_status(agent: Agent) -> None:
    words = {
        "file": container(script="sleep 0.1; echo from the file > /dev/termination-log; exit 4"),
        "place": container(script="sleep 0.1; echo elsewhere > /tmp/why; exit 4", terminationMessagePath="/tmp/why"),
        "log": container(
            script="for i in $(seq 100); do echo line $i; done; sleep 0.1; exit 5",
            terminationMessagePolicy="FallbackToLogsOnError",
        ),
        "both": container(
            script="echo in the log; echo in the file > /dev/termination-log; sleep 0.1; exit 5",
            terminationMessagePolicy="FallbackToLogsOnError",
        ),
        "good": container(script="echo good; sleep 0.1", terminationMessagePolicy="FallbackToLogsOnError"),
        "long": container(script="head -c 9000 /dev/zero | tr '\\0' x > /dev/termination-log; sleep 0.1; exit 6"),
    }
    for name, one in words.items():
        agent.drop(f"{name}.json", pod(name, one, restartPolicy="Never"))
    agent.start()
    agent.await_phase("Succeeded", "good")
    agent.await_phase("Failed", *(name for name in words if name != "good"))
    said = {name: ended(agent.container(name)).message for name in words}
    assert said["file"] == "from the file\n"
    assert said["place"] == "elsewhere\n"
    assert (said["log"] or "").splitlines() == [f"line {number}" for number in range(21, 101)], "the last 80 lines"
    assert said["both"] == "in the file\n"
    assert not said["good"]
    assert said["long"] == "x" * 4096


def test_a_container_beyond_its_memory_is_told_to_have_been_killed_for_it(agent: Agent) -> None:
    greedy = container(script="sleep 0.3; tail /dev/zero", resources={"limits": {"memory": "16Mi"}})
    agent.drop("greedy.json", pod("greedy", greedy, restartPolicy="Never"))
    agent.start()
    agent.await_phase("Failed", "greedy")
    assert (ended(agent.container("greedy")).reason, ended(agent.container("greedy")).exit_code) == ("OOMKilled", 137)


def test_a_sandbox_that_ends_is_made_again_with_its_containers(agent: Agent, truth: Truth) -> None:
    agent.drop("boxed.json", pod("boxed"))
    agent.start()
    agent.await_running("boxed")
    (sandbox,) = truth.sandboxes("boxed")
    old = truth.life("boxed")
    truth.stop_sandbox(sandbox.id)
    agent.await_that(lambda: any(life.running and life.id != old.id for life in truth.lives("boxed")), "not started")
    # The runtime ends the container before its sandbox, and it may have been started once more in between.
    assert truth.lives("boxed")[-1].attempt >= 1
    live = [each for each in truth.sandboxes("boxed") if each.state == 0]
    assert [each.metadata.attempt for each in live if each.metadata is not None] == [1]
    assert any(each.event.reason == "SandboxChanged" for each in agent.events())
    agent.await_running("boxed")
