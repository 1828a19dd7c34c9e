"""Log files: the same operations do the same on a real and on a simulated disk.

No partial file is ever left.
"""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.logs.files import LocalLogFiles, LogFiles
from simulation.host.file_tree import FileTree
from simulation.host.log_files import SimulatedLogFiles

TEXT = b"2026-01-01T00:00:00.0Z stdout F line\n" * 1000


class Disk:
    """A real or a simulated directory for the same operations."""

    def __init__(self, root: str, tree: FileTree | None) -> None:
        self.root = root
        self.tree = tree
        self.files: LogFiles = SimulatedLogFiles(tree) if tree else LocalLogFiles()
        self.write("keep", b"")

    def at(self, name: str) -> str:
        return f"{self.root}/{name}"

    def write(self, name: str, data: bytes, mode: int = 0o640) -> str:
        path = self.at(name)
        if self.tree:
            self.tree.make_directories(self.root)
            self.tree.write(path, data, mode)
        else:
            Path(self.root).mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(data)
            os.chmod(path, mode)
        return path

    def link(self, name: str, target: str) -> None:
        if self.tree:
            self.tree.link(self.at(name), self.at(target))
        else:
            os.symlink(self.at(target), self.at(name))

    def contents(self) -> dict[str, bytes]:
        """Name -> what is in it, unpacked where packed."""
        if self.tree:
            found = {name: self.tree.read(self.at(name)) for name in self.tree.names_in(self.root)}
        else:
            found = {each.name: each.read_bytes() for each in Path(self.root).iterdir()}
        del found["keep"]
        return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in found.items()}

    def mode(self, name: str) -> int:
        return self.tree.mode(self.at(name)) if self.tree else os.stat(self.at(name)).st_mode & 0o777


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return Disk(str(tmp_path / "app"), None) if request.param == "real" else Disk("/logs/app", FileTree())


def test_sizes_are_those_of_plain_files(disk: Disk):
    disk.write("0.log", b"12345")
    disk.link("link.log", "0.log")
    names = ("0.log", "link.log", "missing.log", "0.log/below")
    assert disk.files.sizes([disk.at(name) for name in names] + [disk.root]) == (5, 0, None, None, 0)
    assert disk.files.sizes([]) == ()


# (spec 3.13.4)
def test_names_beside_are_those_of_the_log(disk: Disk):
    for name in ("0.log", "0.log.b", "0.log.a", "10.log", "10.log.a"):
        disk.write(name, b"")
    assert disk.files.names_beside(disk.at("0.log")) == ("0.log.a", "0.log.b")
    assert disk.files.names_beside(disk.at("gone/0.log")) == ()


def test_a_log_is_moved_away_and_brought_back(disk: Disk):
    log, rotated = disk.write("0.log", b"old"), disk.at("0.log.1")
    disk.files.move_log(log, rotated)
    assert disk.contents() == {"0.log.1": b"old"}
    assert disk.files.bring_back(rotated, log)
    assert disk.contents() == {"0.log": b"old"}
    assert not disk.files.bring_back(rotated, log), "it is gone already"


def test_a_log_that_was_opened_anew_after_all_is_not_replaced(disk: Disk):
    log, rotated = disk.write("0.log", b"old"), disk.at("0.log.1")
    disk.files.move_log(log, rotated)
    disk.write("0.log", b"new")
    assert not disk.files.bring_back(rotated, log)
    assert disk.contents() == {"0.log": b"new", "0.log.1": b"old"}


def test_nothing_is_moved_away_over_something_else(disk: Disk):
    log, rotated = disk.write("0.log", b"new"), disk.write("0.log.1", b"old")
    with pytest.raises(FileExistsError):
        disk.files.move_log(log, rotated)
    with pytest.raises(FileNotFoundError):
        disk.files.move_log(disk.at("1.log"), disk.at("1.log.1"))
    assert disk.contents() == {"0.log": b"new", "0.log.1": b"old"}


def test_compressing_keeps_every_byte_and_the_mode(disk: Disk):
    rotated = disk.write("0.log.1", TEXT, 0o600)
    disk.files.compress(rotated)
    assert disk.contents() == {"0.log.1.gz": TEXT}
    assert disk.mode("0.log.1.gz") == 0o600
    disk.files.compress(rotated)
    disk.files.compress(disk.at("gone/0.log.1"))
    assert disk.contents() == {"0.log.1.gz": TEXT}


def test_no_link_is_followed_and_no_directory_taken(disk: Disk):
    disk.write("secret", b"of another")
    disk.link("0.log.1", "secret")
    for path in (disk.at("0.log.1"), disk.root):
        with pytest.raises(OSError, match=r"plain|link|directory"):
            disk.files.compress(path)
    assert set(disk.contents()) == {"secret", "0.log.1"}


@pytest.mark.parametrize(
    "left",
    [
        {"0.log.1": TEXT, "0.log.1.tmp": b""},
        {"0.log.1": TEXT, "0.log.1.tmp": gzip.compress(TEXT)[:20]},
        {"0.log.1": TEXT, "0.log.1.tmp": gzip.compress(TEXT)},
        {"0.log.1": TEXT, "0.log.1.gz": gzip.compress(TEXT)},
    ],
    ids=["tmp made", "half of it written", "all of it written", "named, the plain one not removed"],
)
def test_compressing_again_after_a_kill_at_any_step_ends_well(disk: Disk, left: dict[str, bytes]):
    for name, data in left.items():
        disk.write(name, data)
    disk.files.compress(disk.at("0.log.1"))
    assert disk.contents() == {"0.log.1.gz": TEXT}


def full(files: LogFiles, rotated: str) -> int:
    with pytest.raises(OSError) as caught:
        files.compress(rotated)
    assert caught.value.errno is not None
    return caught.value.errno


def test_a_full_disk_leaves_the_plain_log_and_nothing_half():
    tree = FileTree(capacity_bytes=len(TEXT) + 100)
    disk = Disk("/logs/app", tree)
    rotated = disk.write("0.log.1", TEXT)
    assert full(disk.files, rotated) == errno.ENOSPC
    assert disk.contents() == {"0.log.1": TEXT}
    assert tree.used_bytes == len(TEXT)


@pytest.mark.parametrize("broken", ["write", "fsync", "rename"])
def test_a_real_disk_that_fails_at_any_step_leaves_the_plain_log_and_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
):
    disk = Disk(str(tmp_path / "app"), None)
    rotated = disk.write("0.log.1", TEXT)
    fail(monkeypatch, broken)
    assert full(disk.files, rotated) == errno.ENOSPC
    assert disk.contents() == {"0.log.1": TEXT}


def fail(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """Let the disk be full at one step of compressing."""

    def refuse(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if step != "write":
        monkeypatch.setattr(f"runtime.logs.files.os.{step}", refuse)
        return
    monkeypatch.setattr("runtime.logs.files.write_compressed", _half_of(refuse))


def _half_of(refuse: Callable[..., Any]) -> Callable[..., None]:
    def write(source: int, path: str, mode: int) -> None:
        Path(path).write_bytes(os.read(source, 10))
        refuse()

    return write
