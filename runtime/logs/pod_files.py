"""The small files of a running container, and the node's files that go into a pod's.

A container has a termination message, a log directory, a link to its log, and a hosts file.

`PodFiles` is the capability, `LocalPodFiles` the real one. Every call is short disk work that may hang on a sick disk:
actors run it on a lane. Paths are given, never made up here. Reading never fails for a file that is not there: the
container may simply not have written it. What a container wrote is not trusted to be small, or text.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import msgspec

from runtime.files.directories import make_directories
from runtime.files.plain_file import open_plain
from runtime.files.state_file import read_state, write_state
from runtime.files.whole_file import link_whole
from runtime.logs.lines import line_of
from runtime.logs.source import find_log, open_log

_LOG_NAME = re.compile(r"([0-9]{1,9})\.log(\..*)?", re.DOTALL)
T = TypeVar("T")

LOGS_MODE = 0o750
"""Mode of the directory with the logs of all pods."""

_TAIL_CHUNK_BYTES = 8192
_TAIL_BYTES_AT_MOST = 1 << 20
"""Limit on reading for the last lines: a container may write an endless line."""


class StartFiles(msgspec.Struct, frozen=True):
    """The files that must exist on the host before a container is made.

    `attempt` None: one after the newest of its logs, which is the highest N of `N.log`, rotated ones included (spec
    3.7). `message`: the path of the termination message of an attempt, or empty. `hosts`: path and text of the pod's
    hosts file, or None.
    """

    log_directory: str
    message: Callable[[int], str]
    attempt: int | None = None
    hosts: tuple[str, str] | None = None


class PodFiles(Protocol):
    def prepare_container(self, wanted: StartFiles) -> int:
        """Make the directories and files of a container's start, and return the attempt.

        The log directory has mode 0755 (that of all pods 0750), the termination file 0666 and no content. Missing
        parents are made. The hosts file gets its text (0644) in place, since containers may have it mounted. Raises
        OSError.
        """

    def read_termination_message(self, path: str, limit_bytes: int) -> str:
        """The last `limit_bytes` of the file as text; empty when it is missing."""

    def read_log_tail(self, path: str, container_id: str, limit_lines: int, limit_bytes: int) -> str:
        """The end of a container's log, without times and stream names; empty where it may not be read."""

    def read_volume_file(self, directory: str, path: str, limit_bytes: int) -> str | None:
        """The text of a file below a volume's directory, which containers may write to.

        None when it is not there.

        No link is followed, and only a plain file of that size at most is read. Raises OSError for anything else.
        """

    def link_log(self, link: str, target: str) -> None:
        """Make (or turn) the symlink `link` to point to `target`. OSError."""

    def read_node_file(self, path: str, limit_bytes: int) -> str:
        """The text of a file of the node, such as /etc/resolv.conf. Raises OSError, also where it is larger."""

    def read_record(self, path: str, decode: Callable[[bytes], T], limit_bytes: int) -> T | None:
        """Read what `write_record` wrote; None if there is none, or a power cut has emptied it.

        Raises OSError, and UnreadableStateError for an unusable file, which is moved aside.
        """

    def write_record(self, path: str, text: str) -> None:
        """Give a state file of the agent that text (0600), all of it or nothing; its directory is there.

        It may be gone after a power cut (`runtime.files.state_file`). Raises OSError.
        """


class LocalPodFiles:
    """Pod files on the disk of this machine."""

    def prepare_container(self, wanted: StartFiles) -> int:
        make_directories(os.path.dirname(os.path.dirname(wanted.log_directory)), LOGS_MODE)
        make_directories(wanted.log_directory, 0o755)
        attempt = wanted.attempt
        if attempt is None:
            attempt = attempt_after(os.listdir(wanted.log_directory))
        if path := wanted.message(attempt):
            _make_writable(path)
        if wanted.hosts is not None:
            _write_hosts(*wanted.hosts)
        return attempt

    def read_termination_message(self, path: str, limit_bytes: int) -> str:
        try:
            descriptor = open_plain(path)  # the container may have put anything there
        except OSError:
            return ""
        try:
            size = os.fstat(descriptor).st_size
            return os.pread(descriptor, limit_bytes, max(0, size - limit_bytes)).decode("utf-8", "replace")
        except OSError:
            return ""
        finally:
            os.close(descriptor)

    def read_log_tail(self, path: str, container_id: str, limit_lines: int, limit_bytes: int) -> str:
        try:
            descriptor = open_log(find_log(path, container_id))
        except OSError:
            return ""
        try:
            lines = _last_lines(descriptor, limit_lines)
        except OSError:
            return ""
        finally:
            os.close(descriptor)
        text = b"".join(map(content_of, lines))
        return text[-limit_bytes:].decode("utf-8", "replace")

    def read_volume_file(self, directory: str, path: str, limit_bytes: int) -> str | None:
        steps = path.split("/")
        if not all(steps) or "." in steps or ".." in steps:
            raise OSError(errno.EINVAL, "the path leads out of the volume", path)
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            for step in steps[:-1]:
                descriptor = _step_into(descriptor, step, os.O_DIRECTORY)
            try:
                file_descriptor = open_plain(steps[-1], dir_fd=descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            return None
        with os.fdopen(file_descriptor, "rb") as file:
            data = file.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {limit_bytes} bytes", path)
        return data.decode("utf-8", "replace")

    def link_log(self, link: str, target: str) -> None:
        make_directories(os.path.dirname(link), 0o755)
        link_whole(link, target)

    def read_node_file(self, path: str, limit_bytes: int) -> str:
        with open(path, "rb") as file:
            data = file.read(limit_bytes + 1)
        if len(data) > limit_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {limit_bytes} bytes", path)
        return data.decode("utf-8", "replace")

    def read_record(self, path: str, decode: Callable[[bytes], T], limit_bytes: int) -> T | None:
        return read_state(path, decode, limit_bytes, lasting=False)

    def write_record(self, path: str, text: str) -> None:
        write_state(path, text.encode(), lasting=False)  # the record is useless after a reboot


def attempt_after(names: Iterable[str]) -> int:
    """The attempt after the newest log in `names`; 0 when none is a log."""
    return max((int(match[1]) + 1 for name in names if (match := _LOG_NAME.fullmatch(name))), default=0)


def _make_writable(path: str) -> None:
    make_directories(os.path.dirname(path), 0o750)
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        os.fchmod(descriptor, 0o666)  # the umask must not keep the container's user out
    finally:
        os.close(descriptor)


def _write_hosts(path: str, text: str) -> None:
    make_directories(os.path.dirname(path), 0o750)
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, 0o644)  # the umask must not keep the container's user out
        file.write(text.encode())


def _step_into(directory: int, name: str, flags: int) -> int:
    """Open what is called `name` there, unless it is a link; the directory is closed."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=directory)
    finally:
        os.close(directory)


def _last_lines(descriptor: int, limit_lines: int) -> list[bytes]:
    """The last lines of a file, read from its end."""
    end = os.fstat(descriptor).st_size
    data = b""
    while end > 0 and data.count(b"\n") <= limit_lines and len(data) < _TAIL_BYTES_AT_MOST:
        start = max(0, end - _TAIL_CHUNK_BYTES)
        data = os.pread(descriptor, end - start, start) + data
        end = start
    lines = data.split(b"\n")  # `splitlines` would also break at what a container writes, such as a carriage return
    ended = [line + b"\n" for line in lines[:-1]]
    return [*ended, *filter(None, lines[-1:])][-limit_lines:]


def content_of(line: bytes) -> bytes:
    """The container's text in one line of its log; a partial line has no end of line."""
    read = line_of(line.rstrip(b"\n"))
    return b"" if read is None else read.text
