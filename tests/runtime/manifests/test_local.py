"""Manifests on a real disk, watched by real inotify."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.manifests.files import LIMIT_BYTES
from runtime.manifests.local import LocalManifests, LocalManifestWatch

PATIENCE_SECONDS = 120.0


def read(path: Path | str) -> dict[str, bytes | str]:
    reading = LocalManifests().read(str(path))
    assert not reading.problem
    return {os.path.basename(f.path): f.problem if f.content is None else f.content for f in reading.files}


# (spec 1.1.1, 1.1.5)
def test_one_level_of_a_directory_is_read_sorted_without_dot_files(tmp_path: Path):
    for name in ("b.yaml", "a.json", ".hidden.yaml", "no-extension"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "deep.yaml").write_bytes(b"x")
    assert list(read(f"{tmp_path}/")) == ["a.json", "b.yaml", "no-extension"]
    assert read(tmp_path)["b.yaml"] == b"b.yaml"


# (spec 1.1.1)
def test_a_path_may_be_one_file(tmp_path: Path):
    (tmp_path / "pod.yaml").write_bytes(b"x")
    assert read(tmp_path / "pod.yaml") == {"pod.yaml": b"x"}


# (spec 1.1.6)
def test_a_missing_path_is_no_file_and_says_so(tmp_path: Path):
    reading = LocalManifests().read(str(tmp_path / "nothing"))
    assert reading.missing
    assert reading.files == ()


def test_unreadable_manifest_files_are_reported_one_by_one(tmp_path: Path):
    (tmp_path / "good").write_bytes(b"x")
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(LIMIT_BYTES + 1)
    with open(tmp_path / "limit", "wb") as file:
        file.truncate(LIMIT_BYTES)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    files = read(tmp_path)
    assert files["good"] == b"x"
    assert len(files["limit"]) == LIMIT_BYTES
    assert files["huge"] == "it is larger than 10 MiB"
    assert files["pipe"] == "it is neither a file nor a directory"
    assert files["nowhere"] == "the link leads nowhere"


def test_when_a_file_was_touched_cannot_be_set_back(tmp_path: Path):
    file = tmp_path / "real"
    file.write_text("x")
    made_ns = file.stat().st_ctime_ns
    (tmp_path / "m").mkdir()
    link = tmp_path / "m" / "pod.yaml"
    os.utime(file, (0, 0))
    link.symlink_to(file)
    [read_file] = LocalManifests().read(str(link.parent)).files
    assert read_file.touched_ns == max(file.stat().st_ctime_ns, link.lstat().st_ctime_ns) >= made_ns


def test_a_path_below_a_file_cannot_be_listed(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    assert LocalManifests().read(str(tmp_path / "file" / "below")).problem == "Not a directory"


class Changes:
    """Waits for the next change after something was done."""

    def __init__(self, path: Path) -> None:
        self._told = threading.Event()
        self.removed: list[str] = []
        self.watch: LocalManifestWatch = LocalManifests().watch(str(path), self._changed)

    def _changed(self, removed: str) -> None:
        if removed:
            self.removed.append(removed)
        self._told.set()

    def follow(self, operation: Callable[[], object]) -> bool:
        """Renew the watch as a reading does, do something, and wait for it to be told."""
        assert self.watch.renew() == ""
        self._told.clear()
        operation()
        return self.wait()

    def wait(self) -> bool:
        told = self._told.wait(PATIENCE_SECONDS)
        self._told.clear()
        return told


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[Path, Changes]]:
    path = tmp_path / "a" / "manifests"
    changes = Changes(path)
    yield path, changes
    changes.watch.close()


def test_every_change_of_a_file_is_told(watched: tuple[Path, Changes]):
    path, changes = watched
    path.mkdir(parents=True)
    file = path / "pod.yaml"
    assert changes.follow(lambda: file.write_bytes(b"1"))
    assert changes.follow(lambda: file.write_bytes(b"2"))
    assert changes.follow(lambda: file.chmod(0o600))
    assert changes.follow(lambda: file.rename(path / "other.yaml"))
    assert changes.follow((path / "other.yaml").unlink)


# (spec 1.1.7)
def test_a_removed_file_is_named_and_one_that_was_saved_anew_is_not(watched: tuple[Path, Changes]):
    path, changes = watched
    path.mkdir(parents=True)
    file, draft, backup = path / "pod.yaml", path / "draft", path / "pod.yaml~"

    def saved_by_rename() -> None:
        draft.write_bytes(b"1")
        draft.replace(file)

    def saved_beside_a_backup() -> None:
        file.rename(backup)
        file.write_bytes(b"1")
        backup.unlink()

    def removed_and_written() -> None:
        file.unlink()
        file.write_bytes(b"1")

    file.write_bytes(b"1")
    for save in (saved_by_rename, saved_beside_a_backup, lambda: file.write_bytes(b"1"), removed_and_written):
        assert changes.follow(save)
    (path / "sentinel").touch()
    changes.follow((path / "sentinel").unlink)
    while "sentinel" not in changes.removed:
        assert changes.wait()
    assert changes.removed == ["pod.yaml~", "pod.yaml", "sentinel"]


def test_a_watch_survives_its_directory(watched: tuple[Path, Changes]):
    path, changes = watched
    assert changes.follow(path.parent.mkdir), "nothing there yet, nor above it"
    assert changes.follow(path.mkdir)
    assert changes.follow((path / "pod.yaml").touch)
    (path / "pod.yaml").unlink()
    assert changes.follow(path.rmdir)
    assert changes.follow(path.mkdir)
    assert changes.follow((path / "again.yaml").touch)


def test_a_directory_that_was_replaced_is_watched_after_the_next_reading(watched: tuple[Path, Changes]):
    path, changes = watched
    path.mkdir(parents=True)
    changes.watch.renew()
    path.rename(path.with_name("old"))
    path.mkdir()
    assert changes.follow((path / "new.yaml").touch)


def test_one_file_is_watched_through_replacement(tmp_path: Path):
    file = tmp_path / "pod.yaml"
    changes = Changes(file)
    try:
        assert changes.follow(file.touch)
        other = tmp_path / "draft"
        other.touch()
        assert changes.follow(lambda: other.replace(file))
        assert changes.follow(file.unlink)
    finally:
        changes.watch.close()


# (spec 1.1.5)
def test_dot_files_and_our_own_reading_tell_nothing(watched: tuple[Path, Changes]):
    path, _ = watched
    path.mkdir(parents=True)
    (path / "pod.yaml").write_bytes(b"1")
    told: list[str] = []
    last = threading.Event()

    def changed(removed: str) -> None:
        told.append("change")
        last.set()

    watch = LocalManifests().watch(str(path), changed)
    assert watch.renew() == ""
    read(path)
    (path / ".swap").write_bytes(b"x")
    # inotify keeps the order: when this one is told, the others would have been.
    (path / "sentinel").mkdir()
    assert last.wait(PATIENCE_SECONDS)
    assert told == ["change"]
    watch.close()
