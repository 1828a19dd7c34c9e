"""What lies beneath a directory is found, and nothing else.

`test_sub_path.py` changes links meanwhile.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.files.beneath import LeadsOutError, find_beneath, open_beneath


def read(root: Path, path: str) -> str:
    with os.fdopen(open_beneath(str(root), path)) as file:
        return file.read()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "file").write_text("x")
    (tmp_path / "outside").write_text("secret")
    return root


@pytest.mark.parametrize("target", ["a/file", "./a//file", "a/../a/file", "{root}/a/file"])
def test_links_that_stay_beneath_are_followed(root: Path, target: str):
    (root / "link").symlink_to(target.format(root=root))
    assert read(root, "link") == "x"


@pytest.mark.parametrize(
    "target", ["../outside", "a/../../outside", "{root}/../outside", "/etc/passwd", "{root}-other"]
)
def test_links_that_lead_out_are_refused(root: Path, target: str):
    (root / "link").symlink_to(target.format(root=root))
    with pytest.raises(LeadsOutError, match="leads out of the directory"):
        read(root, "link")


def test_a_path_itself_may_not_lead_out(root: Path):
    with pytest.raises(PermissionError):
        read(root, "a/../../outside")


def test_a_link_with_an_absolute_host_path_is_refused(root: Path):
    (root / "link").symlink_to(root / "a")
    with pytest.raises(LeadsOutError):
        find_beneath(str(root), "link")


def test_the_root_may_be_reached_by_a_link(root: Path, tmp_path: Path):
    (tmp_path / "way").symlink_to(root)
    assert read(tmp_path / "way", "a/file") == "x"


def test_missing_directories_are_made_only_on_request(root: Path):
    with pytest.raises(FileNotFoundError):
        read(root, "b/file")
    os.close(find_beneath(str(root), "b/c", make_mode=0o751))
    assert (root / "b").stat().st_mode & 0o777 == (root / "b" / "c").stat().st_mode & 0o777 == 0o751
