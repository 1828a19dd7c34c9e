"""Directories that go with their process, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.files.passing_directory import LOCK, passing_directory, remove_leftovers

ROOT = Path(__file__).parents[3]
HOLDER = """
import sys
from runtime.files.passing_directory import passing_directory
with passing_directory("demo-", sys.argv[1]) as path:
    print(path, flush=True)
    sys.stdin.read()
"""


def hold(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """Another process with a directory of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(parent)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_there_for_its_user_alone_and_gone_afterwards(tmp_path: Path) -> None:
    with passing_directory("demo-", str(tmp_path)) as path:
        assert os.stat(path).st_mode & 0o077 == 0
        Path(path, "file").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_it_is_gone_after_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x"), passing_directory("demo-", str(tmp_path)):
        raise ValueError("x")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_a_killed_process_are_removed_by_the_next(tmp_path: Path) -> None:
    process, left = hold(tmp_path)
    process.kill()
    process.communicate()
    assert left.exists()
    with passing_directory("demo-", str(tmp_path)) as path:
        assert [entry.name for entry in tmp_path.iterdir()] == [os.path.basename(path)]


def test_directories_of_living_processes_are_left_alone(tmp_path: Path) -> None:
    process, held = hold(tmp_path)
    assert remove_leftovers("demo-", str(tmp_path)) == ()
    assert held.exists()
    process.communicate("")
    assert not held.exists()


def test_directories_made_by_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "demo-unlocked").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / LOCK).touch()
    (tmp_path / "demo-link").symlink_to(tmp_path / "other")
    (tmp_path / "demo-file").touch()
    assert remove_leftovers("demo-", str(tmp_path)) == ()
    assert len(list(tmp_path.iterdir())) == 4
