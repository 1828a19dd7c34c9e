"""hostPath: a path of the host, checked or made as its type says, and never owned (spec 8.7).

Nothing is ever removed, and no mode or owner of what exists is changed: it is not ours. With no type nothing is
looked at at all.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from config.objects import Pod
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
    """See the module."""

    source = "host_path"

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
            raise VolumeFailedError(f"{kind} is no type of a hostPath; use one of {', '.join(_CHECKS)}")
        _make(path, kind)
        check, what = _CHECKS[kind]
        refusal = f"hostPath type check failed: {path} is not {what}"
        try:
            mode = os.stat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise VolumeFailedError(f"{refusal}; there is nothing at that path") from None
        if not check(mode):
            raise VolumeFailedError(refusal)
        return path


def _make(path: str, kind: str) -> None:
    """Make what is missing, for the types that say so; the directory of a file must be there."""
    if os.path.lexists(path):
        return
    if kind == "DirectoryOrCreate":
        os.makedirs(path, mode=0o755, exist_ok=True)
        os.chmod(path, 0o755)
    elif kind == "FileOrCreate":
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
        os.fchmod(descriptor, 0o644)
        os.close(descriptor)
