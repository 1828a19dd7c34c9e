"""The agent checks the machine before it changes it, and prepares it as far as its rights allow."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from msgspec.structs import replace

from cli.run import machine_checks
from cli.run.machine_checks import look_at_machine, prepare_machine
from cli.run.node_start import this_machine
from config.kubelet import KubeletConfiguration
from runtime.host.kernel_parameters import LocalKernelParameters

QUIET = KubeletConfiguration(fail_cgroup_v1=False, fail_swap_on=False)


@pytest.fixture
def kernel(tmp_path: Path) -> LocalKernelParameters:
    """A kernel that does not overcommit memory, with few other parameters."""
    (tmp_path / "sys/vm").mkdir(parents=True)
    (tmp_path / "sys/vm/overcommit_memory").write_text("0\n")
    (tmp_path / "sys/vm/panic_on_oom").write_text("0\n")
    return LocalKernelParameters(str(tmp_path / "sys"))


def test_a_protected_kernel_is_named_and_left_as_it_is(kernel: LocalKernelParameters, tmp_path: Path) -> None:
    configuration = replace(QUIET, protect_kernel_defaults=True)
    found = look_at_machine(configuration, this_machine().facts, str(tmp_path), kernel)
    assert [str(each) for each in found.faults] == [
        "$.protectKernelDefaults: vm.overcommit_memory is 0 on this machine, not 1; run `sysctl -w "
        "vm.overcommit_memory=1`, or set it to false and let the agent do so"
    ]
    assert kernel.get("vm.overcommit_memory") == 0


def test_reservations_are_compared_with_this_machine(kernel: LocalKernelParameters, tmp_path: Path) -> None:
    configuration = replace(QUIET, kube_reserved={"memory": "4Pi", "ephemeral-storage": "4Pi"})
    found = look_at_machine(configuration, this_machine().facts, str(tmp_path / "to be made"), kernel)
    told = [str(each) for each in found.faults]
    assert ["4Pi of memory are reserved" in told[0], "4Pi of ephemeral-storage are reserved" in told[1]] == [True, True]


def test_the_kernel_is_set_and_what_cannot_be_is_a_warning(
    kernel: LocalKernelParameters, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The tests' own process stays as it is.
    monkeypatch.setattr(machine_checks, "set_oom_score", lambda score: "Permission denied")
    configuration = replace(QUIET, max_open_files=1)
    found = look_at_machine(configuration, this_machine().facts, str(tmp_path), kernel)
    assert found.faults == ()
    with caplog.at_level(logging.INFO, "actorlet.run"):
        prepare_machine(configuration, found, kernel)
    assert kernel.get("vm.overcommit_memory") == 1
    assert "vm.overcommit_memory is 1 now, it was 0" in caplog.text
    assert "oomScoreAdj -999 cannot be set, so the kernel may kill the agent: Permission denied" in caplog.text


def test_state_files_of_another_policy_stop_the_start_with_the_way_out(
    kernel: LocalKernelParameters, tmp_path: Path
) -> None:
    (tmp_path / "cpu_manager_state").write_text(
        '{"policyName":"static","defaultCpuSet":"0-3","checksum":611748604}'  # by a kubelet
    )
    found = look_at_machine(QUIET, this_machine().facts, str(tmp_path), kernel)
    (told,) = [str(each) for each in found.faults if "heckpoint" in str(each)]
    assert told == (
        "$.cpuManagerPolicy: could not restore state from checkpoint: "
        'configured policy "none" differs from state checkpoint policy "static"; please drain this node and delete '
        f'the CPU manager checkpoint file "{tmp_path}/cpu_manager_state" before restarting Kubelet'
    )


def test_a_policy_that_does_not_fit_this_machine_stops_the_start(kernel: LocalKernelParameters, tmp_path: Path) -> None:
    configuration = replace(QUIET, cpu_manager_policy="static")
    found = look_at_machine(configuration, this_machine().facts, str(tmp_path), kernel)
    assert any("the static policy requires" in str(each) for each in found.faults)
