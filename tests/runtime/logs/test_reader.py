"""A container's log for readers: tails, times, streams, pieces, and rotation while it is read."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.logs.lines import STDERR, STDOUT, LogReadOptions, time_ns
from runtime.logs.reader import CHUNK_BYTES, STEP_BYTES, LogReader
from runtime.logs.source import LocalLogSource

ID = "4f2c" * 16


def line(number: int, text: str = "", stream: str = "stdout", tag: str = "F") -> str:
    return f"2026-01-01T00:00:{number:02}.5Z {stream} {tag} {text or f'line {number}'}\n"


@contextmanager
def reader(path: Path, container_id: str = ID, **options: Any) -> Iterator[LogReader]:
    made = LogReader(LocalLogSource(), str(path), container_id, LogReadOptions(**options))
    made.open()
    try:
        yield made
    finally:
        made.close()


def drained(made: LogReader) -> str:
    """What there is to show now."""
    parts = []
    while (data := made.read()) is not None:
        parts.append(data)
    return b"".join(parts).decode()


def shown(path: Path, **options: Any) -> str:
    with reader(path, **options) as made:
        return drained(made) + made.finish().decode()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Nine lines in three files, the oldest one packed."""
    (tmp_path / "0.log.20260101-000003.gz").write_bytes(gzip.compress("".join(map(line, (1, 2, 3))).encode()))
    (tmp_path / "0.log.20260101-000006").write_text("".join(map(line, (4, 5, 6))))
    (tmp_path / "0.log.20260101-000007.tmp").write_text("half of something")
    (tmp_path / "0.log").write_text("".join(map(line, (7, 8, 9))))
    return tmp_path / "0.log"


def lines(*numbers: int) -> str:
    return "".join(f"line {number}\n" for number in numbers)


# (spec 11.2.6)
def test_a_rotated_log_is_one_log(log: Path) -> None:
    assert shown(log) == lines(*range(1, 10))


def test_a_log_file_under_compression_is_read_once(log: Path) -> None:
    packed = log.with_name("0.log.20260101-000006.gz")
    packed.write_bytes(gzip.compress(log.with_name("0.log.20260101-000006").read_bytes()))
    assert shown(log) == lines(*range(1, 10))


@pytest.mark.parametrize("count", range(12))
def test_a_tail_goes_back_over_files(log: Path, count: int) -> None:
    assert shown(log, tail_lines=count) == lines(*range(max(1, 10 - count), 10))


@given(
    lengths=st.lists(st.integers(0, 3), max_size=40),
    files=st.integers(1, 4),
    count=st.integers(0, 45),
    end=st.booleans(),
)
def test_a_tail_is_the_last_of_all_lines(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], files: int, count: int, end: bool
) -> None:
    """Whatever their lengths; the last may have no end."""
    directory = tmp_path_factory.mktemp("log")
    texts = [line(number % 60, f"{number}" + "x" * length * CHUNK_BYTES) for number, length in enumerate(lengths)]
    size = len(texts) // files + 1
    parts = ["".join(texts[at : at + size]) for at in range(0, max(1, len(texts)), size)]
    for index, part in enumerate(parts[:-1]):
        if index % 2:
            (directory / f"0.log.2026010{index}-000000").write_text(part)
        else:
            (directory / f"0.log.2026010{index}-000000.gz").write_bytes(gzip.compress(part.encode(), 1))
    (directory / "0.log").write_text(parts[-1] if end else parts[-1].removesuffix("\n"))
    expected = "".join(each.split(" ", 3)[3] for each in texts[max(0, len(texts) - count) :])
    assert shown(directory / "0.log", tail_lines=count) == expected


def test_lines_since_a_time(log: Path) -> None:
    assert shown(log, since_ns=time_ns("2026-01-01T00:00:07.5Z")) == lines(7, 8, 9)
    assert shown(log, since_ns=time_ns("2026-01-01T01:00:07.500000001+01:00")) == lines(8, 9)


@pytest.mark.parametrize("packed", [False, True])
def test_skipped_log_lines_are_read_in_steps(tmp_path: Path, packed: bool) -> None:
    """Reading a large log up to its last minute takes longer than the limit for a disk."""
    early = line(1, "x" * 1000).encode() * (3 * STEP_BYTES // 1000)
    if packed:
        (tmp_path / "0.log.20260101-000003.gz").write_bytes(gzip.compress(early))
    (tmp_path / "0.log").write_bytes((b"" if packed else early) + line(9).encode())
    with reader(tmp_path / "0.log", since_ns=time_ns("2026-01-01T00:00:09Z")) as made:
        steps = []
        while (data := made.read()) is not None:
            steps.append(data)
        assert 3 <= steps.count(b"") <= 4
        assert b"".join(steps) == b"line 9\n"
        assert made.read() is None


def test_times_are_shown_with_nine_digits(log: Path) -> None:
    assert shown(log, tail_lines=1, timestamps=True) == "2026-01-01T00:00:09.500000000Z line 9\n"


def test_bytes_are_limited(log: Path) -> None:
    assert shown(log, limit_bytes=10) == "line 1\nlin"
    with reader(log, limit_bytes=10, follow=True) as made:
        drained(made)
        assert made.full


def test_pieces_make_one_line_with_one_time(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_text(line(1, "one ", tag="P") + line(2, "line", tag="F") + line(3, "two"))
    assert shown(path) == "one line\ntwo\n"
    assert shown(path, timestamps=True).count("2026") == 2


def test_streams_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_text(line(1, "out") + line(2, "err", "stderr"))
    assert shown(path, stream=STDOUT) == "out\n"
    assert shown(path, stream=STDERR) == "err\n"


def test_invalid_log_lines_are_left_out_and_docker_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    docker = '{"log":"from docker\\n","stream":"stdout","time":"2026-01-01T00:00:00Z"}\n'
    path.write_text("junk\n\n{broken\n" + docker + line(1) + "2026-01-01T00:00:02Z stdout F")
    assert shown(path, timestamps=True).splitlines()[0] == "2026-01-01T00:00:00.000000000Z from docker"
    assert shown(path) == "from docker\nline 1\n\n"


def test_a_follower_sees_every_line_across_a_rotation(log: Path) -> None:
    with reader(log, follow=True, tail_lines=1) as made, open(log, "a") as old:
        assert drained(made) == lines(9)
        old.write(line(10) + "2026-01-01T00:00:11Z stdout F li")
        old.flush()
        assert drained(made) == lines(10)
        os.rename(log, log.with_name("0.log.20260101-000010"))
        assert drained(made) == "", "there is no new one yet"
        old.write("ne 11\n")
        old.flush()
        log.write_text(line(12))
        assert drained(made) == lines(11, 12)


def test_a_slow_follower_reads_all_rotated_files(log: Path) -> None:
    with reader(log, follow=True, tail_lines=0) as made:
        with open(log, "a") as old:
            old.write(line(10))
        os.rename(log, log.with_name("0.log.20260101-000010"))
        log.write_text(line(11))
        os.rename(log, log.with_name("0.log.20260101-000011"))
        log.with_name("0.log.20260101-000012.gz").write_bytes(gzip.compress(line(12).encode()))
        log.write_text(line(13))
        # The one that is being read is packed meanwhile: its bytes stay readable.
        first = log.with_name("0.log.20260101-000010")
        first.with_name(f"{first.name}.gz").write_bytes(gzip.compress(first.read_bytes()))
        first.unlink()
        assert drained(made) == lines(10, 11, 12, 13)


def test_a_log_without_its_current_file_shows_what_was_moved_away(log: Path) -> None:
    os.rename(log, log.with_name("0.log.20260101-000010"))
    with reader(log, follow=True) as made:
        assert drained(made) == lines(*range(1, 10))
        log.write_text(line(10))
        assert drained(made) == lines(10)


def test_a_log_that_is_not_there_and_links_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        shown(tmp_path / "0.log")
    secret = tmp_path / "secret"
    secret.write_text(line(1, "secret"))
    (tmp_path / "0.log").symlink_to(secret)
    with pytest.raises(OSError, match="a link to a file without the container's id in its name"):
        shown(tmp_path / "0.log")


def of_docker(tmp_path: Path, container_id: str = ID) -> tuple[Path, Path]:
    """The log as the runtime names it, a link, and the file of Docker that it leads to."""
    directory = tmp_path / "docker" / "containers" / container_id
    directory.mkdir(parents=True)
    file = directory / f"{container_id}-json.log"
    (tmp_path / "0.log").symlink_to(file)
    return tmp_path / "0.log", file


def docker_line(number: int) -> str:
    return f'{{"log":"line {number}\\n","stream":"stdout","time":"2026-01-01T00:00:{number:02}.5Z"}}\n'


def test_a_log_may_be_a_link_to_the_file_that_docker_keeps_for_this_very_container(tmp_path: Path) -> None:
    log, file = of_docker(tmp_path)
    file.with_name(f"{file.name}.1").write_text(docker_line(1))
    file.write_text(docker_line(2))
    assert shown(log) == lines(2)
    with reader(log, follow=True) as made:
        assert drained(made) == lines(2)
        os.rename(file, file.with_name(f"{file.name}.1"))
        file.write_text(docker_line(3))
        assert drained(made) == lines(3)


@pytest.mark.parametrize("link", ["another container's", "one more link", "an id that is none"])
def test_a_log_link_to_another_containers_file_is_refused(tmp_path: Path, link: str) -> None:
    id_ = "0" if link == "an id that is none" else ID
    log, file = of_docker(tmp_path, id_)
    secret = tmp_path / "secret"
    secret.write_text(docker_line(1))
    if link == "one more link":
        file.symlink_to(secret)
    else:
        file.write_text(docker_line(1))
    asked = "another" * 8 if link == "another container's" else id_
    with pytest.raises(OSError, match="a link to a file without the container's id"):
        shown(log, container_id=asked)


def test_a_packed_log_that_is_broken_says_so(log: Path) -> None:
    log.with_name("0.log.20260101-000003.gz").write_bytes(b"no gzip")
    with pytest.raises(OSError, match="unpacked"):
        shown(log)
    assert shown(log, tail_lines=3) == lines(7, 8, 9)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "\xff"]
)
def test_an_invalid_time_is_none(text: str) -> None:
    assert time_ns(text) is None
