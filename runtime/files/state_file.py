"""The state that the agent keeps on disk for its next life: the one way to read and write it.

Rules for every such file (docs/reference/state-files.md lists them):

- It is written whole (`whole_file`). A crash leaves the content before or the content after.
- It is a JSON object. `version` is the version of its meaning; a file without one is of version 1. An agent ignores
  fields that it does not know. So a new field needs no new version, and the agent before reads the file. The version
  grows only when an older agent would misunderstand the file.
- A file that cannot be used never stops the agent: it is torn, empty, huge, of a newer version, or no plain file. It is
  moved aside, to `<name>.unreadable` or where its owner says, and `UnreadableStateError` says why. The agent finds the
  truth by looking: at the runtime, the API server and the disk.

Calls may hang on a sick disk: actors run them on a lane.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TypeVar

import msgspec

from runtime.files.directories import make_directories
from runtime.files.tree import remove_tree
from runtime.files.whole_file import write_whole

T = TypeVar("T")

VERSION = 1
UNREADABLE = ".unreadable"
LIMIT_BYTES = 64 * 1024 * 1024
"""The size of the largest state file.

A larger one is not ours, and reading it could use up the memory.
"""

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UnreadableStateError(ValueError):
    """The file is of no use and is not in the way any more; the text names it and says why."""


class _Header(msgspec.Struct):
    version: int = VERSION


def read_state(
    path: str, decode: Callable[[bytes], T], limit_bytes: int = LIMIT_BYTES, *, aside: str = "", lasting: bool = True
) -> T | None:
    """Read a state file; None when there is no file.

    Raises UnreadableStateError, and OSError for a disk error.

    `aside`: the path to which an unreadable file is moved; empty: `<name>.unreadable` beside it. `lasting`: as it was
    written. A power cut leaves an empty file of one that was not to last: then it is none.
    """
    try:
        content = _content(path, limit_bytes)
        return None if not content and not lasting else decoded(content, decode)
    except FileNotFoundError:
        return None
    except ValueError as fault:
        aside = aside or path + UNREADABLE
        try:
            move_aside(path, aside)
        except OSError as failure:
            raise UnreadableStateError(f"{path}: {fault}; it cannot be moved away: {failure.strerror}") from None
        raise UnreadableStateError(f"{path}: {fault}; it is kept as {aside}") from None


def move_aside(path: str, aside: str) -> None:
    """Move an unusable file aside; it replaces an earlier one there. Raises OSError."""
    make_directories(os.path.dirname(aside) or ".", 0o700)
    remove_tree(aside)
    os.rename(path, aside)


def write_state(path: str, content: bytes, *, lasting: bool = True) -> None:
    """Replace a state file; its directory is there. `lasting`: as of `write_whole`. Raises OSError."""
    write_whole(path, content, lasting=lasting)


_decode_header = msgspec.json.Decoder(_Header).decode


def decoded(content: bytes, decode: Callable[[bytes], T]) -> T:
    """The content as `decode` reads it. Pure. Raises ValueError with the reason."""
    if not content:
        raise ValueError("it is empty")
    try:
        version = _decode_header(content).version
        if version > VERSION:
            raise ValueError(f"it is of version {version}, and this agent reads versions up to {VERSION}")
        return decode(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except (msgspec.MsgspecError, UnicodeError) as fault:
        raise ValueError(f"it cannot be read: {fault}") from None


def _content(path: str, limit_bytes: int) -> bytes:
    """Read the content. Raises OSError, and ValueError for a file that is not ours."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise ValueError("it is not a plain file")
    with os.fdopen(os.open(path, _READ), "rb") as file:
        content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise ValueError(f"it is larger than {limit_bytes} bytes")
    return content
