"""What a machine needs here, and how it gets there.

Run as a program with `--install` it brings what is missing with apt (Debian 12, as root). Without, it says what is
missing. Tests that lack a component are skipped with that sentence.
"""

from __future__ import annotations

import os
import subprocess
import sys
from shutil import which

FOR_ROOT = {
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
    "resize2fs": "e2fsprogs",
    "mkswap": "util-linux",
    "unshare": "util-linux",
    "busybox": "busybox-static",
}
"""Command, and Debian's package of it: the root file system and its disks."""
FOR_KIND = {
    "uml": {"linux.uml": "user-mode-linux", "ip": "iproute2"},
    "qemu": {"qemu-system-x86_64": "qemu-system-x86"},
}
"""The same, by the kind of machine."""


def missing(kind: str) -> dict[str, str]:
    """The part of both that is not here."""
    # Root's PATH may lack sbin.
    paths = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    needed = {**FOR_ROOT, **FOR_KIND[kind]}
    return {command: package for command, package in needed.items() if which(command, path=paths) is None}


def complaint(kind: str) -> str | None:
    """Why no machine of this kind can be started here, with what to do; None when one can."""
    if os.geteuid() != 0:
        return "a machine is made of mounts and file systems: run these tests as root"
    gone = missing(kind)
    if not gone:
        return None
    packages = " ".join(sorted(set(gone.values())))
    return f"missing here: {', '.join(sorted(gone))}; run `apt-get install --no-install-recommends {packages}`"


def install(kinds: list[str]) -> None:
    """Bring what is missing, with apt."""
    packages = sorted({package for kind in kinds for package in missing(kind).values()})
    if packages:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-q"], check=True, env=quiet)
        subprocess.run(["apt-get", "install", "-qy", "--no-install-recommends", *packages], check=True, env=quiet)


if __name__ == "__main__":
    asked = [each for each in sys.argv[1:] if each in FOR_KIND] or sorted(FOR_KIND)
    if "--install" in sys.argv[1:]:
        install(asked)
    sys.exit("; ".join(filter(None, map(complaint, asked))) or None)
