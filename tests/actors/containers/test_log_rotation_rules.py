"""Which files of a log are rotated, compressed, removed (spec 3.13)."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.containers.log_rotation_rules import LogLimits, RunningLog, log_limits, rotated_path, running_log, tidying
from config.kubelet import KubeletConfiguration
from runtime.cri.messages import Container, ContainerMetadata
from tests.actors.containers.test_gc_rules import CREATED, EXITED, RUNNING, UNKNOWN, container

LOG = "/logs/ns_p_u/app/0.log"
DIRECTORY = "/logs/ns_p_u/app/"
AT_NS = 1136214245 * 10**9
"""2006-01-02 15:04:05 UTC."""
T1, T2, T3, T4, T5, T6 = (f"0.log.20060102-15040{n}" for n in range(1, 7))


# (spec 3.13.1)
def test_limits_are_those_of_the_configuration():
    limits = log_limits(KubeletConfiguration())
    assert limits == LogLimits(max_bytes=10 * 2**20, max_files=5, workers=1, every_ns=10 * 10**9)
    size = msgspec.structs.replace(KubeletConfiguration(), container_log_max_size="1500m")
    assert log_limits(size) == msgspec.structs.replace(limits, max_bytes=2)


# (spec 3.13.1)
def test_a_size_below_zero_turns_rotation_off():
    assert log_limits(msgspec.structs.replace(KubeletConfiguration(), container_log_max_size="-1")) is None


def named(**labels: str) -> dict[str, str]:
    prefix = "io.kubernetes."
    return {f"{prefix}{key.replace('_', '.')}": value for key, value in labels.items()}


def test_only_logs_of_containers_that_run_and_are_ours_are_looked_at():
    ours = msgspec.structs.replace(
        container("c1", "u/app", RUNNING),
        metadata=ContainerMetadata(name="app", attempt=3),
        labels=named(pod_uid="u", pod_name="p", pod_namespace="ns", container_name="app"),
    )
    others = [container(str(state), "u/app", state) for state in (CREATED, EXITED, UNKNOWN)]
    foreign = Container(id="f", state=RUNNING, metadata=ours.metadata)
    nameless = msgspec.structs.replace(ours, metadata=None)
    found = (running_log(each, "/logs/") for each in [*others, foreign, nameless, ours])
    assert tuple(log for log in found if log is not None) == (
        RunningLog("c1", "/logs/ns_p_u", "/logs/ns_p_u/app/3.log"),
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ((), "20060102-150405"),
        ((T4,), "20060102-150405"),
        ((T5,), "20060102-150406"),
        ((T5 + ".gz",), "20060102-150406"),
        ((T6, T1), "20060102-150407"),
        (("0.log.20991231-235959",), "21000101-000000"),
        (("0.log.99999999-999999", "0.log.bak", "1.log.20991231-235959"), "20060102-150405"),
    ],
    ids=["first", "later", "same second", "compressed", "clock went back", "clock was far ahead", "others' files"],
)
# (spec 3.13.4)
def test_names_go_up_whatever_the_clock_does(names: tuple[str, ...], expected: str):
    assert rotated_path(LOG, names, AT_NS) == f"{LOG}.{expected}"


@pytest.mark.parametrize(
    ("names", "max_files", "remove", "compress"),
    [
        ((), 5, (), ()),
        ((T1,), 5, (), ()),
        ((T1, T2), 5, (), (T1,)),
        ((T1 + ".gz", T2, T3), 5, (), (T2,)),
        ((T1 + ".gz", T2 + ".gz", T3 + ".gz", T4 + ".gz", T5), 5, (T1 + ".gz",), ()),
        ((T1, T2, T3, T4, T5, T6), 5, (T1, T2), (T3, T4, T5)),
        ((T1, T2), 2, (T1,), ()),
        ((T1, T1 + ".gz", T2), 5, (T1,), ()),
        ((T1, T1 + ".tmp", T2), 5, (T1 + ".tmp",), (T1,)),
        ((T1 + ".gz", T1 + ".tmp"), 5, (T1 + ".tmp",), ()),
        (("0.log.bak", "0.log.tmp", "0.log.gz", T1, "0.log.99999999-999999"), 2, (), ()),
        (("1.log.20060102-150401", T1), 2, (), ()),
    ],
    ids=[
        "nothing set aside",
        "the last one stays plain",
        "the one before is compressed",
        "what is compressed stays so",
        "one too many",
        "never more than fit, compressed or not",
        "two files: no room for compressed ones",
        "killed before the plain one was removed",
        "killed while compressing",
        "half of something that is gone",
        "what others have put there",
        "another attempt's",
    ],
)
def test_tidying_removes_the_oldest_logs_and_compresses_the_rest(
    names: tuple[str, ...], max_files: int, remove: tuple[str, ...], compress: tuple[str, ...]
):
    todo = tidying(LOG, tuple(sorted(names)), max_files)
    assert todo.remove == tuple(DIRECTORY + each for each in remove)
    assert todo.compress == tuple(DIRECTORY + each for each in compress)


rotated = st.builds(
    lambda n, end: f"0.log.20060102-1504{n:02d}{end}", st.integers(0, 9), st.sampled_from(["", ".gz", ".tmp"])
)


@given(st.frozensets(rotated | st.sampled_from(["0.log.bak", "0.log.gz"])), st.integers(2, 6))
def test_after_tidying_files_are_few_whole_and_the_youngest(names: frozenset[str], max_files: int):
    todo = tidying(LOG, tuple(sorted(names)), max_files)
    left = names - {path.removeprefix(DIRECTORY) for path in todo.remove}
    ours = {name for name in left if name not in ("0.log.bak", "0.log.gz")}
    assert {"0.log.bak", "0.log.gz"} & names <= left, "what others have put there stays"
    assert len(ours) <= max_files - 1
    assert not any(name.endswith(".tmp") for name in ours)
    times = [name.removesuffix(".gz") for name in ours]
    assert len(times) == len(set(times)), "nothing is there twice"
    there_before = sorted(
        {name.removesuffix(".gz") for name in names if name.startswith("0.log.2")}
        - {n for n in names if n.endswith(".tmp")}
    )
    assert sorted(times) == there_before[-(max_files - 1) :]
    plain = {name for name in ours if not name.endswith(".gz")}
    assert plain - {path.removeprefix(DIRECTORY) for path in todo.compress} <= {max(ours, default="")}
    assert tidying(LOG, tuple(sorted(left)), max_files).remove == (), "once is enough"


@given(st.lists(st.integers(0, 4 * 10**9), max_size=20))
def test_whatever_the_clock_does_rotations_keep_their_order(seconds: list[int]):
    names: list[str] = []
    for second in seconds:
        name = rotated_path(LOG, names, second * 10**9).removeprefix(DIRECTORY)
        assert all(name > other for other in names)
        names.append(name)
