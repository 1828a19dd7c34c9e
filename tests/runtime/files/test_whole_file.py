"""Files written as a whole, also where somebody else may write beside them."""

from __future__ import annotations

import fcntl
import gc
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from runtime.files.whole_file import link_whole, remove_partials, write_whole

LEFT = ".actorlet-" + "0" * 32 + ".new"


def names(directory: Path) -> list[str]:
    return sorted(os.listdir(directory))


# (spec 16.4)
def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path):
    (tmp_path / "run").write_bytes(b"before")
    with pytest.raises(TypeError):
        write_whole(str(tmp_path / "run"), None)  # type: ignore[arg-type]
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("run", b"before")]


class Crash(BaseException):
    """The agent ends here."""


@pytest.mark.parametrize("dies_at", ["open", "flock", "fchmod", "fsync", "rename", "close"])
def test_wherever_the_agent_dies_the_old_or_the_new_content_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_at: str
):
    """It dies right before or right after each call of the system.

    What it leaves beside goes with the next write.
    """
    path = tmp_path / "state"
    for after in (False, True):
        for nth in range(4):
            path.write_bytes(b"old")
            with monkeypatch.context() as patched, suppress(Crash):
                module = fcntl if dies_at == "flock" else os
                patched.setattr(module, dies_at, _dying(getattr(module, dies_at), nth, after=after))
                patched.setattr(os, "unlink", _no_more)  # who is dead cleans nothing up
                write_whole(str(path), b"new")
            assert path.read_bytes() in (b"old", b"new")
            assert all(name == "state" or name.startswith(".actorlet-") for name in names(tmp_path))
            _close_all_in(tmp_path)
            write_whole(str(path), b"next")
            assert names(tmp_path) == ["state"]
            assert path.read_bytes() == b"next"


def _close_all_in(directory: Path) -> None:
    """As the kernel does when a process ends."""
    gc.collect()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{name}").startswith(f"{directory}/"):
                os.close(int(name))


def _dying(call: Callable[..., Any], nth: int, *, after: bool) -> Callable[..., Any]:
    left = iter(range(nth, -1, -1))

    def dies(*words: Any, **more: Any) -> Any:
        dies_now = next(left, 1) == 0
        if dies_now and not after:
            raise Crash
        answer = call(*words, **more)
        if dies_now:
            raise Crash
        return answer

    return dies


def _no_more(*_: Any, **__: Any) -> None:
    raise OSError


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666])
def test_the_umask_takes_nothing_of_the_mode(tmp_path: Path, mode: int):
    before = os.umask(0o077)
    try:
        write_whole(str(tmp_path / "file"), b"x", mode=mode)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path):
    (tmp_path / "victim").write_bytes(b"theirs")
    (tmp_path / "file").symlink_to("victim")
    write_whole(str(tmp_path / "file"), b"ours")
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "victim").read_bytes() == b"theirs"


def test_no_two_writes_have_the_same_name_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.extend(names(tmp_path)))
    for _ in range(20):
        write_whole(str(tmp_path / "file"), b"x")
    beside = {name for name in seen if name != "file"}
    assert len(beside) == 20
    assert all(len(name) == len(LEFT) for name in beside)


def test_a_name_that_is_taken_is_an_error_and_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "victim").write_bytes(b"theirs")
    (tmp_path / LEFT).symlink_to("victim")
    monkeypatch.setattr(os, "urandom", bytes)
    with pytest.raises(OSError):
        write_whole(str(tmp_path / "file"), b"ours")
    assert (tmp_path / "victim").read_bytes() == b"theirs"


def test_a_directory_that_is_swapped_for_a_link_meanwhile_is_not_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    (theirs / "file").write_bytes(b"theirs")

    def swap(*_: object) -> None:
        ours.rename(tmp_path / "moved")
        ours.symlink_to(theirs)

    monkeypatch.setattr(os, "fchmod", swap)
    write_whole(str(ours / "file"), b"ours", lasting=False)
    assert (theirs / "file").read_bytes() == b"theirs"
    assert names(theirs) == ["file"]
    assert (tmp_path / "moved/file").read_bytes() == b"ours"


def test_leftovers_of_a_dead_writer_are_removed_by_the_next_write(tmp_path: Path):
    (tmp_path / LEFT).write_bytes(b"half")
    write_whole(str(tmp_path / "file"), b"x")
    assert names(tmp_path) == ["file"]


def test_a_partial_file_in_use_stays(tmp_path: Path):
    (tmp_path / LEFT).write_bytes(b"half")
    with (tmp_path / LEFT).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        write_whole(str(tmp_path / "file"), b"x")
        assert names(tmp_path) == [LEFT, "file"]
    remove_partials(str(tmp_path))
    assert names(tmp_path) == ["file"]


def test_links_and_directories_named_like_partial_files_stay(tmp_path: Path):
    (tmp_path / "victim").write_bytes(b"theirs")
    (tmp_path / LEFT).symlink_to("victim")
    (tmp_path / LEFT.replace("0", "1")).mkdir()
    os.mkfifo(tmp_path / LEFT.replace("0", "2"))
    before = names(tmp_path)
    remove_partials(str(tmp_path))
    assert names(tmp_path) == before


def test_an_error_names_the_file(tmp_path: Path):
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError) as failed:
        write_whole(str(tmp_path / "file"), b"x")
    assert failed.value.filename == str(tmp_path / "file")
    assert names(tmp_path) == ["file"]


def test_a_link_turns_in_one_moment(tmp_path: Path):
    link_whole(str(tmp_path / "link"), "a")
    link_whole(str(tmp_path / "link"), "b")
    assert os.readlink(tmp_path / "link") == "b"
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError):
        link_whole(str(tmp_path / "directory"), "a")
    assert names(tmp_path) == ["directory", "link"]
