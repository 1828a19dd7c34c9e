"""Mount options of persistent volumes, as they may be given to `mount -o` (issue 20). Pure.

`mount` reads options before the file system does, and some make it do something else. It may mount another directory
(`bind`), follow a helper program, or change the owner of what it mounts (`X-mount.owner`). A volume may only choose
options of its own file system. One word may hold several options, with commas between them, as upstream joins them
anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from runtime.volumes.capability import VolumeFailedError

LENGTH_AT_MOST = 4096
"""Limit of all options together: the kernel takes one page."""

_WORD = re.compile(r"[!-~]+", re.ASCII)
_PROPAGATION = {f"{r}{kind}" for r in ("", "r") for kind in ("shared", "private", "slave", "unbindable")}
_OF_MOUNT = {"bind", "rbind", "move", "remount", "loop", "offset", "sizelimit", "encryption", "helper", "uhelper"}
_REFUSED = frozenset(_PROPAGATION | _OF_MOUNT)
_PREFIXES = ("X-", "verity.")


def joined_options(options: Iterable[str], *, read_only: bool) -> str:
    """The word after `-o`; empty for none. Raises VolumeFailedError for an option that no volume may have."""
    chosen = [*options, *(("ro",) if read_only else ())]
    for option in chosen:
        if not _WORD.fullmatch(option):
            raise VolumeFailedError(f"the mount option {option[:100]!r} must be printable ASCII without blanks")
        for single in option.split(","):
            name = single.partition("=")[0]
            if name in _REFUSED or name.startswith(_PREFIXES):
                raise VolumeFailedError(f"the mount option {single[:100]!r} is not of a file system; leave it out")
    text = ",".join(chosen)
    if len(text) > LENGTH_AT_MOST:
        raise VolumeFailedError(f"the mount options are longer than {LENGTH_AT_MOST} characters together")
    return text
