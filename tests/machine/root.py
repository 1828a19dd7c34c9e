"""The root file system of the machines: Debian 13, or another release, made once by mmdebstrap.

It is kept outside the repository.

What it is made of decides its name in the cache: packages, guest files, locked releases, kernel modules. A change makes
another one; the old one may be removed by hand. Debian's packages are verified by its archive keys. Their versions
stand in `packages` beside the image, and `ACTORLET_MACHINE_MIRROR` may name a snapshot, where the same ones stay.

The agent's dependencies are in it, in `/opt/prepared`. The agent itself is put in for each session (`with_agent`).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from tests.machine.disks import make_file_system
from tests.real import images

TREE = Path(__file__).parents[2]
GUEST = Path(__file__).parent / "guest"
LOCK = TREE / "deploy" / "requirements.lock"
RELEASE = os.environ.get("ACTORLET_MACHINE_RELEASE") or "trixie"
"""Of the guest: bookworm has containerd 1.6 and Python 3.11, trixie 1.7 and 3.13, forky 2.1 and 3.14."""
MIRROR = os.environ.get("ACTORLET_MACHINE_MIRROR") or "http://deb.debian.org/debian"
CACHE = Path(os.environ.get("ACTORLET_MACHINE_CACHE") or Path.home() / ".cache" / "actorlet" / "machine")
PREPARED = "/opt/prepared"
PYTHON = {"bookworm": "3.11", "trixie": "3.13"}.get(RELEASE, "3.14")
_FORMAT = 2
"""Raised when this module makes something else of the same parts."""
_UML_MODULES = Path("/usr/lib/uml/modules")
_PLATFORMS = ("manylinux2014_x86_64", *(f"manylinux_2_{minor}_x86_64" for minor in range(17, 42)))
_PACKAGES = (
    *("systemd-sysv", "dbus", "udev", "kmod", "iproute2", "iptables", "procps", "util-linux", "mount", "e2fsprogs"),
    *("ca-certificates", "libpam-systemd", "containerd", "runc", "containernetworking-plugins", "busybox-static"),
    *("python3", "python3-venv"),
    # Servers of volumes, on the machine itself, and what mounts these.
    *("nfs-kernel-server", "nfs-common", "open-iscsi", "tgt", "apparmor"),
)
_OF_KIND: dict[str, tuple[str, ...]] = {"uml": (), "qemu": ("linux-image-amd64", "initramfs-tools", "zstd")}
_QUIET = (
    *("getty@tty1.service", "console-getty.service", "apt-daily.timer", "apt-daily-upgrade.timer"),
    *("dpkg-db-backup.timer", "e2scrub_reap.service", "e2scrub_all.timer", "fstrim.timer"),
)
"""Units that wait for people or the network, or only take time."""
_ASLEEP = (
    *("nfs-server.service", "rpcbind.service", "rpcbind.socket", "nfs-client.target", "nfs-blkmap.service"),
    *("iscsid.service", "iscsid.socket", "open-iscsi.service", "tgt.service"),
)
"""Units that a test starts itself."""


class RootError(Exception):
    """A root file system could not be made; the text has the command and its last words."""


@dataclass(frozen=True)
class Root:
    """What a machine starts from: the image of its disk, and for QEMU kernel and first file system."""

    kind: str
    image: Path
    kernel: Path | None = None
    initrd: Path | None = None


def root_for(kind: str) -> Root:
    """Debian for that kind of machine, from the cache or made now. Raises `RootError`."""
    place = CACHE / f"{kind}-{_digest(kind)}"
    with _locked(place.name):
        if not place.is_dir():
            with tempfile.TemporaryDirectory(prefix="new-", dir=CACHE) as new:
                made = Path(new) / "made"
                made.mkdir()
                _make(kind, Path(new) / "tree", made)
                made.rename(place)
    qemu = kind == "qemu"
    return Root(kind, place / "base.img", place / "vmlinuz" if qemu else None, place / "initrd.img" if qemu else None)


@contextmanager
def _locked(what: str) -> Iterator[None]:
    """Two sessions must not make the same thing at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"lock-{what}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def with_agent(root: Root, directory: Path) -> Root:
    """A copy of it, in `directory`, with the agent of this clone, its unit and our images."""
    image = directory / f"{root.kind}-agent.img"
    _run("cp", "--sparse=always", str(root.image), str(image))
    wheel = wheel_of(TREE, directory / "wheel")
    with mounted(image, directory / "mnt") as top:
        shutil.copy(wheel, top / "opt")
        install = f"{PREPARED}/bin/pip install -q --no-index --no-deps --no-compile /opt/{wheel.name}"
        _run("chroot", str(top), *install.split())
        _run("chroot", str(top), f"{PREPARED}/bin/python", "-m", "compileall", "-q", f"{PREPARED}/lib")
        (top / "opt" / wheel.name).unlink()
        (top / "usr/bin/actorlet").symlink_to(f"{PREPARED}/bin/actorlet")
        shutil.copy(TREE / "deploy" / "actorlet.service", top / "etc/systemd/system")
        images.archive([images.build(each) for each in images.RECIPES], top / "opt/images.tar")
    return Root(root.kind, image, root.kernel, root.initrd)


def wheel_of(tree: Path, directory: Path) -> Path:
    """The wheel of a clone."""
    build = ["wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(directory)]
    with tempfile.TemporaryDirectory(prefix="clone-") as copy:
        # Building leaves files in the clone.
        clone = Path(copy) / "clone"
        export_clone(tree, clone)
        _run(sys.executable, "-m", "pip", *build, str(clone))
    return next(directory.glob("*.whl"))


def export_clone(tree: Path, to: Path) -> None:
    """What git would take of a clone as it is now, with what is not committed yet."""
    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = tree / name
        if source.is_file() and not name.startswith(("tests/", "docs/", "benchmarks/")):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to / name)


def wheels() -> Path:
    """A directory with the locked releases for the machine's Python, by digest, and setuptools."""
    # What builds ours: the one that this Python has.
    builder = f"setuptools=={version('setuptools')}"
    digest = hashlib.sha256(LOCK.read_bytes() + builder.encode()).hexdigest()[:16]
    place = CACHE / f"wheels-{_FORMAT}-{PYTHON}-{digest}"
    with _locked("wheels"):
        if place.is_dir():
            return place
        with tempfile.TemporaryDirectory(prefix="new-", dir=CACHE) as new:
            platforms = [f"--platform={each}" for each in _PLATFORMS]
            options = ["--require-hashes", "--only-binary=:all:", f"--python-version={PYTHON}", *platforms]
            _run(
                *(sys.executable, "-m", "pip", "download", "-q", *options, "-r", str(LOCK)),
                *("-d", f"{new}/wheels"),
            )
            _run(*(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", f"{new}/wheels", builder))
            Path(new, "wheels").rename(place)
    return place


@contextmanager
def mounted(image: Path, at: Path) -> Iterator[Path]:
    """The file system of an image, at a directory."""
    at.mkdir(exist_ok=True)
    _run("mount", "-o", "loop", str(image), str(at))
    try:
        yield at
    finally:
        # A machine that began meanwhile has this mount in a namespace of its own: then umount alone writes nothing.
        _run("sync", "-f", str(at))
        _run("umount", str(at))


def _digest(kind: str) -> str:
    parts = [str(_FORMAT), RELEASE, MIRROR, LOCK.read_text(), *_PACKAGES, *_OF_KIND[kind]]
    parts += [path.read_text() for path in sorted(GUEST.iterdir()) if path.is_file()]
    if kind == "uml":
        parts += sorted(path.name for path in _UML_MODULES.iterdir())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _make(kind: str, tree: Path, to: Path) -> None:
    """Make the tree, and of it the image and what else `Root` names."""
    excluded = [f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("doc", "man", "locale")]
    _run(
        *("mmdebstrap", "--quiet", "--mode=root", "--variant=apt", "--dpkgopt=force-unsafe-io", *excluded),
        *('--aptopt=APT::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"'),
        '--aptopt=Acquire::Check-Valid-Until "false"',  # a snapshot is older than that
        *(f"--include={','.join([*_PACKAGES, *_OF_KIND[kind]])}", RELEASE, str(tree), MIRROR),
    )
    _furnish(tree)
    if kind == "uml":
        shutil.copytree(_UML_MODULES, tree / "usr/lib/modules", dirs_exist_ok=True)
    else:
        for name in ("vmlinuz", "initrd.img"):
            shutil.copy(next((tree / "boot").glob(f"{name}-*")), to / name)
    listed = _run("chroot", str(tree), "dpkg-query", "-W")
    (to / "packages").write_text(listed)
    make_file_system(to / "base.img", tree)


def _furnish(tree: Path) -> None:
    """Add what makes it a machine of ours."""
    etc = tree / "etc"
    (etc / "hostname").write_text("machine-1\n")
    (etc / "hosts").write_text("127.0.0.1 localhost\n127.0.1.1 machine-1\n")
    (etc / "resolv.conf").write_text("")
    (etc / "machine-id").write_text("ac70e1e7ac70e1e7ac70e1e7ac70e1e7\n")
    (etc / "fstab").write_text("LABEL=swap none swap noauto 0 0\n")
    (etc / "containerd").mkdir(exist_ok=True)
    shutil.copy(GUEST / "containerd.toml", etc / "containerd/config.toml")
    (etc / "cni/net.d").mkdir(parents=True, exist_ok=True)
    shutil.copy(GUEST / "network.conflist", etc / "cni/net.d/10-pods.conflist")
    shutil.copy(GUEST / "orders.service", etc / "systemd/system")
    (etc / "systemd/system.conf.d").mkdir(exist_ok=True)
    shutil.copy(GUEST / "system.conf", etc / "systemd/system.conf.d/limits.conf")
    (tree / "usr/local/lib").mkdir(parents=True, exist_ok=True)
    shutil.copy(GUEST / "orders.py", tree / "usr/local/lib/orders.py")
    (tree / "var/log/journal").mkdir(parents=True, exist_ok=True)  # so that it outlives a power cut
    _run("systemctl", f"--root={tree}", "enable", "-q", "orders.service")
    _run("systemctl", f"--root={tree}", "mask", "-q", *_QUIET)
    _run("systemctl", f"--root={tree}", "disable", "-q", *_ASLEEP)
    _run("chroot", str(tree), "python3", "-m", "venv", PREPARED)
    shutil.copytree(wheels(), tree / "opt/wheels")
    shutil.copy(LOCK, tree / "opt/requirements.lock")
    locked = "--require-hashes --find-links=/opt/wheels -r /opt/requirements.lock"
    _run("chroot", str(tree), *f"{PREPARED}/bin/pip install -q --no-index {locked}".split())
    shutil.rmtree(tree / "opt/wheels")


def _run(*command: str) -> str:
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        said = (done.stderr + done.stdout)[-3000:]
        raise RootError(f"`{' '.join(command[:6])} ...` ended with {done.returncode}: {said}")
    return done.stdout
