"""Directories that are made: their modes, and links that are put in their way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from runtime.files.directories import make_directories, make_file
from tests.runtime.volumes.descriptors import opened_in


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_all_that_is_made_has_the_mode_and_what_was_there_keeps_its_own(tmp_path: Path, umask: int):
    (tmp_path / "there").mkdir()
    (tmp_path / "there").chmod(0o700)
    before = os.umask(umask)
    try:
        make_directories(str(tmp_path / "there/a/b"), 0o755)
        make_directories(str(tmp_path / "there/a/b"), 0o750)
    finally:
        os.umask(before)
    assert [mode(tmp_path / path) for path in ("there", "there/a", "there/a/b")] == [0o700, 0o755, 0o755]
    assert opened_in(tmp_path) == []


def test_links_above_that_were_there_are_followed(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    make_directories(str(tmp_path / "link/a"), 0o750)
    assert (tmp_path / "real/a").is_dir()


def test_a_file_in_the_way_is_an_error(tmp_path: Path):
    (tmp_path / "file").touch()
    for path in ("file", "file/below"):
        with pytest.raises(NotADirectoryError):
            make_directories(str(tmp_path / path), 0o750)


def test_a_link_that_leads_nowhere_is_not_made_to_lead_somewhere(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        make_directories(str(tmp_path / "link/a"), 0o750)
    with pytest.raises(FileExistsError):
        make_file(str(tmp_path / "link"), 0o644)
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_that_is_swapped_in_is_not_followed(tmp_path: Path):
    victim = tmp_path / "victim"
    victim.mkdir()
    victim.chmod(0o700)

    def swap(step: str) -> None:
        if step == "make b":
            (tmp_path / "a/b").symlink_to(victim)

    with pytest.raises(OSError):
        make_directories(str(tmp_path / "a/b/c"), 0o755, pause=swap)
    assert mode(victim) == 0o700
    assert os.listdir(victim) == []
    assert opened_in(tmp_path) == []
