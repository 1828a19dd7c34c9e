"""User namespaces on disk: the ids that belong to the agent, and those of each pod (spec 17.6).

`IdFiles` is the capability, `LocalIdFiles` the real one. Each pod has a record, `pods/<uid>/userns`, in its directory;
the record goes with the directory. It is on the disk when the call that writes it returns: after a crash, two pods with
one range of ids could touch each other's files. Refuses to know what is in a record.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from runtime.files.state_file import write_state

USER = "kubelet"
"""The user whose subordinate ids pods get, if it exists."""
TOOL = "getsubids"
TOOL_S = 10
RECORD = "userns"
LIMIT_BYTES = 64 * 1024


class IdFiles(Protocol):
    def subordinate(self) -> tuple[str | None, str | None]:
        """The subordinate user and group ids of the agent in the system; None if none are configured.

        Raises OSError.
        """

    def records(self) -> Mapping[str, str]:
        """UID of the pod -> its record. Raises OSError."""

    def write(self, uid: str, text: str) -> None:
        """Make the record of a pod that has a directory, all of it or nothing. Raises OSError."""

    def remove(self, uid: str) -> None:
        """The pod has no record afterwards. Raises OSError."""


class LocalIdFiles:
    """Id records on the disk of this machine. `root` is the agent's directory."""

    def __init__(self, root: str) -> None:
        self._pods = Path(root, "pods")

    def subordinate(self) -> tuple[str | None, str | None]:
        try:
            pwd.getpwnam(USER)
        except KeyError:
            return None, None
        tool = shutil.which(TOOL)
        return (None, None) if tool is None else (_asked(tool, USER), _asked(tool, "-g", USER))

    def records(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        try:
            pods = sorted(entry.name for entry in os.scandir(self._pods) if entry.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            return found
        for uid in pods:
            try:
                with (self._pods / uid / RECORD).open("rb") as file:
                    found[uid] = file.read(LIMIT_BYTES).decode("utf-8", "replace")
            except FileNotFoundError:
                continue
        return found

    def write(self, uid: str, text: str) -> None:
        write_state(str(self._pods / uid / RECORD), text.encode())

    def remove(self, uid: str) -> None:
        (self._pods / uid / RECORD).unlink(missing_ok=True)


def _asked(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise TimeoutError(f"{TOOL} does not answer") from late
    return done.stdout if done.returncode == 0 else f"{TOOL} fails: {done.stderr.strip() or done.stdout.strip()}"
