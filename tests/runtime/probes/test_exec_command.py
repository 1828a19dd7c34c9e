"""The exec probe: what the runtime says of a command, and what that says of the container (spec 5)."""

from __future__ import annotations

import weakref
from concurrent.futures import Future
from typing import Any

import pytest

from actors.kernel import Promise, broken, kept
from runtime.cri.errors import CriError, StatusCode
from runtime.cri.messages import ExecSyncRequest, ExecSyncResponse
from runtime.probes import ExecCheck, ProbeAnswer, ProbeOutcome
from runtime.probes.exec_command import ask_exec

SECOND = 10**9
CHECK = ExecCheck(("cat", "/tmp/ok"))


class Runtime:
    """Answers every call with what it is given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[ExecSyncRequest, int | None]] = []

    def call(self, verb: Any, request: Any, *, timeout_ns: int | None = None) -> Any:
        self.asked.append((request, timeout_ns))
        return self.answer

    def stream(self, *args: Any) -> Any:
        raise AssertionError("no stream is asked for")


def failing(code: StatusCode, text: str) -> Any:
    return broken(CriError(code, text, "ExecSync"))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # (spec 5.32)
        pytest.param(kept(ExecSyncResponse(stdout=b"fine")), ProbeAnswer(ProbeOutcome.SUCCESS), id="exit code 0"),
        # (spec 5.32)
        pytest.param(
            kept(ExecSyncResponse(exit_code=1, stdout=b"half ", stderr=b"done")),
            ProbeAnswer(ProbeOutcome.FAILURE, "half done"),
            id="another exit code, with its output",
        ),
        pytest.param(
            kept(ExecSyncResponse(exit_code=3)),
            ProbeAnswer(ProbeOutcome.FAILURE, "command exited with 3"),
            id="another exit code, silent",
        ),
        # (spec 5.32)
        pytest.param(
            kept(ExecSyncResponse(exit_code=1, stdout=b"x" * 20_000)),
            ProbeAnswer(ProbeOutcome.FAILURE, "x" * 10_240),
            id="output without end",
        ),
        # (spec 5.32)
        pytest.param(
            failing(StatusCode.DEADLINE_EXCEEDED, "too long"),
            ProbeAnswer(ProbeOutcome.FAILURE, 'command timed out: "cat /tmp/ok" timed out after 2s'),
            id="the runtime says that it takes too long",
        ),
    ],
)
def test_spec_5_the_end_of_a_command_is_the_verdict(answer: Any, expected: ProbeAnswer) -> None:
    runtime = Runtime(answer)
    assert ask_exec(runtime, "c", CHECK, 2 * SECOND).result(0) == expected
    [(request, timeout_ns)] = runtime.asked
    assert request == ExecSyncRequest(container_id="c", cmd=("cat", "/tmp/ok"), timeout=2)
    assert timeout_ns is not None
    assert timeout_ns > 2 * SECOND, "the runtime is to keep the time of the command"


@pytest.mark.parametrize("code", [StatusCode.UNAVAILABLE, StatusCode.NOT_FOUND, StatusCode.UNKNOWN])
def test_spec_5_a_runtime_that_cannot_run_it_says_nothing_of_the_container(code: StatusCode) -> None:
    answer = ask_exec(Runtime(failing(code, "no such task")), "c", CHECK, SECOND).result(0)
    assert answer.outcome is ProbeOutcome.UNKNOWN
    assert "no such task" in answer.text


@pytest.mark.parametrize(
    ("ended_after_s", "outcome"), [(10, ProbeOutcome.FAILURE), (122, ProbeOutcome.FAILURE), (125, ProbeOutcome.LATE)]
)
def test_spec_5_a_deadline_that_this_node_notices_late_says_nothing(ended_after_s: int, outcome: ProbeOutcome) -> None:
    now_ns, call = [0], Promise[ExecSyncResponse]()
    answer = ask_exec(Runtime(call), "c", CHECK, 2 * SECOND, lambda: now_ns[0])
    now_ns[0] = ended_after_s * SECOND
    call.set_exception(CriError(StatusCode.DEADLINE_EXCEEDED, "too long", "ExecSync"))
    assert answer.result(0).outcome is outcome


def test_spec_5_an_exit_code_counts_however_late_it_comes() -> None:
    now_ns, call = [0], Promise[ExecSyncResponse]()
    answer = ask_exec(Runtime(call), "c", CHECK, 2 * SECOND, lambda: now_ns[0])
    now_ns[0] = 600 * SECOND
    call.set_result(ExecSyncResponse(exit_code=1, stdout=b"no"))
    assert answer.result(0) == ProbeAnswer(ProbeOutcome.FAILURE, "no")


def test_spec_5_giving_up_a_probe_cancels_its_exec_call() -> None:
    call: Promise[ExecSyncResponse] = Promise()
    assert ask_exec(Runtime(call), "c", CHECK, SECOND).cancel()
    assert call.done()


@pytest.mark.usefixtures("no_collections")
def test_a_probe_that_has_ended_is_freed_without_a_pass_of_the_garbage_collector():
    call: Future[ExecSyncResponse] = Future()  # like an answer of gRPC it keeps its callbacks
    answer = ask_exec(Runtime(call), "c", CHECK, 2 * SECOND)
    call.set_result(ExecSyncResponse())
    assert answer.result(0) == ProbeAnswer(ProbeOutcome.SUCCESS)
    seen = weakref.ref(answer)
    del answer, call
    assert seen() is None
