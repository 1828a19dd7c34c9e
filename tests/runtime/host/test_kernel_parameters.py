"""Parameters of the kernel and of the agent's own process, on directories and on this machine."""

from __future__ import annotations

import resource
from pathlib import Path

from runtime.host.kernel_parameters import LocalKernelParameters
from runtime.host.own_process import allow_open_files, set_oom_score


def test_a_parameter_is_a_file_whose_path_is_its_name(tmp_path: Path) -> None:
    (tmp_path / "kernel/keys").mkdir(parents=True)
    (tmp_path / "kernel/keys/root_maxkeys").write_text("1000000\n")
    (tmp_path / "kernel/words").write_text("no number\n")
    parameters = LocalKernelParameters(str(tmp_path))
    assert parameters.get("kernel.keys.root_maxkeys") == 1_000_000
    assert parameters.set("kernel.keys.root_maxkeys", 5) == ""
    assert (tmp_path / "kernel/keys/root_maxkeys").read_text() == "5\n"
    assert parameters.get("kernel.words") is None


def test_a_missing_kernel_parameter_is_none_and_is_not_created(tmp_path: Path) -> None:
    parameters = LocalKernelParameters(str(tmp_path))
    assert parameters.get("vm.missing") is None
    assert parameters.set("vm.missing", 1) == "No such file or directory"
    assert not (tmp_path / "vm").exists()


def test_this_kernel_has_parameters() -> None:
    assert LocalKernelParameters().get("vm.overcommit_memory") in (0, 1, 2)


# (spec 10.6.2)
def test_the_score_of_the_agent_is_written_where_the_kernel_reads_it(tmp_path: Path) -> None:
    score = tmp_path / "oom_score_adj"
    score.write_text("0\n")
    assert set_oom_score(-999, str(score)) == ""
    assert score.read_text() == "-999\n"
    assert set_oom_score(-999, str(tmp_path / "gone")) == "No such file or directory"


def test_the_open_file_limit_is_never_lowered() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert allow_open_files(1) == ""
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


def test_more_files_than_the_kernel_allows_are_told() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert allow_open_files(2**40) != "" or before[0] == resource.RLIM_INFINITY
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before
