"""hostPath: a path of the host, checked or made as its type says, and never owned (spec 8.7).

Nothing is ever removed, and no mode or owner of what exists is changed: it is not ours. Without a type nothing is
checked. A pod may be able to write to a directory on another pod's path. So new directories are made without following
links, and a link that appears meanwhile is refused.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable

from config.objects import Pod
from runtime.files.directories import Pause, make_directories, make_file, no_pause
from runtime.volumes.capability import Say, VolumeFailedError, VolumePlace, VolumePlugin, VolumeSpec

_CHECKS: dict[str, tuple[Callable[[int], bool], str]] = {
    "Directory": (stat.S_ISDIR, "a directory"),
    "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
    "File": (stat.S_ISREG, "a file"),
    "FileOrCreate": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


class HostPathPlugin(VolumePlugin):
    """See the module. `pause`: called before each step, for tests that interfere."""

    source = "host_path"

    def __init__(self, pause: Pause = no_pause) -> None:
        self._pause = pause

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        source = (spec.volume if spec.persistent is None else spec.persistent.spec).host_path
        path = source.path if source is not None else ""
        kind = (source.type if source is not None else None) or ""
        if not path:
            raise VolumeFailedError("the hostPath has no path")
        if spec.block:
            raise VolumeFailedError("a hostPath cannot be a device; use a local volume", "FailedMapVolume")
        if not kind:
            return path
        if kind not in _CHECKS:
            raise VolumeFailedError(f"{kind} is not a type of a hostPath; use one of {', '.join(_CHECKS)}")
        _make(path, kind, self._pause)
        check, what = _CHECKS[kind]
        refusal = f"hostPath type check failed: {path} is not {what}"
        try:
            mode = os.stat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise VolumeFailedError(f"{refusal}; there is nothing at that path") from None
        if not check(mode):
            raise VolumeFailedError(refusal)
        return path


def _make(path: str, kind: str, pause: Pause) -> None:
    """Make what is missing, for the types that say so; the directory of a file must be there."""
    if not kind.endswith("OrCreate") or os.path.lexists(path):
        return
    with contextlib.suppress(FileExistsError):  # somebody was faster; it is checked like anything else
        if kind == "DirectoryOrCreate":
            make_directories(path, 0o755, pause=pause)
        else:
            make_file(path, 0o644, pause=pause)
    if os.path.islink(path):
        raise VolumeFailedError(f"a link was put at {path} while it was made; it is not followed")
