"""The files of pulled images on a real disk, where a kubelet has them.

Also what happens to damaged ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.state.pull_record_files import PULLED, PULLING, FileChange, LocalPullRecordFiles

NAME = "sha256-aef2"


@pytest.fixture
def files(tmp_path: Path) -> LocalPullRecordFiles:
    return LocalPullRecordFiles(str(tmp_path))


# (spec 6.4.2)
def test_pull_records_are_written_and_read_in_the_kubelets_directory(
    files: LocalPullRecordFiles, tmp_path: Path
) -> None:
    assert files.load().pulled == {}
    files.apply([FileChange(PULLING, NAME, b"{}"), FileChange(PULLED, NAME, b'{"a":1}')])
    assert (tmp_path / "image_manager" / "pulled" / NAME).read_bytes() == b'{"a":1}'
    assert (tmp_path / "image_manager" / "pulling").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "image_manager" / "pulling" / NAME).stat().st_mode & 0o777 == 0o600
    found = files.load()
    assert (dict(found.pulling), dict(found.pulled)) == ({NAME: b"{}"}, {NAME: b'{"a":1}'})
    files.apply([FileChange(PULLING, NAME), FileChange(PULLING, NAME)])
    assert dict(files.load().pulling) == {}


def test_files_of_others_are_left_alone(files: LocalPullRecordFiles, tmp_path: Path) -> None:
    pulled = tmp_path / "image_manager" / "pulled"
    pulled.mkdir(parents=True)
    for name in ("notes", f"{NAME}.tmp"):
        (pulled / name).write_text("{}")
    assert dict(files.load().pulled) == {}
    assert sorted(os.listdir(pulled)) == ["notes", f"{NAME}.tmp"]


def test_a_damaged_record_is_set_aside_and_known_by_its_name_for_ever(
    files: LocalPullRecordFiles, tmp_path: Path
) -> None:
    files.apply([FileChange(PULLED, NAME, b"{}")])
    (tmp_path / "image_manager" / "pulled" / NAME).write_bytes(b"")
    found = files.load()
    assert found.unreadable == {NAME}
    assert len(found.problems) == 1
    again = files.load()
    assert again.unreadable == {NAME}
    assert not again.problems
    assert os.listdir(tmp_path / "image_manager" / "pulled") == [], "a kubelet takes all that is there for records"
    files.apply([FileChange(PULLED, NAME)])
    assert files.load().unreadable == frozenset()


def test_a_damaged_intent_does_not_stay_where_a_kubelet_reads(files: LocalPullRecordFiles, tmp_path: Path) -> None:
    files.apply([FileChange(PULLING, NAME, b"{}")])
    (tmp_path / "image_manager" / "pulling" / NAME).write_bytes(b"")
    assert files.load().unreadable == frozenset()
    assert os.listdir(tmp_path / "image_manager" / "pulling") == []


def test_records_set_aside_by_an_earlier_agent_are_moved_and_still_known(
    files: LocalPullRecordFiles, tmp_path: Path
) -> None:
    pulled = tmp_path / "image_manager" / "pulled"
    pulled.mkdir(parents=True)
    (pulled / f"{NAME}.unreadable").write_bytes(b"torn")
    for _ in range(2):
        assert files.load().unreadable == {NAME}
        assert os.listdir(pulled) == []
    files.apply([FileChange(PULLED, NAME)])
    assert files.load().unreadable == frozenset()


def test_changes_end_with_the_first_that_fails(files: LocalPullRecordFiles, tmp_path: Path) -> None:
    """A record that cannot be written keeps its intent."""
    files.apply([FileChange(PULLING, NAME, b"{}")])
    (tmp_path / "image_manager" / "pulled").write_text("no directory")
    with pytest.raises(OSError):
        files.apply([FileChange(PULLED, NAME, b"{}"), FileChange(PULLING, NAME)])
    assert os.listdir(tmp_path / "image_manager" / "pulling") == [NAME]
