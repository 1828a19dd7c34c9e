"""Open files and sockets of a container, counted over its processes.

The links are read at most once a minute.
"""

from __future__ import annotations

from pathlib import Path

from runtime.stats.open_files import LINKS_AT_MOST, LINKS_LAST_NS, OpenFiles


def opened(root: Path, pid: int, *links: str) -> None:
    directory = root / f"proc/{pid}/fd"
    directory.mkdir(parents=True, exist_ok=True)
    for link in links:
        (directory / str(len(list(directory.iterdir())))).symlink_to(link)


def test_files_are_counted_each_time_and_sockets_once_a_minute(tmp_path: Path) -> None:
    opened(tmp_path, 7, "socket:[1]", "pipe:[2]")
    files = OpenFiles(str(tmp_path))
    assert files.of(7, ("7", "8"), 0) == (2, 1), "process 8 is gone"
    opened(tmp_path, 7, "socket:[3]")
    assert files.of(7, ("7",), LINKS_LAST_NS - 1) == (3, 1)
    assert files.of(7, ("7",), LINKS_LAST_NS) == (3, 2)


def test_a_container_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    opened(tmp_path, 7, "socket:[1]")
    files = OpenFiles(str(tmp_path))
    files.of(7, ("7",), 0)
    files.keep(())
    opened(tmp_path, 7, "socket:[2]")
    assert files.of(7, ("7",), 1) == (2, 2), "another container with the same process id"


def test_a_process_with_very_many_open_files_has_no_socket_count(tmp_path: Path) -> None:
    directory = tmp_path / "proc/7/fd"
    directory.mkdir(parents=True)
    for number in range(LINKS_AT_MOST + 1):
        (directory / str(number)).touch()
    assert OpenFiles(str(tmp_path)).of(7, ("7",), 0) == (LINKS_AT_MOST + 1, None)


def test_a_process_that_is_gone_has_no_numbers(tmp_path: Path) -> None:
    assert OpenFiles(str(tmp_path)).of(7, ("7",), 0) == (None, None)
