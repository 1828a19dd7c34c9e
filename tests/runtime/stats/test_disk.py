"""What directories take."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.files.mount_table import mount_kinds
from runtime.files.tree import remove_tree
from runtime.stats import disk
from runtime.volumes.mounts import KernelMounts
from tests.runtime.files.trees import make_deep
from tests.runtime.volumes.descriptors import opened_in


def test_disk_use_counts_allocated_blocks_and_hard_links_once(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/file").write_bytes(b"x" * 10_000)
    before, inodes = disk.counted(str(tmp_path))
    os.link(tmp_path / "below/file", tmp_path / "again")
    os.symlink("/etc", tmp_path / "elsewhere")
    used, now = disk.counted(str(tmp_path))
    assert 10_000 <= before <= used < before + 8192
    assert (inodes, now) == (3, 4)


def test_a_deep_tree_hides_nothing(tmp_path: Path) -> None:
    """No path names the file in it."""
    (tmp_path / "volume").mkdir()
    make_deep(tmp_path / "volume", 1500, file_bytes=5 << 20)
    used, inodes = disk.counted(str(tmp_path / "volume"))
    assert used >= 5 << 20
    assert inodes == 1502
    assert opened_in(tmp_path) == []
    remove_tree(str(tmp_path / "volume"))


def test_many_files_with_two_links_cost_no_memory_without_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "LINKED_AT_MOST", 3)
    for number in range(10):
        (tmp_path / f"{number}").write_bytes(b"x" * 4096)
        os.link(tmp_path / f"{number}", tmp_path / f"again {number}")
    used, inodes = disk.counted(str(tmp_path))
    assert used >= 10 * 4096
    assert inodes == 1 + 3 + 7 * 2


def test_a_directory_is_its_own_use_in_the_whole_file_system(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 5_000)
    reading, whole = disk.directory(str(tmp_path), 1), disk.filesystem(str(tmp_path), 1)
    assert reading.capacity == whole.capacity
    assert 5_000 <= reading.used < whole.used
    assert reading.inodes_used == 2


def test_the_file_system_of_a_directory_that_is_yet_to_be_made(tmp_path: Path) -> None:
    assert disk.filesystem(str(tmp_path / "a/b/c"), 1).capacity == disk.filesystem(str(tmp_path), 1).capacity


def test_a_directory_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        disk.counted(str(tmp_path / "gone"))


def test_a_mount_that_may_be_dead_is_named_and_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    volumes, mounts = tmp_path / "volumes", KernelMounts()
    nfs, memory, scratch = (
        volumes / path for path in ("kubernetes.io~nfs/v", "kubernetes.io~secret/s", "kubernetes.io~empty-dir/e")
    )
    for each in (nfs, memory, scratch, tmp_path / "server"):
        each.mkdir(parents=True)
    (scratch / "f").write_bytes(b"x" * 5_000)
    mounts.bind(str(tmp_path / "server"), str(nfs))
    mounts.mount_tmpfs(str(memory), 1 << 20)
    for name in ("lstat", "stat", "statvfs"):
        monkeypatch.setattr(os, name, _hanging_at(str(nfs), getattr(os, name)))
    try:
        found = disk.pod_disk(str(volumes), str(tmp_path / "logs"), 3)
    finally:
        monkeypatch.undo()
        mounts.unmount(str(nfs))
        mounts.unmount(str(memory))
    assert [(kind, name) for kind, name, _ in found.volumes] == [
        ("kubernetes.io/empty-dir", "e"),
        ("kubernetes.io/secret", "s"),
    ]
    assert found.mounts == (("kubernetes.io/nfs", "v", str(nfs)),)


def _hanging_at(dead: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def heard(path: Any, *words: Any, **more: Any) -> Any:
        assert path != dead, "this would hang for ever"
        return call(path, *words, **more)

    return heard


def test_the_table_of_mounts_is_read_by_point() -> None:
    text = (
        "36 35 98:0 /a /mnt/a\\040b rw,noatime shared:1 master:2 - nfs4 srv:/data rw\n"
        "37 35 0:5 / /mnt/c rw - tmpfs tmpfs rw\n"
        "38 35 0:6 / /mnt/c rw - ext4 /dev/sdb rw\nnonsense\n"
    )
    assert mount_kinds(text) == {"/mnt/a b": "nfs4", "/mnt/c": "ext4"}


# (spec 11.6.3)
def test_volumes_and_logs_of_a_pod(tmp_path: Path) -> None:
    (tmp_path / "volumes/kubernetes.io~empty-dir/scratch").mkdir(parents=True)
    (tmp_path / "volumes/kubernetes.io~empty-dir/scratch/f").write_bytes(b"x" * 5_000)
    (tmp_path / "logs/app").mkdir(parents=True)
    (tmp_path / "logs/app/0.log").write_bytes(b"x" * 9_000)
    found = disk.pod_disk(str(tmp_path / "volumes"), str(tmp_path / "logs"), 3)
    ((kind, name, volume),) = found.volumes
    ((container, log),) = found.logs
    assert (kind, name, container) == ("kubernetes.io/empty-dir", "scratch", "app")
    assert volume.used >= 5_000
    assert log.used >= 9_000
    assert disk.pod_disk(str(tmp_path / "gone"), str(tmp_path / "gone"), 3).volumes == ()
