"""What the tests on a real runtime need on the machine, and how it gets there.

Run as a program with `--install` it brings what is missing with apt (Debian 12, as root); the `real` environment of tox
does that first. Without, it says what is missing and where it comes from. A missing component is a failure, never a
skipped test. All of it comes from Debian 12, a stable release; `tests.real.newer_runtime` is apart.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import which

CNI_DIRECTORY = Path("/usr/lib/cni")

# Path of a file or command, and the Debian package that holds it.
NEEDED = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "buildah": "buildah",
    "busybox": "busybox-static",
    "docker-registry": "docker-registry",
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "chromium": "chromium",
    "dbus-daemon": "dbus-daemon",
    "ip": "iproute2",
    "iptables": "iptables",
    "patchelf": "patchelf",
    "systemd-analyze": "systemd",
    "/usr/lib/python3.11/ensurepip/__init__.py": "python3-venv",
    str(CNI_DIRECTORY / "bridge"): "containernetworking-plugins",
    str(CNI_DIRECTORY / "host-local"): "containernetworking-plugins",
    str(CNI_DIRECTORY / "loopback"): "containernetworking-plugins",
    str(CNI_DIRECTORY / "portmap"): "containernetworking-plugins",
}


def missing() -> dict[str, str]:
    """The part of `NEEDED` that is not here."""
    # Root's PATH may lack sbin, where runc, ip and iptables live.
    paths = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    gone = (need for need in NEEDED if which(need, path=paths) is None and not Path(need).is_file())
    return {need: NEEDED[need] for need in gone}


def complaint() -> str | None:
    """Why the tests cannot run here, in a sentence with what to do; None when they can."""
    if os.geteuid() != 0:
        return "the tests on a real runtime make containers: run them as root"
    gone = missing()
    if gone:
        packages = " ".join(sorted(set(gone.values())))
        return (
            f"missing here: {', '.join(sorted(gone))}; run `apt-get install {packages}` or `tox -e real`, which does it"
        )
    return None


def install() -> None:
    """Bring what is missing, with apt."""
    packages = sorted(set(missing().values()))
    if packages:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-q"], check=True, env=quiet)
        subprocess.run(["apt-get", "install", "-qy", "--no-install-recommends", *packages], check=True, env=quiet)


if __name__ == "__main__":
    if "--install" in sys.argv[1:]:
        install()
    sys.exit(complaint())
