"""Errors of files that commands write.

They name the file and the reason, without `[Errno 2]`.
"""

from __future__ import annotations

import os


def why(error: Exception) -> str:
    """`FILE: reason` for a failed system call, else the text of the error.

    The other errors have texts that are written for people.
    """
    if not isinstance(error, OSError) or error.errno is None or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{os.fsdecode(error.filename)}: {error.strerror}"


def unwritable(directory: str) -> str | None:
    """Why no file can be made in `directory`; None when one can. Leaves nothing behind."""
    import tempfile  # slow to import, and seldom asked

    try:
        with tempfile.TemporaryFile(dir=directory):
            return None
    except OSError as error:
        return f"{directory}: {error.strerror or error}"
