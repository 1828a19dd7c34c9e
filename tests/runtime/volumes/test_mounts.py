"""Mounts of the kernel: binds, read only and shared; and what is read of the kernel's list."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.volumes.mounts import KernelMounts, is_shared

_TREE = b"""\
22 1 0:20 / / rw,relatime - ext4 /dev/root rw
30 22 0:21 / /var rw,relatime shared:7 - ext4 /dev/b rw
31 30 0:22 / /var/a\\040b rw,relatime master:3 - tmpfs t rw
32 30 0:23 / /var/c rw,relatime master:3 shared:9 - tmpfs t rw
33 32 0:24 / /var/c rw,relatime - tmpfs over-it rw
"""


@pytest.fixture
def mounts(tmp_path: Path) -> Iterator[KernelMounts]:
    mounts = KernelMounts()
    yield mounts
    for point in mounts.below(str(tmp_path)):
        mounts.unmount(point)


@pytest.mark.parametrize(
    ("path", "shared"),
    [("/", False), ("/etc", False), ("/var", True), ("/var/x", True), ("/variety", False), ("/var/a b/x", False)],
)
def test_a_path_is_shared_when_the_mount_it_lies_in_is(path: str, shared: bool):
    assert is_shared(_TREE, path) is shared


def test_the_last_mount_on_a_path_counts():
    assert is_shared(_TREE, "/var/c/x") is False
    assert is_shared(_TREE[: _TREE.index(b"33 ")], "/var/c/x") is True


def test_a_bind_shows_the_same_directory_and_a_read_only_one_takes_no_changes(mounts: KernelMounts, tmp_path: Path):
    source, place = tmp_path / "source", tmp_path / "place"
    source.mkdir()
    place.mkdir()
    mounts.mount_tmpfs(str(source), 1 << 20)
    (source / "file").write_text("x")
    mounts.bind(str(source), str(place), read_only=True)
    assert (place / "file").read_text() == "x"
    with pytest.raises(OSError, match="Read-only"):
        (place / "file").write_text("y")
    (source / "file").write_text("z")
    assert (place / "file").read_text() == "z"


def test_a_shared_directory_is_made_one_mount_however_often_it_is_asked_for(mounts: KernelMounts, tmp_path: Path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "file").write_text("x")
    made = mounts.make_shared(str(tmp_path))
    assert not mounts.make_shared(str(tmp_path))
    assert (tmp_path / "file").read_text() == "x"
    own = [point for point in mounts.below(str(tmp_path)) if point == str(tmp_path)]
    assert len(own) == made  # none where the whole machine is shared
    assert is_shared(Path("/proc/self/mountinfo").read_bytes(), os.path.realpath(inner))


def test_a_mount_in_use_can_be_detached(mounts: KernelMounts, tmp_path: Path):
    mounts.mount_tmpfs(str(tmp_path), 1 << 20)
    with (tmp_path / "file").open("w"):
        with pytest.raises(OSError, match="busy"):
            mounts.unmount(str(tmp_path))
        mounts.unmount(str(tmp_path), detach=True)
        assert mounts.below(str(tmp_path)) == ()
    mounts.unmount(str(tmp_path))
