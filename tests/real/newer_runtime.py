"""Newer containerds and runcs beside those of Debian 12: 1.7 of Debian 13, and containerd 2.

Both put CDI devices into containers. containerd 2 has user namespaces, the policy Strict of groups, and more events.

No stable release of Debian has containerd 2 yet, so its packages come from the next one, which moves. Hence neither
`tox` nor CI installs them: `tox -e newer` does, and runs the tests that need them (marked `newer_runtime`).

The packages of each are unpacked into one directory of this machine and installed nowhere. containerd itself runs on
the C library of Debian 12; runc does not, so the library lies beside it and runc is told so (patchelf).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

_OWN_SUITE = "bookworm"
_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_PACKAGES = ("containerd", "runc", "libc6", "libseccomp2")
_NEEDED = ("containerd", "containerd-shim-runc-v2", "ctr", "runc")
_SETTINGS = """
Dir::Etc::sourcelist "{here}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "{here}/lists";
Dir::Cache "{here}/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
"""


class NewerRuntime(NamedTuple):
    """The containerd of a release of Debian, and the directory that holds it once `install` has run."""

    suite: str
    place: Path

    @property
    def programs(self) -> Path:
        """Where containerd, its shim, ctr and runc are."""
        return self.place / "bin"

    def complaint(self) -> str | None:
        """What is missing, in a sentence with what to do; None when nothing is."""
        gone = [name for name in _NEEDED if not os.access(self.programs / name, os.X_OK)]
        if not gone:
            return None
        way = f"run `{Path(sys.executable).name} -m tests.real.newer_runtime` or `tox -e newer`, which does it"
        return f"missing in {self.programs}: {', '.join(gone)}; {way}"

    def install(self) -> None:
        """Bring it, with apt; patchelf has to be on the machine. All of it appears at once, or nothing."""
        if self.complaint() is None:
            return
        with tempfile.TemporaryDirectory(prefix="actorlet-newer-") as name:
            here = Path(name)
            _fetch(here, self.suite)
            for package in here.glob("*.deb"):
                _run("dpkg-deb", "-x", str(package), str(here / "unpacked"))
            shutil.rmtree(self.place, ignore_errors=True)
            made = self.place.with_name(f"{self.place.name}.{os.getpid()}")
            _lay_out(here / "unpacked", made, self.place / "lib")
            made.rename(self.place)


_PLACE = Path("/var/cache/actorlet-tests")
CONTAINERD_1_7 = NewerRuntime("trixie", _PLACE / "containerd-1.7")
CONTAINERD_2 = NewerRuntime("forky", _PLACE / "newer-runtime")


def _fetch(here: Path, suite: str) -> None:
    """The packages of the other suite, with lists of their own: those of the machine stay as they are."""
    (here / "lists" / "partial").mkdir(parents=True)
    (here / "cache" / "archives" / "partial").mkdir(parents=True)
    (here / "sources.list").write_text(f"deb [signed-by={_KEYS}] {_mirror()} {suite} main\n")
    settings = here / "apt.conf"
    settings.write_text(_SETTINGS.format(here=here))
    _run("apt-get", "-c", str(settings), "update", "-q")
    _run("apt-get", "-c", str(settings), "download", *(f"{each}/{suite}" for each in _PACKAGES), cwd=here)


def _mirror() -> str:
    """Where this machine has its own Debian from."""
    words = ("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages")
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    own = [line.split(" ")[1] for line in said.splitlines() if line.startswith(f"{_OWN_SUITE} ")]
    assert own, f"apt knows no archive of {_OWN_SUITE}: {said}"
    return own[0]


def _lay_out(unpacked: Path, place: Path, final: Path) -> None:
    """Programs to `bin`, libraries to `lib`; runc finds those in `final`, where they will be."""
    programs, libraries = place / "bin", place / "lib"
    for directory in (programs, libraries):
        directory.mkdir(parents=True, exist_ok=True)
    for name in _NEEDED:
        shutil.copy(next(unpacked.glob(f"usr/*bin/{name}")), programs)
    for library in unpacked.glob("usr/lib/*-linux-gnu/*.so*"):
        if library.is_file():
            shutil.copy(library, libraries)
    (loader,) = libraries.glob("ld-linux*")
    _run("patchelf", "--set-interpreter", str(final / loader.name), "--set-rpath", str(final), str(programs / "runc"))


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


if __name__ == "__main__":
    for each in (CONTAINERD_1_7, CONTAINERD_2):
        each.install()
    sys.exit(CONTAINERD_1_7.complaint() or CONTAINERD_2.complaint())
