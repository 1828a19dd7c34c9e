"""Files given to an fsGroup, on a real disk: who owns them, their modes, and what is left alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from config.objects import Pod, PodSecurityContext, PodSpec
from runtime.files.tree import remove_tree
from runtime.volumes.mounts import KernelMounts
from runtime.volumes.ownership import (
    IN_PROGRESS,
    Ownership,
    OwnershipProgress,
    give_to_group,
    mode_for,
    ownership_of,
)
from tests.runtime.files.trees import deepest, make_deep
from tests.runtime.volumes.descriptors import opened_in

GROUP = 4321
ALWAYS = Ownership(GROUP)


class Told:
    """What was said, and a clock that goes on by `step_s` at every look."""

    def __init__(self, step_s: float = 0.0) -> None:
        self.said: list[tuple[str, str, str]] = []
        self.now_s = 0.0
        self._step_s = step_s
        self.progress = OwnershipProgress(lambda *words: self.said.append(words), "data", self._now)

    def _now(self) -> float:
        self.now_s += self._step_s
        return self.now_s


def give(path: Path, wanted: Ownership = ALWAYS) -> int:
    told = Told()
    give_to_group(str(path), wanted, told.progress)
    return told.progress.files


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def fill(top: Path) -> None:
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "file").write_text("")
    (top / "a" / "file").chmod(0o600)
    (top / "run").write_text("")
    (top / "run").chmod(0o4711)
    (top / "a" / "b").chmod(0o700)


@pytest.mark.parametrize(
    ("before", "read_only", "after"),
    [
        (stat.S_IFREG | 0o600, False, 0o660),
        (stat.S_IFREG | 0o644, True, 0o644),
        (stat.S_IFREG | 0o000, True, 0o440),
        (stat.S_IFREG | 0o4711, False, 0o4771),
        (stat.S_IFDIR | 0o700, False, 0o2770),
        (stat.S_IFDIR | 0o1700, True, 0o3750),
        (stat.S_IFIFO | 0o600, False, 0o660),
    ],
)
# (spec 8.7.18)
def test_8_7_modes_for_a_group(before: int, read_only: bool, after: int):
    assert stat.S_IMODE(mode_for(before, read_only=read_only)) == after


@pytest.mark.parametrize(
    ("context", "wanted"),
    [
        (None, None),
        (PodSecurityContext(), None),
        (PodSecurityContext(fs_group=1), Ownership(1)),
        (PodSecurityContext(fs_group=1, fs_group_change_policy="Always"), Ownership(1)),
        (PodSecurityContext(fs_group=1, fs_group_change_policy="OnRootMismatch"), Ownership(1, False, True)),
    ],
)
def test_the_security_context_gives_group_and_change_policy(
    context: PodSecurityContext | None, wanted: Ownership | None
):
    assert ownership_of(Pod(spec=PodSpec(security_context=context))) == wanted


# (spec 8.7.18)
def test_everything_comes_to_belong_to_the_group(tmp_path: Path):
    fill(tmp_path)
    assert give(tmp_path) == 5
    found = [tmp_path, *tmp_path.rglob("*")]
    assert {each.lstat().st_gid for each in found} == {GROUP}
    assert {each.lstat().st_uid for each in found} == {os.geteuid()}
    assert mode(tmp_path / "a" / "b") == 0o2770
    assert mode(tmp_path / "a" / "file") == 0o660
    assert mode(tmp_path / "run") == 0o4771


# (spec 8.7.18)
def test_on_root_mismatch_skips_files_below_a_matching_root(tmp_path: Path):
    fill(tmp_path)
    give(tmp_path)
    (tmp_path / "new").write_text("")
    os.chown(tmp_path / "new", -1, 0)
    assert give(tmp_path, Ownership(GROUP, unless_root_fits=True)) == 0
    assert (tmp_path / "new").stat().st_gid == 0
    assert give(tmp_path) == 6
    assert (tmp_path / "new").stat().st_gid == GROUP


@pytest.mark.parametrize("spoil", [lambda path: os.chown(path, -1, 0), lambda path: os.chmod(path, 0o700)])
def test_a_mismatched_root_changes_every_file(tmp_path: Path, spoil: Callable[[Path], None]):
    fill(tmp_path)
    give(tmp_path)
    spoil(tmp_path)
    (tmp_path / "new").write_text("")
    assert give(tmp_path, Ownership(GROUP, unless_root_fits=True)) == 6
    assert (tmp_path / "new").stat().st_gid == GROUP


def test_the_root_is_changed_last_so_that_an_end_in_the_middle_is_seen(tmp_path: Path):
    fill(tmp_path)
    told = Told()

    def die(*words: str) -> None:
        raise OSError("the end")

    progress = OwnershipProgress(die, "data", lambda: told.now_s)
    told.now_s = 100.0
    with pytest.raises(OSError, match="the end"):
        give_to_group(str(tmp_path), ALWAYS, progress)
    assert tmp_path.stat().st_gid != GROUP
    assert give(tmp_path, Ownership(GROUP, unless_root_fits=True)) == 5


def test_a_link_gets_the_group_and_what_it_leads_to_is_left_alone(tmp_path: Path):
    volume, host = tmp_path / "volume", tmp_path / "host"
    volume.mkdir()
    host.mkdir()
    (host / "file").write_text("")
    (host / "file").chmod(0o600)
    (volume / "directory").symlink_to(host)
    (volume / "file").symlink_to(host / "file")
    assert give(volume) == 3
    assert host.stat().st_gid == (host / "file").stat().st_gid == 0
    assert mode(host / "file") == 0o600
    assert (volume / "file").lstat().st_gid == GROUP


def test_mounts_inside_a_volume_keep_their_group(tmp_path: Path):
    volume, other = tmp_path / "volume", tmp_path / "other"
    (volume / "point").mkdir(parents=True)
    other.mkdir()
    (other / "file").write_text("")
    mounts = KernelMounts()
    mounts.bind(str(other), str(volume / "point"))
    try:
        assert give(volume) == 1
    finally:
        mounts.unmount(str(volume / "point"))
    assert other.stat().st_gid == (other / "file").stat().st_gid == 0


def test_a_file_that_goes_meanwhile_is_no_error(tmp_path: Path):
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("")

    def remove(*words: str) -> None:
        for each in ("a", "b"):
            (tmp_path / each).unlink(missing_ok=True)

    progress = OwnershipProgress(remove, "data", iter(range(0, 10000, 100)).__next__)
    give_to_group(str(tmp_path), ALWAYS, progress)
    assert tmp_path.stat().st_gid == GROUP


def test_a_volume_is_given_to_the_group_however_deep_it_is(tmp_path: Path):
    (tmp_path / "volume").mkdir()
    make_deep(tmp_path / "volume", 1500)
    assert give(tmp_path / "volume") == 1502
    lowest = deepest(tmp_path / "volume")
    groups = [os.fstat(lowest).st_gid, os.stat("deepest", dir_fd=lowest).st_gid]
    os.close(lowest)
    assert groups == [GROUP, GROUP]
    assert opened_in(tmp_path) == []
    remove_tree(str(tmp_path / "volume"))


# (spec 8.7.19)
def test_a_large_volume_is_told_of_after_half_a_minute_and_then_every_minute(tmp_path: Path):
    for number in range(200):
        (tmp_path / str(number)).write_text("")
    told = Told(step_s=1.0)
    give_to_group(str(tmp_path), ALWAYS, told.progress)
    assert {words[:2] for words in told.said} == {("Warning", IN_PROGRESS)}
    counted = [words[2].split(" files so far")[0].rpartition(" ")[2] for words in told.said]
    assert counted == ["30", "90", "150"]
