"""`--record` and `--record-size`: what they make of an agent."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from actors.node.plan import NodePlan
from cli.run.node_start import plan_of, this_machine
from cli.run.recording import agent_of, pool_for, recorder_of
from cli.up.simulated_machine import simulated_capabilities
from config.flags.command_line import parse_flags, read_size
from config.start_configuration import load_kubelet_configuration
from runtime.io.event_loop import LoopThread
from runtime.records.ring import RingError, segments_of
from simulation.cri import Settings


def a_plan(tmp_path: Path) -> NodePlan:
    start = load_kubelet_configuration(parse_flags([f"--pod-manifest-path={tmp_path}"]), None)
    return plan_of(start, this_machine("n"), str(tmp_path), "containerd")


def test_an_agent_with_a_folder_is_recorded_there(tmp_path: Path):
    node = parse_flags([f"--record={tmp_path / 'record'}"]).node
    with ExitStack() as after:
        pool = pool_for(node.record)
        after.callback(pool.close)
        plan = a_plan(tmp_path)
        recorder = recorder_of(node.record, node.record_size_bytes, pool, plan, after)
        loop = after.enter_context(closing(LoopThread("http")))
        agent = agent_of(recorder, pool, plan, simulated_capabilities(pool, plan, loop, Settings()))
        agent.start()
        assert agent.stop()
    (path,) = segments_of(node.record)
    assert Path(path).stat().st_size > 1000


def test_an_agent_without_a_folder_has_all_its_threads_and_no_recorder(tmp_path: Path):
    with ExitStack() as after:
        pool = pool_for("")
        after.callback(pool.close)
        assert recorder_of("", 1, pool, a_plan(tmp_path), after) is None


def test_a_folder_of_another_agent_is_refused(tmp_path: Path):
    with ExitStack() as after:
        pool = pool_for("x")
        after.callback(pool.close)
        recorder_of(str(tmp_path), 1 << 20, pool, a_plan(tmp_path), after)
        with pytest.raises(RingError, match="another agent records into"):
            recorder_of(str(tmp_path), 1 << 20, pool, a_plan(tmp_path), after)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [("256MiB", 256 << 20), ("256Mi", 256 << 20), ("1GiB", 1 << 30), ("1000000", 1_000_000), ("5MB", 5_000_000)],
)
def test_a_size_of_the_record_is_a_quantity(text: str, size_bytes: int):
    assert read_size(text) == size_bytes
    assert parse_flags([f"--record-size={text}"]).node.record_size_bytes == size_bytes


@pytest.mark.parametrize("text", ["", "0", "-1Mi", "much"])
def test_a_size_that_is_none_is_a_fault_of_the_flag(text: str):
    (fault,) = parse_flags([f"--record-size={text}"]).faults
    assert fault.path == "--record-size"
