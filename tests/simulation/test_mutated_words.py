"""As `test_mutated_agents`: agents that report too much, too little or too late.

Of pods, of logs, and of themselves.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import msgspec
import pytest

import actors.kernel.health
import actors.node.status.lease
import actors.node.wiring.runtime
import actors.pod.sync
import actors.status.manager
import runtime.probes.exec_command
import simulation.node.prober
from actors.containers.log_rotation_rules import LogLimits, log_limits
from actors.kernel.mailbox import Mailbox
from actors.node_object.lease import renew_interval_ns
from actors.pod.steps.fields_honoured import OF_A_CONTAINER, OF_A_POD, unhonoured_fields
from actors.status.manager import StatusManagerActor
from config.kubelet import KubeletConfiguration
from tests.simulation.mutants import is_found_out

Mutate = pytest.MonkeyPatch


def test_pain_9_an_agent_that_writes_each_step_of_a_start_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(actors.status.manager, "ON_ITS_WAY_NS", 0)
    monkeypatch.setattr(StatusManagerActor, "batch_window_ns", 0)
    assert is_found_out("burst", 20, "few-writes-on-the-way")


def test_pain_9_an_agent_that_renews_its_lease_late_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(actors.node.status.lease, "renew_interval_ns", lambda seconds: 2 * renew_interval_ns(seconds))
    assert is_found_out("burst", 10, "leases-are-renewed-in-time", lasts="60s")


def test_pain_13_an_agent_that_counts_what_it_heard_too_late_is_found_out(monkeypatch: Mutate):
    for module in (simulation.node.prober, runtime.probes.exec_command):
        monkeypatch.setattr(module, "unless_held_up", lambda answer, late_ns, timeout_ns: answer)
    assert is_found_out("probes", 11, "the-steady-start-once")


def test_pain_14_an_agent_that_looks_at_logs_seldom_is_found_out(monkeypatch: Mutate):
    def seldom(configuration: KubeletConfiguration) -> LogLimits | None:
        limits = log_limits(configuration)
        return None if limits is None else msgspec.structs.replace(limits, every_ns=3 * limits.every_ns)

    monkeypatch.setattr(actors.node.wiring.runtime, "log_limits", seldom)
    assert is_found_out("chatty", None, "logs-are-bounded", lasts="9s")


def test_pain_16_a_health_that_asks_only_who_works_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(Mailbox, "oldest_since_ns", lambda _: None)
    assert is_found_out("frozen-actor", 3, "health-names-the-frozen-alone", lasts="8m")


def test_pain_16_an_agent_that_never_asks_whether_who_rests_still_lives_is_found_out(monkeypatch: Mutate):
    monkeypatch.setattr(actors.kernel.health, "ask_around", lambda _: None)
    assert is_found_out("frozen-actor", 3, "health-names-the-frozen-alone")


@pytest.mark.parametrize("field", [*OF_A_POD, *OF_A_CONTAINER])
def test_pain_17_an_agent_that_passes_over_a_field_is_found_out(monkeypatch: Mutate, field: str):
    def all_but_one(*args: Any, **how: Any) -> tuple[str, ...]:
        return tuple(path for path in unhonoured_fields(*args, **how) if not path.endswith(f".{field}"))

    # By name: the package has the step of that name, not its module.
    step = import_module("actors.pod.steps.fields_honoured")
    monkeypatch.setattr(step, "unhonoured_fields", all_but_one)
    assert is_found_out("unhonoured-fields", 10, "unsaid")
