"""SELinux of the machine: whether it is on, and the label of files of containers (KEP-1710).

Reading never fails. The root of the file system is a parameter, so any tree of files can be a machine.
"""

from __future__ import annotations

import os
import re

import msgspec

from runtime.files.text_file import text_or_empty

_POLICY = re.compile(r"SELINUXTYPE=([A-Za-z0-9_-]+)", re.ASCII)
_FILES = re.compile(r'file = "([^":]+):([^":]+):([^":]+):([^"]+)"')
DEFAULT_POLICY = "targeted"


class FileLabel(msgspec.Struct, frozen=True):
    """The label of files of containers, where nothing else is said."""

    user: str
    role: str
    type: str
    level: str


def read_file_label(root: str = "/") -> FileLabel | None:
    """The node's label for files of containers.

    None where SELinux is off or its policy knows no containers.
    """
    if not os.path.exists(os.path.join(root, "sys/fs/selinux/enforce")):
        return None
    lines = text_or_empty(os.path.join(root, "etc/selinux/config")).splitlines()
    policy = next((found[1] for line in lines if (found := _POLICY.fullmatch(line.strip()))), DEFAULT_POLICY)
    contexts = text_or_empty(os.path.join(root, "etc/selinux", policy, "contexts/lxc_contexts"))
    found = next(filter(None, (_FILES.fullmatch(line.strip()) for line in contexts.splitlines())), None)
    return FileLabel(found[1], found[2], found[3], found[4]) if found is not None else None
