"""Walking and removing trees that no path can name, and that change under the walk."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from runtime.files.tree import DIRECTORY_FLAGS, HELD_LEVELS, OtherMountError, TreeWalk, remove_tree
from tests.runtime.files.trees import DIRECTORY, make_deep
from tests.runtime.volumes.descriptors import opened_in


@contextmanager
def opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def walked(top: Path, *, come_back: bool = False) -> list[tuple[str, bool]]:
    """Names in the order of the walk, which enters everything."""
    found = []
    with opened(top) as root, closing(TreeWalk(root, come_back=come_back)) as walk:
        for entry in walk:
            found.append((os.fsdecode(entry.name), entry.again))
            if entry.may_be_directory and not entry.again:
                walk.enter(os.open(entry.name, DIRECTORY_FLAGS, dir_fd=walk.directory))
        assert not walk.strayed
    return found


# --- the walk


def test_every_entry_is_given_once(tmp_path: Path):
    for name in ("a/b/c", "a/e", "f"):
        (tmp_path / name).mkdir(parents=True)
    for number in range(1000):
        (tmp_path / f"a/e/{number}").touch()
    names = [name for name, _ in walked(tmp_path)]
    assert sorted(names) == sorted(["a", "b", "c", "e", "f", *map(str, range(1000))])
    assert opened_in(tmp_path) == []


@pytest.mark.parametrize("levels", [1, HELD_LEVELS - 1, HELD_LEVELS, HELD_LEVELS + 1, 200])
def test_a_walk_with_returns_gives_each_directory_again_after_its_contents(tmp_path: Path, levels: int):
    make_deep(tmp_path, levels, breadth=1)
    found = walked(tmp_path, come_back=True)
    assert found.count(("dir", False)) == found.count(("dir", True)) == levels
    assert found.count(("0", False)) == found.count(("0", True)) == levels
    assert found.count(("deepest", False)) == 1
    depth = 0
    for name, again in found:
        depth += {("dir", False): 1, ("dir", True): -1}.get((name, again), 0)
        assert name != "deepest" or depth == levels


def test_few_directories_are_open_however_deep_it_goes(tmp_path: Path):
    make_deep(tmp_path, 200)
    before = len(os.listdir("/proc/self/fd"))
    most = 0
    with opened(tmp_path) as root, closing(TreeWalk(root)) as walk:
        for entry in walk:
            if entry.may_be_directory:
                walk.enter(os.open(entry.name, DIRECTORY_FLAGS, dir_fd=walk.directory))
                most = max(most, len(os.listdir("/proc/self/fd")) - before)
    assert most <= HELD_LEVELS + 3
    assert opened_in(tmp_path) == []


def test_memory_grows_neither_with_the_breadth_nor_much_with_the_depth(tmp_path: Path):
    """8,000 directories, 200 levels with 40 at each: a list of the names of each level takes 700 KiB."""
    make_deep(tmp_path, 200, breadth=40, name="z" * 100)
    seen = 0
    with opened(tmp_path) as root, closing(TreeWalk(root)) as walk:
        tracemalloc.start()
        for entry in walk:
            seen += 1
            if len(entry.name) == 100:
                walk.enter(os.open(entry.name, DIRECTORY_FLAGS, dir_fd=walk.directory))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert seen == 200 * 41 + 1
    assert peak < 300 * 1024


def test_a_walk_whose_parent_was_moved_continues_above_and_reports_it(tmp_path: Path):
    top, outside = tmp_path / "top", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    (outside / "theirs").touch()
    make_deep(top, HELD_LEVELS + 10)
    (top / "z").touch()
    names = []
    with opened(top) as root, closing(TreeWalk(root)) as walk:
        for entry in walk:
            names.append(entry.name)
            if entry.name == b"deepest":
                # Its `..` is somebody else's directory now.
                os.rename(os.readlink(f"/proc/self/fd/{walk.directory}"), outside / "moved")
            if entry.may_be_directory:
                walk.enter(os.open(entry.name, DIRECTORY_FLAGS, dir_fd=walk.directory))
        assert walk.strayed
    assert b"theirs" not in names
    assert b"z" in names, "what lies beside the way is still found"


# --- removal


@pytest.mark.parametrize("depth", [1, 1500])
def test_a_tree_is_removed_however_deep_it_is(tmp_path: Path, depth: int):
    (tmp_path / "top").mkdir()
    make_deep(tmp_path / "top", depth)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        remove_tree(str(tmp_path / "top"))
    finally:
        sys.setrecursionlimit(before)
    remove_tree(str(tmp_path / "top"))
    assert os.listdir(tmp_path) == []
    assert opened_in(tmp_path) == []


def test_removing_a_tree_removes_links_and_pipes_without_following_them(tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").touch()
    (tmp_path / "top").mkdir()
    (tmp_path / "top/link").symlink_to(tmp_path / "outside")
    os.mkfifo(tmp_path / "top/pipe")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    remove_tree(str(tmp_path / "top"))
    remove_tree(str(tmp_path / "link"))
    assert sorted(os.listdir(tmp_path)) == ["outside"]
    assert os.listdir(tmp_path / "outside") == ["file"]


@pytest.mark.parametrize("depth", [1, HELD_LEVELS + 5])
# (spec 8.6.1)
def test_another_mount_is_never_entered(tmp_path: Path, depth: int):
    """A bind mount, which has the device number of its source."""
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    place = tmp_path.joinpath("top", *["d"] * depth)
    place.mkdir(parents=True)
    subprocess.run(["mount", "--bind", "--", tmp_path / "precious", place], check=True)
    try:
        with pytest.raises(OtherMountError) as refused:
            remove_tree(str(tmp_path / "top"))
        assert refused.value.filename == str(place)
        with pytest.raises(OtherMountError):
            remove_tree(str(place))
    finally:
        subprocess.run(["umount", "--", place], check=True)
    assert os.listdir(tmp_path / "precious") == ["file"]


def test_links_that_are_swapped_in_during_the_removal_lead_nowhere(tmp_path: Path):
    """Another thread swaps a directory of the tree for a link to ours, and back, meanwhile."""
    victim, top = tmp_path / "victim", tmp_path / "top"
    for each in ("a/b", "c"):
        (victim / each).mkdir(parents=True)
        (victim / each / "file").touch()
    before = sorted(str(path) for path in victim.rglob("*"))
    for turn in range(15):
        top.mkdir(exist_ok=True)
        make_deep(top, 3, breadth=3, name=f"d{turn}")
        swapper = threading.Thread(target=_swap, args=(top / f"d{turn}", victim, 100))
        swapper.start()
        try:
            for _ in range(10):
                with suppress(OSError):
                    remove_tree(str(top))
        finally:
            swapper.join()
    assert sorted(str(path) for path in victim.rglob("*")) == before
    remove_tree(str(top))
    assert not top.exists()


def _swap(path: Path, victim: Path, times: int) -> None:
    """Make the path a directory and a link in turn."""
    aside = path.with_name("aside")
    for _ in range(times):
        with suppress(OSError):
            (path / "below").mkdir(parents=True, exist_ok=True)
            os.rename(path, aside)
            os.symlink(victim, path)
            os.unlink(path)
            os.rename(aside, path)


def test_a_directory_that_is_moved_away_during_the_removal_takes_nothing_else_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Deep below, `..` is somebody else's directory by the time the removal goes back up."""
    top, outside = tmp_path / "top", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    (outside / "theirs").touch()
    make_deep(top, HELD_LEVELS + 10)
    unlink = os.unlink

    def heard(path: bytes, *, dir_fd: int) -> None:
        unlink(path, dir_fd=dir_fd)
        if path == b"deepest":
            os.rename(os.readlink(f"/proc/self/fd/{dir_fd}"), outside / "moved")

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", heard)
        remove_tree(str(top))
    assert sorted(os.listdir(outside)) == ["moved", "theirs"]
    assert not top.exists()


def test_a_directory_that_is_always_filled_again_ends_the_removal_with_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "top/full").mkdir(parents=True)

    def refused(path: bytes | str, *, dir_fd: int) -> None:
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    monkeypatch.setattr(os, "rmdir", refused)
    with pytest.raises(OSError, match="not empty"):
        remove_tree(str(tmp_path / "top"))
    assert opened_in(tmp_path) == []
