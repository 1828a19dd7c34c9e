"""State files that were damaged on the disk, or come from a newer agent."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from runtime.files.state_file import UNREADABLE, VERSION, UnreadableStateError, read_state, write_state


class Kept(msgspec.Struct):
    amount: int
    version: int = VERSION


def kept_in(content: bytes) -> Kept:
    return msgspec.json.decode(content, type=Kept)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_a_written_state_reads_back(file: Path):
    assert read_state(str(file), kept_in) is None
    write_state(str(file), msgspec.json.encode(Kept(7)))
    assert read_state(str(file), kept_in) == Kept(7)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b'{"amount": 7}', b'{"amount": 7, "version": 1, "added": [{}]}'])
def test_a_file_without_a_version_or_with_fields_of_a_later_agent_is_read(file: Path, content: bytes):
    file.write_bytes(content)
    assert read_state(str(file), kept_in) == Kept(7)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it is empty"),
        (b'{"amount": 7', "it cannot be read"),
        (b"\0" * 4096, "it cannot be read"),
        (b'{"amount": "\xff"}', "it cannot be read"),
        (b"[]", "it cannot be read"),
        (b'{"amount": "seven"}', "it cannot be read"),
        (b'{"amount": 7, "version": 2}', "it is of version 2, and this agent reads versions up to 1"),
        (b'{"amount": 7, "version": "x"}', "it cannot be read"),
        (b"[" * 100_000, "it cannot be read"),
        (b'{"x": ' + b"[" * 100_000, "nested too deep"),
        (b" " * 2000 + b'{"amount": 7}', "it is larger than 1000 bytes"),
    ],
)
def test_an_unreadable_state_file_is_moved_aside_and_named(file: Path, content: bytes, why: str):
    file.write_bytes(content)
    with pytest.raises(UnreadableStateError) as told:
        read_state(str(file), kept_in, 1000 if "larger" in why else len(content))
    assert why in str(told.value)
    assert str(file) in str(told.value)
    assert file.with_name(file.name + UNREADABLE).read_bytes() == content
    assert read_state(str(file), kept_in) is None, "the next read finds no file"


def test_what_was_not_to_last_is_gone_where_a_power_cut_has_emptied_it(file: Path):
    file.touch()
    assert read_state(str(file), kept_in, lasting=False) is None
    assert os.listdir(file.parent) == [file.name]
    file.write_bytes(b"torn")
    with pytest.raises(UnreadableStateError):
        read_state(str(file), kept_in, lasting=False)


def _link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("put", [_link, os.mkfifo, Path.mkdir])
def test_a_state_path_that_is_no_plain_file_is_moved_aside_unopened(file: Path, put: Callable[[Path], object]):
    put(file)
    with pytest.raises(UnreadableStateError, match="not a plain file"):
        read_state(str(file), kept_in)
    assert not os.path.lexists(file)


def test_one_damaged_file_is_kept_not_all_of_them(file: Path):
    for number in range(3):
        file.write_bytes(b"torn %d" % number)
        with pytest.raises(UnreadableStateError):
            read_state(str(file), kept_in)
    assert sorted(os.listdir(file.parent)) == ["state" + UNREADABLE]
    assert file.with_name(file.name + UNREADABLE).read_bytes() == b"torn 2"


def test_a_file_that_cannot_be_moved_away_is_told_as_well(file: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    file.write_bytes(b"torn")
    monkeypatch.setattr(os, "rename", refused)
    with pytest.raises(UnreadableStateError, match="cannot be moved away: Read-only file system"):
        read_state(str(file), kept_in)
