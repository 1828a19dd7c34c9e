"""Reports of kills for want of memory, as kernels have written them over the years (spec 9.8)."""

from __future__ import annotations

import pytest

from runtime.oom import OomKill
from runtime.oom.lines import MARKS, OomLines

GROUP = "/kubepods/burstable/pod61a4/5f3c"
SLICE = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod61_a4.slice/cri-containerd-5f3c.scope"

OF_A_GROUP_6_18 = f"""\
python invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
CPU: 1 UID: 0 PID: 9266 Comm: python Not tainted 6.18.44 #1 PREEMPT(none)
memory: usage 16384kB, limit 16384kB, failcnt 19
Memory cgroup stats for {GROUP}:
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=5f3c,mems_allowed=0,oom_memcg={GROUP},task_memcg={GROUP},\
task=python,pid=9266,uid=0
Memory cgroup out of memory: Killed process 9266 (python) total-vm:78632kB, anon-rss:14904kB, file-rss:6184kB, \
shmem-rss:0kB, UID:0 pgtables:104kB oom_score_adj:0
"""
OF_ALL_PODS_5_15 = f"""\
java invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=986
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-5f3c.scope,mems_allowed=0,\
oom_memcg=/kubepods.slice,task_memcg={SLICE},task=java,pid=40,uid=1000
Memory cgroup out of memory: Killed process 40 (java) total-vm:4kB, anon-rss:4kB, file-rss:0kB, shmem-rss:0kB, \
UID:1000 pgtables:4kB oom_score_adj:986
"""
OF_THE_MACHINE_5_4 = f"""\
stress-ng invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=1000
Mem-Info:
[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg={GROUP},\
task=stress-ng,pid=31,uid=0
Out of memory: Killed process 31 (stress-ng) total-vm:4kB, anon-rss:4kB, file-rss:4kB, shmem-rss:4kB, UID:0 \
pgtables:4kB oom_score_adj:1000
oom_reaper: reaped process 31 (stress-ng), now anon-rss:0kB, file-rss:0kB, shmem-rss:4kB
"""
OF_A_CPUSET_5_10 = """\
a invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
oom-kill:constraint=CONSTRAINT_CPUSET,nodemask=(null),cpuset=one,mems_allowed=1,global_oom,task_memcg=/,task=a,pid=5,uid=0
Out of memory: Killed process 5 (a) total-vm:4kB, anon-rss:4kB, file-rss:4kB, shmem-rss:4kB, UID:0 pgtables:4kB \
oom_score_adj:0
"""
OF_A_GROUP_4_15 = f"""\
evil invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null), order=0, oom_score_adj=936
Task in {GROUP} killed as a result of limit of /kubepods/burstable/pod61a4
memory: usage 4kB, limit 4kB, failcnt 1
Memory cgroup out of memory: Kill process 52 (evil) score 1968 or sacrifice child
Killed process 52 (evil) total-vm:4kB, anon-rss:4kB, file-rss:4kB, shmem-rss:0kB
"""
OF_A_GROUP_3_10 = f"""\
evil invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=1000
Task in {GROUP} killed as a result of limit of {GROUP}
Memory cgroup out of memory: Kill process 53 (evil) score 1013 or sacrifice child
Killed process 53 (evil), UID 1001, total-vm:4kB, anon-rss:4kB, file-rss:4kB, shmem-rss:0kB
"""
OF_THE_MACHINE_2_6_32 = """\
mysqld invoked oom-killer: gfp_mask=0x201da, order=0, oom_adj=0, oom_score_adj=0
Out of memory: Kill process 54 (mysqld) score 903 or sacrifice child
Killed process 54, UID 27, (mysqld) total-vm:4kB, anon-rss:4kB, file-rss:4kB
"""
OF_ROOT_4_15 = """\
x invoked oom-killer: gfp_mask=0x14000c0(GFP_KERNEL), nodemask=(null), order=0, oom_score_adj=0
Task in / killed as a result of limit of /
Killed process 55 (x) total-vm:4kB, anon-rss:4kB, file-rss:4kB, shmem-rss:0kB
"""
ALL_OF_A_GROUP_6_1 = f"""\
worker invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=999
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=5f3c,mems_allowed=0,oom_memcg={GROUP},task_memcg={GROUP},\
task=worker,pid=61,uid=0
Memory cgroup out of memory: Killed process 61 (worker) total-vm:4kB, anon-rss:4kB, UID:0 pgtables:4kB oom_score_adj:999
Tasks in {GROUP} are going to be killed due to memory.oom.group set
Memory cgroup out of memory: Killed process 60 (sh) total-vm:4kB, anon-rss:4kB, UID:0 pgtables:4kB oom_score_adj:999
Memory cgroup out of memory: Killed process 61 (worker) total-vm:4kB, anon-rss:4kB, UID:0 pgtables:4kB oom_score_adj:999
"""


def kills(*reports: str) -> list[OomKill]:
    lines = OomLines()
    told = [lines.told(line) for report in reports for line in report.splitlines()]
    return [kill for kill in told if kill is not None]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (OF_A_GROUP_6_18, [OomKill(9266, "python", False, GROUP, GROUP)]),
        (OF_ALL_PODS_5_15, [OomKill(40, "java", False, SLICE, "/kubepods.slice")]),
        (OF_THE_MACHINE_5_4, [OomKill(31, "stress-ng", True, GROUP)]),
        (OF_A_CPUSET_5_10, [OomKill(5, "a", True, "/")]),
        (OF_A_GROUP_4_15, [OomKill(52, "evil", False, GROUP, "/kubepods/burstable/pod61a4")]),
        (OF_A_GROUP_3_10, [OomKill(53, "evil", False, GROUP, GROUP)]),
        (OF_THE_MACHINE_2_6_32, [OomKill(54, "mysqld", True)]),
        (OF_ROOT_4_15, [OomKill(55, "x", False, "/", "/")]),
        (ALL_OF_A_GROUP_6_1, [OomKill(61, "worker", False, GROUP, GROUP), OomKill(60, "sh", False, GROUP, GROUP)]),
    ],
)
def test_a_report_names_the_victims_and_whose_limit_it_was(report: str, expected: list[OomKill]) -> None:
    assert kills(report) == expected


def test_nothing_of_a_report_is_taken_over_into_the_next() -> None:
    found = kills(OF_A_GROUP_6_18, OF_THE_MACHINE_2_6_32, OF_A_GROUP_6_18)
    assert [(kill.pid, kill.node_wide, kill.cgroup) for kill in found] == [
        (9266, False, GROUP),
        (54, True, ""),
        (9266, False, GROUP),
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Memory cgroup out of memory: Killed process 7 (x) total-vm:4kB", OomKill(7, "x", False)),
        ("Out of memory: Killed process 7 (x) total-vm:4kB", OomKill(7, "x", True)),
        ("Out of memory (oom_kill_allocating_task): Killed process 7 (x) total-vm:4kB", OomKill(7, "x", True)),
        ("Killed process 7 (x) total-vm:4kB", OomKill(7, "x", True)),
        ("Killed process 7 (a (b) c) total-vm:4kB", OomKill(7, "a (b) c", True)),
    ],
)
def test_a_victim_whose_report_is_lost_is_judged_by_its_own_line(line: str, expected: OomKill) -> None:
    assert kills(line) == [expected]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "oom_reaper: reaped process 31 (stress-ng), now anon-rss:0kB",
        "act-n58nsn4f: port 2(veth5039c875) entered blocking state",
        "Memory cgroup out of memory: Kill process 52 (evil) score 1968 or sacrifice child",
        "oom-kill:constraint=",
    ],
)
def test_other_lines_kill_nobody(line: str) -> None:
    assert kills(line) == []


@pytest.mark.parametrize("report", [OF_A_GROUP_6_18, OF_ALL_PODS_5_15, OF_A_GROUP_4_15, ALL_OF_A_GROUP_6_1])
def test_no_line_that_matters_is_passed_over_by_its_marks(report: str) -> None:
    marked = [line for line in report.splitlines() if any(mark in line.encode() for mark in MARKS)]
    assert kills("\n".join(marked)) == kills(report)


def test_a_cgroup_that_is_called_like_a_report_stays_a_name() -> None:
    """A container may name cgroups of its own.

    The line is cut at its first and last words, in linear time.
    """
    name = "/a" + ",task=x,pid=1,uid=0" * 5000
    lines = OomLines()
    summary = f"oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/a,task_memcg={name},task=x,pid=7,uid=0"
    assert lines.told(summary) is None
    assert lines.told("Memory cgroup out of memory: Killed process 7 (x) total-vm:4kB") == OomKill(
        7, "x", False, name, "/a"
    )
    assert OomLines().told("oom-kill:constraint=CONSTRAINT_" + ",task=oom_memcg=" * 5000) is None
