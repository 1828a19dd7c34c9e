"""Records of ids on the disk (spec 17.6), and the files of names beside them (14.1, 14.3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.logs.pod_files import LocalPodFiles
from runtime.state.id_files import LocalIdFiles


def test_a_record_is_written_whole_read_back_and_removed(tmp_path: Path) -> None:
    files = LocalIdFiles(str(tmp_path))
    assert files.records() == {}
    (tmp_path / "pods" / "a").mkdir(parents=True)
    (tmp_path / "pods" / "b").mkdir()
    files.write("a", "one")
    files.write("a", "two")
    assert files.records() == {"a": "two"}
    assert os.listdir(tmp_path / "pods" / "a") == ["userns"]
    files.remove("a")
    files.remove("a")
    assert files.records() == {}


def test_a_pod_without_a_directory_gets_no_record(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LocalIdFiles(str(tmp_path)).write("a", "one")


def test_a_file_of_the_node_is_read_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("12345")
    assert LocalPodFiles().read_node_file(str(path), 5) == "12345"
    with pytest.raises(OSError, match="larger than 4"):
        LocalPodFiles().read_node_file(str(path), 4)
