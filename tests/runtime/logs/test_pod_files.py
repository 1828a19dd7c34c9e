"""The small files of a container, on a real disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.logs.pod_files import LocalPodFiles, StartFiles, attempt_after

FILES = LocalPodFiles()


# (spec 3.8.4)
def test_the_termination_file_can_be_written_by_any_user_in_the_container(tmp_path: Path) -> None:
    path = tmp_path / "pods" / "uid" / "containers" / "web" / "0a1b2c3d"
    old = os.umask(0o077)
    try:
        FILES.prepare_container(StartFiles(str(tmp_path / "logs" / "web"), lambda _: str(path)))
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o666
    assert (tmp_path / "logs" / "web").is_dir()


def test_preparing_twice_keeps_what_the_container_wrote(tmp_path: Path) -> None:
    path = tmp_path / "message"
    path.write_text("oh no")
    FILES.prepare_container(StartFiles(str(tmp_path / "logs"), lambda _: str(path)))
    assert FILES.read_termination_message(str(path), 4096) == "oh no"


# (spec 3.8.4)
def test_a_termination_message_is_cut_and_decoded_whatever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "message"
    path.write_bytes(b"a" * 5000 + b"why")
    assert FILES.read_termination_message(str(path), 4096) == "a" * 4093 + "why", "the end of it tells why"
    path.write_bytes(b"\xff\xfeok")
    assert FILES.read_termination_message(str(path), 4096).endswith("ok")


def test_a_missing_message_is_empty_and_a_link_is_not_followed(tmp_path: Path) -> None:
    assert FILES.read_termination_message(str(tmp_path / "nothing"), 4096) == ""
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert FILES.read_termination_message(str(tmp_path / "link"), 4096) == ""
    assert FILES.read_termination_message(str(tmp_path), 4096) == ""


# (spec 3.7.2)
def test_the_next_attempt_comes_after_all_logs_and_rotated_ones_count_too(tmp_path: Path) -> None:
    assert attempt_after(("0.log", "2.log", "11.log.20260101-000000.gz", "x.log", "3.txt", "90.log\n")) == 12
    assert attempt_after(()) == 0
    logs = str(tmp_path / "web")
    assert FILES.prepare_container(StartFiles(logs, lambda attempt: str(tmp_path / f"{attempt}"))) == 0
    (tmp_path / "web" / "0.log").touch()
    assert FILES.prepare_container(StartFiles(logs, lambda attempt: str(tmp_path / f"{attempt}"))) == 1
    assert FILES.prepare_container(StartFiles(logs, lambda _: "", attempt=7)) == 7
    assert (tmp_path / "1").exists(), "the termination message is that of the attempt"


def test_the_hosts_file_is_written_in_place_for_all_to_read(tmp_path: Path) -> None:
    path = tmp_path / "pods" / "a" / "etc-hosts"
    before = os.umask(0o077)
    try:
        _write_hosts(path, "a longer text\n")
        inode = path.stat().st_ino
        _write_hosts(path, "short\n")
    finally:
        os.umask(before)
    assert path.read_text() == "short\n"
    assert path.stat().st_ino == inode
    assert path.stat().st_mode & 0o777 == 0o644


def test_the_hosts_file_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "etc-hosts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        _write_hosts(tmp_path / "etc-hosts", "x")
    assert not (tmp_path / "elsewhere").exists()


def _write_hosts(path: Path, text: str) -> None:
    logs = str(path.parent / "logs")
    FILES.prepare_container(StartFiles(logs, lambda _: "", hosts=(str(path), text)))


def test_the_tail_of_a_log_is_what_the_container_wrote(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    lines = [f"2026-01-01T00:00:00.{n:09d}Z stdout F line {n}\n" for n in range(2000)]
    lines.append("2026-01-01T00:00:01.000000000Z stderr P half \n")
    lines.append("2026-01-01T00:00:01.000000001Z stderr F done\n")
    log.write_text("".join(lines))
    assert FILES.read_log_tail(str(log), "id", 3, 2048) == "line 1999\nhalf done\n"
    assert len(FILES.read_log_tail(str(log), "id", 80, 50)) == 50
    assert FILES.read_log_tail(str(tmp_path / "missing"), "id", 80, 2048) == ""


@pytest.mark.parametrize("nested", [b"[" * 100_000, b'{"x":' * 100_000, b"[" * 100 + b"]" * 100 + b"}"])
def test_the_tail_of_a_log_survives_what_a_container_writes(tmp_path: Path, nested: bytes) -> None:
    log = tmp_path / "0.log"
    said = b'\r{"x":' + nested
    log.write_bytes(b"2026-01-01T00:00:00Z stdout F " + said + b"\n" + b'{"x":' + nested + b"\n")
    text = FILES.read_log_tail(str(log), "id", 80, 1 << 20)
    assert text == said.decode() + "\n"  # and it does not break the line where the container did


@given(st.binary(max_size=300))
def test_no_line_of_a_log_fails_its_reader(line: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "0.log")
        log.write_bytes(line)
        assert len(FILES.read_log_tail(str(log), "id", 80, 100).encode()) <= 300


@pytest.mark.parametrize("made", ["link", "pipe", "docker's"])
def test_the_tail_of_a_log_is_of_a_plain_file_that_is_the_containers_own(tmp_path: Path, made: str) -> None:
    id_, log = "4f2c" * 16, tmp_path / "0.log"
    if made == "pipe":
        os.mkfifo(log)
    else:
        target = tmp_path / (f"{id_}-json.log" if made == "docker's" else "secret")
        target.write_text('{"log":"what it said\\n","stream":"stderr","time":"2026-01-01T00:00:00Z"}\n')
        log.symlink_to(target)
    assert FILES.read_log_tail(str(log), id_, 80, 2048) == ("what it said\n" if made == "docker's" else "")


def test_the_tail_of_a_log_without_lines_costs_no_more_than_a_little_memory(tmp_path: Path) -> None:
    log = tmp_path / "0.log"
    with open(log, "wb") as file:
        file.truncate(1 << 40)
    assert FILES.read_log_tail(str(log), "id", 80, 2048) == ""


def test_the_link_to_a_log_can_be_turned(tmp_path: Path) -> None:
    link = tmp_path / "containers" / "web.log"
    FILES.link_log(str(link), "/a/0.log")
    FILES.link_log(str(link), "/a/1.log")
    assert os.readlink(link) == "/a/1.log"


@pytest.mark.parametrize("path", ["link", "away/secret", "../secret", "/etc/hostname", "./env", "pipe", ""])
def test_a_file_of_a_volume_never_leads_out_of_it(tmp_path: Path, path: str) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (tmp_path / "secret").write_text("A='secret'")
    (volume / "link").symlink_to(tmp_path / "secret")
    (volume / "away").symlink_to(tmp_path)
    (volume / "env").write_text("A='1'")
    os.mkfifo(volume / "pipe")
    with pytest.raises(OSError):
        FILES.read_volume_file(str(volume), path, 100)
    assert FILES.read_volume_file(str(volume), "env", 100) == "A='1'"
