"""SCSI disks in the kernel's files, read and written: `/sys` and `/dev`.

The root of the file system is a parameter, so any tree of files can be a machine. Devices are named as on the machine:
`/dev/sdb`, `/dev/dm-1`. An unreadable file counts as missing. Writing raises OSError.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import re
from collections.abc import Iterator, Mapping

from runtime.files.text_file import text_or_empty

BY_PATH = "/dev/disk/by-path"
BY_ID = "/dev/disk/by-id"
_FLUSH_BUFFERS = 0x1261
_HOST = re.compile(r"host([0-9]+)")


class ScsiDisks:
    """See the module."""

    def __init__(self, root: str = "/") -> None:
        self._root = root.rstrip("/")

    # --- devices ----------------------------------------------------------------------------------------------------

    def named(self, directory: str, link: str, *, any_bus: bool = False) -> str:
        """The device of the link of that name; empty without one.

        `any_bus`: a PCI bus may stand before the name.
        """
        try:
            names = sorted(os.listdir(self._at(directory)))
        except OSError:
            return ""
        fits = [
            name
            for name in names
            if name == link or (any_bus and name.startswith("pci-") and name.endswith(f"-{link}"))
        ]
        return self._real(f"{directory}/{fits[0]}") if fits else ""

    def multipath_of(self, device: str) -> str:
        """The device of all paths that the disk is one of; empty when it is none."""
        name = os.path.basename(device)
        for path in sorted(glob.glob(f"{self._escaped}/sys/block/dm-*/slaves/{glob.escape(name)}")):
            return f"/dev/{path.split('/')[-3]}"
        return ""

    def paths_of(self, multipath: str) -> tuple[str, ...]:
        """The disks below a device of several paths."""
        found = glob.glob(f"{self._escaped}/sys/block/{os.path.basename(multipath)}/slaves/*")
        return tuple(f"/dev/{os.path.basename(each)}" for each in sorted(found))

    def is_multipath(self, device: str) -> bool:
        return os.path.basename(device).startswith("dm-")

    def flush(self, device: str) -> None:
        """Have the kernel write what it holds of the device.

        A device that is gone or sick has nothing to write.
        """
        with contextlib.suppress(OSError):
            descriptor = os.open(self._at(device), os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.ioctl(descriptor, _FLUSH_BUFFERS, 0)
            finally:
                os.close(descriptor)

    def delete(self, device: str) -> None:
        """Take the disk off the node; one that is gone is no error."""
        with contextlib.suppress(FileNotFoundError):
            self._write(f"/sys/block/{os.path.basename(device)}/device/delete", "1")

    # --- hosts ------------------------------------------------------------------------------------------------------

    def scan(self, host: int, lun: int) -> None:
        """Look for one disk at a host. Nothing else behind it becomes a disk of the node."""
        self._write(f"/sys/class/scsi_host/host{host}/scan", f"0 0 {lun}")

    def scan_all(self) -> None:
        """Look for new disks everywhere."""
        for path in sorted(glob.glob(f"{self._escaped}/sys/class/scsi_host/*/scan")):
            with contextlib.suppress(OSError):
                self._write(path.removeprefix(self._root), "- - -")

    def has_fibre_channel(self) -> bool:
        return bool(glob.glob(f"{self._escaped}/sys/class/fc_host/*"))

    def iscsi_hosts(self, iqn: str) -> Mapping[str, int]:
        """Portal (`192.0.2.7:3260`) -> number of the host of its session with this target."""
        found: dict[str, int] = {}
        for host, session in self._sessions(iqn):
            for connection in glob.glob(f"{glob.escape(session)}/connection*/iscsi_connection/connection*"):
                for kind in ("persistent_", ""):
                    address = text_or_empty(f"{connection}/{kind}address").strip()
                    port = text_or_empty(f"{connection}/{kind}port").strip()
                    if address and port:
                        found[f"[{address}]:{port}" if ":" in address else f"{address}:{port}"] = host
        return found

    def iscsi_disks(self, iqn: str, lun: int) -> tuple[str, ...]:
        """The disks that are this unit of the target, one for each session."""
        found = {
            f"/dev/{os.path.basename(path)}"
            for _, session in self._sessions(iqn)
            for path in glob.glob(f"{glob.escape(session)}/target*/*:*:*:{lun}/block/*")
        }
        return tuple(sorted(found))

    def _sessions(self, iqn: str) -> Iterator[tuple[int, str]]:
        """Number of the host and directory of every session with the target."""
        names = f"{self._escaped}/sys/class/iscsi_host/host*/device/session*/iscsi_session/session*/targetname"
        for path in sorted(glob.glob(names)):
            session = os.path.dirname(os.path.dirname(os.path.dirname(path)))
            host = _HOST.fullmatch(session.split("/")[-3])
            if host is not None and text_or_empty(path).strip() == iqn:
                yield int(host.group(1)), session

    # --- files ------------------------------------------------------------------------------------------------------

    @property
    def _escaped(self) -> str:
        return glob.escape(self._root)

    def _at(self, path: str) -> str:
        return f"{self._root}{path}"

    def _real(self, path: str) -> str:
        """The target of the link, as on the machine; empty for a broken link."""
        real = os.path.realpath(self._at(path))
        return real.removeprefix(self._root) if os.path.exists(real) else ""

    def _write(self, path: str, text: str) -> None:
        descriptor = os.open(self._at(path), os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
