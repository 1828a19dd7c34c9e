"""Facts of a machine before an agent starts on it.

Machines made of files, and the one that the tests run on.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.host.start_facts import mounted_controllers, read_start_facts
from runtime.host.swap import keeps_volumes_from_swap, swaps

MOUNTINFO = """\
24 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 24 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
31 24 0:27 / /sys/fs/cgroup/systemd rw,nosuid shared:9 - cgroup cgroup rw,name=systemd
32 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:10 - cgroup cgroup rw,cpu,cpuacct
33 24 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
"""


def put(root: Path, path: str, text: str = "") -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ()),
        ("Filename Type Size\n", ()),
        ("Filename Type Size\n/dev/sda2 partition 100\n/swap\\040file file 1\n", ("/dev/sda2", "/swap file")),
    ],
)
# (spec 9.8.2)
def test_swap_is_on_where_the_table_has_a_row(tmp_path: Path, content: str | None, expected: tuple[str, ...]) -> None:
    table = tmp_path / "swaps"
    if content is not None:
        table.write_text(content)
    assert swaps(str(table)) == expected


@pytest.mark.parametrize(
    ("kernel", "keeps"),
    [("6.3.12", False), ("6.4.0-150600.23", True), ("6.18.44-fc", True), ("5.15.0-100-generic", False), ("", False)],
)
# (spec 8.7.3)
def test_memory_backed_volumes_stay_out_of_swap_from_6_4_on(kernel: str, keeps: bool) -> None:
    assert keeps_volumes_from_swap(kernel) is keeps


def test_only_hierarchies_of_version_1_have_mounted_controllers() -> None:
    assert mounted_controllers(MOUNTINFO) == {"name=systemd", "cpu", "cpuacct", "memory"}
    assert mounted_controllers("") == frozenset()


def test_a_machine_with_cgroup_v1_is_read_from_its_files(tmp_path: Path) -> None:
    put(tmp_path, "proc/self/mountinfo", MOUNTINFO)
    put(tmp_path, "proc/sys/kernel/pid_max", "4194304\n")
    put(tmp_path, "proc/sys/kernel/threads-max", "1000\n")
    put(tmp_path, "sys/devices/system/cpu/online", "0-2,4\n")
    (tmp_path / "sys/fs/cgroup/memory/own").mkdir(parents=True)
    facts = read_start_facts(("/own", "own/gone", ""), str(tmp_path))
    assert facts.cgroup_version == 1
    assert facts.controllers >= {"cpu", "cpuacct", "memory"}
    assert (facts.pids, facts.online_cpus) == (1000, frozenset({0, 1, 2, 4}))
    assert (facts.swaps, facts.missing_cgroups) == ((), frozenset({"own/gone"}))


def test_a_machine_with_cgroup_v2_is_read_from_its_files(tmp_path: Path) -> None:
    put(tmp_path, "sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n")
    (tmp_path / "sys/fs/cgroup/own.slice/own-sub.slice").mkdir(parents=True)
    facts = read_start_facts(("/own/sub", "/own.slice", "/other"), str(tmp_path))
    assert (facts.cgroup_version, facts.controllers) == (2, frozenset({"cpu", "memory", "pids"}))
    assert facts.root_cpu_stat is False
    assert facts.missing_cgroups == {"/other"}  # a cgroup may be named as either driver calls it
    put(tmp_path, "sys/fs/cgroup/cpu.stat")
    assert read_start_facts((), str(tmp_path)).root_cpu_stat


def test_a_table_of_swaps_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "proc/swaps").mkdir(parents=True)
    facts = read_start_facts((), str(tmp_path))
    assert (facts.swaps, facts.swap_fault) == (None, "Is a directory")


def test_start_facts_missing_on_the_machine_are_unknown(tmp_path: Path) -> None:
    facts = read_start_facts((), str(tmp_path))
    assert (facts.online_cpus, facts.pids, facts.controllers) == (None, None, frozenset())


def test_this_machine_can_be_read() -> None:
    facts = read_start_facts()
    assert facts.user_id == os.geteuid()
    assert facts.online_cpus
    assert facts.pids
    assert "memory" in facts.controllers
