"""Commands that never end, in a runtime that never answers.

Each probe ends with its call's deadline, and its error names it.
"""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from runtime.cri.client import GrpcCri
from runtime.cri.deadlines import deadline_ns
from runtime.probes import ExecCheck, ProbeOutcome, exec_command
from runtime.probes.exec_command import ask_exec

SECOND = 10**9
PROBES = 20


def test_commands_that_never_end_are_given_up_by_name_over_one_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The runtime gets two minutes on top of the timeout, for which no test should wait.
    monkeypatch.setattr(exec_command, "deadline_ns", lambda verb, request: deadline_ns(verb, request, base_ns=0))
    path = tmp_path / "runtime.sock"
    with closing(socket.socket(socket.AF_UNIX)) as runtime:
        runtime.bind(str(path))
        runtime.listen()
        before = len(psutil.Process().net_connections("unix"))
        with GrpcCri(f"unix://{path}") as cri:
            pending = [ask_exec(cri, "c", ExecCheck(("wait", str(each))), SECOND) for each in range(PROBES)]
            opened = len(psutil.Process().net_connections("unix")) - before
            answers = [each.result(60) for each in pending]
    assert opened <= 4, "all calls share the connection to the runtime"
    for number, answer in enumerate(answers):
        if answer.outcome is ProbeOutcome.LATE:
            continue  # this process itself got no CPU meanwhile, and says so
        assert answer.outcome is ProbeOutcome.FAILURE
        assert answer.text == f'command timed out: "wait {number}" timed out after 1s'
