"""The kernel's table of mounts, `/proc/self/mountinfo`.

Reading it touches no mount, so it never hangs. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MOUNT_TABLE = "/proc/self/mountinfo"

_OCTAL = re.compile(r"\\([0-3][0-7]{2})")


def mount_kinds(text: str) -> Mapping[str, str]:
    """Mount point -> type of its file system, such as `nfs4`; of the last mount where there are several."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > 4 and "-" in fields[5:-1]:
            found[_unescaped(fields[4])] = fields[fields.index("-", 5) + 1]
    return found


def _unescaped(point: str) -> str:
    return _OCTAL.sub(lambda match: chr(int(match.group(1), 8)), point)
