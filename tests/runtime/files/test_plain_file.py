"""Opening plain files where a container may have put something else: nothing else is ever opened."""

from __future__ import annotations

import ctypes
import os
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from runtime.files.beneath import open_beneath
from runtime.files.plain_file import open_plain
from runtime.logs.files import LocalLogFiles
from runtime.logs.pod_files import LocalPodFiles
from runtime.logs.source import LocalLogSource

FILES = LocalPodFiles()
IN_OPEN = 0x20
ID = "4f2c" * 16


@contextmanager
def opened(path: Path) -> Iterator[Callable[[], int]]:
    """How often the kernel saw a file of this name opened meanwhile; O_PATH does not count."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    assert watch >= 0
    try:
        assert libc.inotify_add_watch(watch, os.fsencode(path), IN_OPEN) >= 0

        def count() -> int:
            try:
                return len(os.read(watch, 65536)) // 16
            except BlockingIOError:
                return 0

        yield count
    finally:
        os.close(watch)


def _device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))  # /dev/full
    except PermissionError:
        os.mkfifo(path)  # only root makes devices; a pipe is the next best


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


MADE: dict[str, Callable[[Path], None]] = {"pipe": os.mkfifo, "device": _device, "socket": _socket}
READERS: dict[str, Callable[[Path], object]] = {
    "plain file": lambda path: open_plain(str(path)),
    "termination message": lambda path: FILES.read_termination_message(str(path), 100),
    "tail of a log": lambda path: FILES.read_log_tail(str(path), ID, 10, 100),
    "file of a volume": lambda path: FILES.read_volume_file(str(path.parent), path.name, 100),
    "kubectl logs": lambda path: LocalLogSource().open(str(path)),
    "rotation": lambda path: LocalLogFiles().compress(str(path)),
    "logs of the node": lambda path: open_beneath(str(path.parent), path.name),
}


@pytest.mark.parametrize("kind", MADE)
@pytest.mark.parametrize("reader", READERS)
def test_devices_pipes_and_links_are_never_opened(tmp_path: Path, kind: str, reader: str) -> None:
    """A container may make devices in its volumes. Opening that of a watchdog restarts the machine."""
    path = tmp_path / "0.log"
    MADE[kind](path)
    with opened(path) as count:
        with suppress(OSError):
            assert READERS[reader](path) == ""
        assert count() == 0


def test_a_plain_file_is_opened_and_a_link_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    with opened(path) as count, os.fdopen(open_plain(str(path))) as file:
        assert (file.read(), count()) == ("text", 1)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(OSError, match="link"):
        open_plain(str(tmp_path / "link"))
    with pytest.raises(FileNotFoundError):
        open_plain(str(tmp_path / "nothing"))
