"""What the annotations of a pod make its containers do, in virtual time."""

from __future__ import annotations

import pytest

from runtime.cri import messages as m
from runtime.cri import verbs as v
from runtime.cri.errors import CriError, StatusCode
from tests.simulation.cri.pods import SECOND, Pods


def test_a_container_runs_for_ever_unless_told_otherwise() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox())
    pods.advance(1000 * 24 * 3600 * SECOND)
    assert pods.state(container) == "RUNNING"


def test_a_container_exits_when_its_time_is_up() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(run_for="10s", exit_code="3"))
    started = pods.dispatcher.wall_ns()
    pods.advance(10 * SECOND - 1)
    assert pods.state(container) == "RUNNING"
    pods.advance(1)
    status = pods.status(container)
    assert (status.state.name, status.exit_code, status.reason) == ("CONTAINER_EXITED", 3, "Error")
    assert (status.started_at, status.finished_at) == (started, started + 10 * SECOND)


def test_each_attempt_has_its_own_exit_code_and_time() -> None:
    pods = Pods()
    sandbox = pods.sandbox(run_for="1s,2s,forever", exit_code="1,0")
    first, second, third = (pods.run(sandbox, attempt=attempt) for attempt in range(3))
    pods.advance(2 * SECOND)
    assert [(pods.state(c), pods.status(c).reason) for c in (first, second, third)] == [
        ("EXITED", "Error"),
        ("EXITED", "Completed"),
        ("RUNNING", ""),
    ]


def test_out_of_memory_is_a_kill_with_its_own_reason() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(oom_after="5s", run_for="10s"))
    pods.advance(5 * SECOND)
    assert (pods.status(container).exit_code, pods.status(container).reason) == (137, "OOMKilled")


def test_start_takes_as_long_as_the_pod_says() -> None:
    pods = Pods()
    container = pods.create(pods.sandbox(start_delay="3s"))
    starting = pods.start(container)
    pods.advance(3 * SECOND - 1)
    assert not starting.done()
    assert pods.state(container) == "CREATED"
    pods.advance(1)
    starting.result()
    assert pods.state(container) == "RUNNING"


def test_stop_waits_for_a_container_that_takes_its_time() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(stop_delay="7s", stop_exit_code="143"))
    stopping = pods.stop(container, timeout=30)
    pods.advance(7 * SECOND - 1)
    assert not stopping.done()
    pods.advance(1)
    stopping.result()
    assert (pods.status(container).exit_code, pods.status(container).reason) == (143, "Error")


@pytest.mark.parametrize("annotations", [{"stop_delay": "1m"}, {"ignore_stop_signal": "true"}])
def test_stop_kills_what_does_not_end_in_time(annotations: dict[str, str]) -> None:
    pods = Pods()
    container = pods.run(pods.sandbox("pod", 0, **annotations))
    stopping = pods.stop(container, timeout=10)
    pods.advance(10 * SECOND)
    stopping.result()
    assert (pods.status(container).exit_code, pods.status(container).reason) == (137, "Error")


def test_a_stop_call_that_times_out_kills_no_container() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(ignore_stop_signal="true"))
    stopping = pods.stop(container, timeout=10, timeout_ns=5 * SECOND)
    pods.advance(60 * SECOND)
    error = stopping.exception()
    assert isinstance(error, CriError)
    assert error.code == StatusCode.DEADLINE_EXCEEDED
    assert pods.state(container) == "RUNNING"


def test_a_verb_fails_as_often_as_the_pod_says() -> None:
    pods = Pods()
    container = pods.create(pods.sandbox(fail="StartContainer=UNAVAILABLE*2"))
    request = m.StartContainerRequest(container_id=container)
    assert [pods.error(v.START_CONTAINER, request).code for _ in range(2)] == [StatusCode.UNAVAILABLE] * 2
    pods.ask(v.START_CONTAINER, request)
    assert pods.state(container) == "RUNNING"


def test_failures_are_counted_per_container_and_over_its_attempts() -> None:
    pods = Pods()
    sandbox = pods.sandbox(fail="StartContainer*1")
    for name, attempt, fails in [("a", 0, True), ("b", 0, True), ("a", 1, False), ("b", 1, False)]:
        container = pods.create(sandbox, name=name, attempt=attempt)
        assert (pods.start(container).exception() is not None) == fails


def test_a_rule_for_one_container_leaves_the_others_alone() -> None:
    pods = Pods()
    sandbox = pods.sandbox(fail__bad="StartContainer")
    assert pods.start(pods.create(sandbox, name="bad")).exception() is not None
    assert pods.start(pods.create(sandbox, name="good")).exception() is None


def test_a_sandbox_fails_before_it_exists() -> None:
    pods = Pods()
    config = pods.sandbox_config(annotations={"fail": "RunPodSandbox*2"})
    request = m.RunPodSandboxRequest(config=config)
    assert pods.error(v.RUN_POD_SANDBOX, request).code == StatusCode.UNKNOWN
    assert pods.error(v.RUN_POD_SANDBOX, request).code == StatusCode.UNKNOWN
    pods.ask(v.RUN_POD_SANDBOX, request)


def test_a_verb_that_hangs_ends_at_the_deadline_of_its_caller() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(hang="StopContainer*1"))
    hanging = pods.stop(container, timeout=1, timeout_ns=20 * SECOND)
    pods.advance(20 * SECOND - 1)
    assert not hanging.done()
    pods.advance(1)
    assert str(hanging.exception()) == "StopContainer: no answer within 20 s (DEADLINE_EXCEEDED)"
    assert pods.state(container) == "RUNNING"
    pods.stop(container).result()
    assert pods.state(container) == "EXITED"


def test_a_verb_that_lies_is_answered_and_not_done() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(lie="StopContainer*1"))
    assert pods.stop(container).result() == m.StopContainerResponse()
    assert pods.state(container) == "RUNNING"
    pods.stop(container).result()
    assert pods.state(container) == "EXITED"


def test_a_hanging_call_can_be_cancelled_and_leaves_nothing_in_flight() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(hang="ContainerStatus"))
    hanging = pods.cri.call(v.CONTAINER_STATUS, m.ContainerStatusRequest(container_id=container))
    assert pods.cri.in_flight == 1
    hanging.cancel()
    assert pods.cri.in_flight == 0


def test_a_late_answer_is_of_a_operation_done_at_once() -> None:
    pods = Pods()
    container = pods.create(pods.sandbox(late="StartContainer=5s"))
    starting = pods.start(container)
    assert pods.state(container) == "RUNNING"
    assert not starting.done()
    pods.advance(5 * SECOND)
    assert starting.exception() is None


def test_a_wrong_annotation_refuses_the_sandbox_and_says_so() -> None:
    pods = Pods()
    config = pods.sandbox_config(annotations={"run-for": "soon"})
    error = pods.error(v.RUN_POD_SANDBOX, m.RunPodSandboxRequest(config=config))
    assert error.code == StatusCode.INVALID_ARGUMENT
    assert '$.metadata.annotations["simulated.actorlet.dev/run-for"]' in error.message


def test_a_sandbox_is_lost_when_the_pod_says_so_and_its_containers_run_on() -> None:
    pods = Pods()
    sandbox = pods.sandbox(sandbox_lost_after="1m")
    container = pods.run(sandbox)
    pods.advance(60 * SECOND)
    assert pods.sandbox_status(sandbox).state.name == "SANDBOX_NOTREADY"
    assert pods.state(container) == "RUNNING"


def test_commands_end_as_the_pod_says() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(exec_exit_code="1,0", exec_output="hello", exec_delay="2s"))
    request = m.ExecSyncRequest(container_id=container, cmd=("true",), timeout=5)
    answers = [pods.cri.call(v.EXEC_SYNC, request) for _ in range(3)]
    assert not any(answer.done() for answer in answers)
    pods.advance(2 * SECOND)
    assert [answer.result().exit_code for answer in answers] == [1, 0, 0]
    assert answers[0].result().stdout == b"hello"


def test_a_command_that_takes_too_long_is_ended() -> None:
    pods = Pods()
    container = pods.run(pods.sandbox(exec_delay="10s"))
    answer = pods.cri.call(v.EXEC_SYNC, m.ExecSyncRequest(container_id=container, cmd=("x",), timeout=1))
    pods.advance(SECOND)
    error = answer.exception()
    assert isinstance(error, CriError)
    assert error.code == StatusCode.DEADLINE_EXCEEDED


def test_a_pull_takes_as_long_as_size_and_rate_say() -> None:
    pods = Pods()
    config = pods.sandbox_config(annotations={"image-size": "100Mi", "pull-rate": "10Mi"})
    request = m.PullImageRequest(image=m.ImageSpec(image="nginx"), sandbox_config=config)
    pulling = pods.cri.call(v.PULL_IMAGE, request)
    pods.advance(10 * SECOND - 1)
    assert not pulling.done()
    assert pods.ask(v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image="nginx"))).image is None
    pods.advance(1)
    image = pods.ask(v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image="nginx"))).image
    assert (image.id, image.size) == (pulling.result().image_ref, 100 * 2**20)
    assert image.repo_tags == ("docker.io/library/nginx:latest",)


def test_a_pull_that_is_given_up_brings_nothing() -> None:
    pods = Pods()
    pulling = pods.cri.call(v.PULL_IMAGE, m.PullImageRequest(image=m.ImageSpec(image="nginx")))
    pulling.cancel()
    pods.advance(3600 * SECOND)
    assert pods.ask(v.IMAGE_STATUS, m.ImageStatusRequest(image=m.ImageSpec(image="nginx"))).image is None


def test_a_pull_fails_as_the_pod_says_and_then_works() -> None:
    pods = Pods()
    config = pods.sandbox_config(annotations={"fail": "PullImage=NOT_FOUND*1"})
    request = m.PullImageRequest(image=m.ImageSpec(image="nginx"), sandbox_config=config)
    assert pods.error(v.PULL_IMAGE, request).code == StatusCode.NOT_FOUND
    pulling = pods.cri.call(v.PULL_IMAGE, request)
    pods.advance(SECOND)
    assert pulling.exception() is None
