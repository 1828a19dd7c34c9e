"""Processes are moved into their cgroups (spec 10.6), on trees of directories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.cgroups.tree import PASSES, LocalCgroupTree


def machine(path: Path, version: int) -> LocalCgroupTree:
    """Of version 1 with the hierarchies that have to be there. Process 1, one of the kernel, two of users."""
    for controller in ("cpu", "cpuacct", "cpuset", "memory") if version == 1 else ():
        (path / controller).mkdir()
        (path / controller / "cgroup.procs").write_text("1\n2\n30\n40\n")
    if version == 2:
        (path / "cgroup.procs").write_text("1\n2\n30\n40\n")
    for pid in (1, 30, 40):
        (path / "proc" / str(pid)).mkdir(parents=True)
        (path / "proc" / str(pid) / "exe").symlink_to("/sbin/init")
    (path / "proc" / "2").mkdir()
    return LocalCgroupTree(str(path), version, str(path / "proc"))


@pytest.mark.parametrize("version", [1, 2])
def test_this_process_moves_into_its_cgroup_in_every_hierarchy_but_that_of_cpusets(
    tmp_path: Path, version: int
) -> None:
    assert machine(tmp_path, version).enter("/system.slice/agent") == ()
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("agent/cgroup.procs")}
    tops = ("cpu/", "cpuacct/", "memory/") if version == 1 else ("",)
    assert found == {f"{top}system.slice/agent/cgroup.procs" for top in tops}
    assert all((tmp_path / each).read_text() == f"{os.getpid()}\n" for each in found)


def test_on_v1_this_process_is_where_tools_look_for_it_in_the_hierarchy_of_systemd(tmp_path: Path) -> None:
    tree = machine(tmp_path, 1)
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd" / "cgroup.procs").write_text("1\n2\n30\n40\n")
    assert tree.enter("/system.slice/agent") == ()
    assert (tmp_path / "systemd/system.slice/agent/cgroup.procs").read_text() == f"{os.getpid()}\n"
    tree.gather("/system")
    assert not (tmp_path / "systemd/system").exists(), "the processes of units stay where systemd looks for them"


@pytest.mark.parametrize("version", [1, 2])
# (spec 10.6.1)
def test_processes_of_users_are_moved_from_the_root_but_for_the_first_and_those_of_the_kernel(
    tmp_path: Path, version: int
) -> None:
    [problem] = machine(tmp_path, version).gather("/system")
    assert problem == "processes of the root keep coming while they are moved to /system", "a directory keeps them"
    top = tmp_path / "memory" if version == 1 else tmp_path
    assert (top / "system" / "cgroup.procs").read_text().split() == ["30", "40"] * PASSES


def test_nothing_is_to_be_moved_where_only_the_kernel_is(tmp_path: Path) -> None:
    tree = machine(tmp_path, 2)
    (tmp_path / "cgroup.procs").write_text("1\n2\n0\n")
    assert tree.gather("/system") == ()
    assert not (tmp_path / "system" / "cgroup.procs").exists()


def test_a_process_that_cannot_be_moved_is_reported_with_the_file(tmp_path: Path) -> None:
    tree = machine(tmp_path, 2)
    (tmp_path / "agent" / "cgroup.procs").mkdir(parents=True)
    [problem] = tree.enter("/agent")
    assert problem == f"process {os.getpid()} cannot be moved by {tmp_path}/agent/cgroup.procs: Is a directory"


def test_a_cgroup_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    tree = machine(tmp_path, 2)
    (tmp_path / "agent").write_text("no directory")
    [problem] = tree.enter("/agent/own")
    assert problem == f"{tmp_path}/agent/own cannot be made: Not a directory"


@pytest.mark.parametrize(("version", "top"), [(1, "cpuset"), (2, "")])
def test_the_cpus_of_containers_are_read_where_the_kernel_has_them(tmp_path: Path, version: int, top: str) -> None:
    path = "/kubepods.slice/kubepods-pod1.slice"
    above = tmp_path / top / path.lstrip("/")
    for name, text in (("cri-containerd-a.scope", "0,2-3\n"), ("cri-containerd-b.scope", "\n"), ("c", None)):
        (above / name).mkdir(parents=True)
        if text is not None:
            (above / name / "cpuset.cpus").write_text(text)
    tree = LocalCgroupTree(str(tmp_path), version)
    assert tree.cpu_sets(path) == (("cri-containerd-a.scope", "0,2-3"),)
    assert tree.cpu_sets("/gone") == ()
