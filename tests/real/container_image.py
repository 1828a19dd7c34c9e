"""The image of `deploy/Containerfile`, built here with buildah, without any registry.

The base is made of this machine's own Debian packages: Python with its venv, and what a shell needs. Wheels come from
PyPI by `pip download`, before the build. buildah runs the steps in a chroot (`--isolation chroot`), so it needs neither
a runtime nor CAP_SYS_RESOURCE. It keeps all its files in one directory (`vfs`), which works on any file system.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASE = "localhost/debian-of-this-machine:1"
PACKAGES = (
    "python3-venv",
    "dash",
    "coreutils",
    "sed",
    "grep",
    "ca-certificates",
    "base-files",
    "libc-bin",
    "libstdc++6",
)
_LEFT_OUT = re.compile(
    "^/usr/share/(doc|man|locale|info|lintian|zoneinfo|perl)|^/usr/lib/python3/dist-packages|/__pycache__/"
)
_MADE_AT_INSTALLATION = ("/etc/passwd", "/etc/group", "/etc/ssl/certs/ca-certificates.crt", "/etc/ld.so.cache")
_MERGED = ("bin", "sbin", "lib", "lib64")
PATIENCE_S = 1200


class Builder:
    """buildah with a store of its own in `directory`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        store = ("--root", directory / "store", "--runroot", directory / "run", "--storage-driver", "vfs")
        self._buildah = ("buildah", *map(str, store))

    def build(self, name: str) -> Path:
        """The image of `deploy/Containerfile` under this name, as an OCI archive."""
        self._build_base()
        context = self._directory / "context"
        (context / "deploy").mkdir(parents=True)
        (context / "deploy" / "requirements.lock").write_bytes((ROOT / "deploy/requirements.lock").read_bytes())
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
        dist = context / "dist"
        _run(*pip, "download", "--require-hashes", "-r", ROOT / "deploy/requirements.lock", "-d", dist)
        self._build_wheel(dist)
        self._run(
            *("bud", "--isolation", "chroot", "--pull=never", "--tag", name, "--file", ROOT / "deploy/Containerfile"),
            *("--build-arg", f"BASE={BASE}", "--build-arg", "PIP_NO_INDEX=1", context),
        )
        archive = self._directory / "image.tar"
        self._run("push", name, f"oci-archive:{archive}:{name}")
        return archive

    def _build_base(self) -> None:
        layer = self._directory / "base.tar"
        with tarfile.open(layer, "w") as tar:
            for path in sorted(_files_of(_with_what_they_need(PACKAGES))):
                tar.add(path, path.lstrip("/"), recursive=False)
        container = self._run("from", "scratch").strip()
        self._run("add", container, layer, "/")
        self._run("commit", "--rm", container, BASE)

    def _build_wheel(self, dist: Path) -> None:
        """Build from the files that git knows, so that nothing else gets in."""
        tree = self._directory / "tree"
        tree.mkdir()
        tracked = _run("git", "-C", ROOT, "ls-files", "-z").split("\0")
        for name in filter(None, tracked):
            if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/", "benchmarks/")):
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_bytes((ROOT / name).read_bytes())
        program = f"from setuptools import build_meta; build_meta.build_wheel({str(dist)!r})"
        _run(sys.executable, "-c", program, cwd=tree)

    def _run(self, *words: str | Path) -> str:
        return _run(*self._buildah, *words)


def _run(*words: str | Path, cwd: Path = ROOT) -> str:
    """Run a command that has to succeed; returns what it prints."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    done = subprocess.run(words, cwd=cwd, env=own, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def _with_what_they_need(packages: tuple[str, ...]) -> set[str]:
    """The packages and their dependencies, as far as they are installed here."""
    listed = _run("dpkg-query", "--show", "--showformat", "${Package}\t${Pre-Depends},${Depends}\n")
    needs = dict(line.split("\t") for line in listed.splitlines())
    found: set[str] = set()
    waiting = list(packages)
    while waiting:
        package = waiting.pop()
        if package not in found:
            found.add(package)
            for need in needs[package].split(","):
                alternatives = (re.split("[ :(]", each.strip())[0] for each in need.split("|"))
                waiting += [each for each in alternatives if each in needs][:1]
    return found


def _files_of(packages: set[str]) -> set[str]:
    """Their files under the paths that they really have: /bin is a link to /usr/bin."""
    listed = _run("dpkg-query", "--listfiles", *sorted(packages)).splitlines()
    kept = (line for line in listed if line.startswith("/") and not _LEFT_OUT.search(line))
    found = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) for path in kept}
    found |= {*_MADE_AT_INSTALLATION, *(f"/{name}" for name in _MERGED)}
    return {path for path in found if os.path.lexists(path) and path != "/"}
