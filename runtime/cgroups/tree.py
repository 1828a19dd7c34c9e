"""`LocalCgroupTree`: this machine's cgroups before their driver is known.

It also moves processes between them.

`kubeletCgroups` and `systemCgroups` are paths, so processes are moved by path with either driver. Systemd never
recreates what already exists there (spec 10.6).
"""

from __future__ import annotations

import os

from runtime.cgroups.capability import CgroupLimits, Cgroups
from runtime.cgroups.local import LocalCgroups, processes_in
from runtime.cgroups.names import SYSTEMD, words_of
from runtime.cgroups.systemd import SystemdCgroups
from runtime.cgroups.systemd_units import SystemdUnits
from runtime.files.directories import make_directories

PASSES = 11
"""How often to list and move processes: a process may fork meanwhile, into the old cgroup (spec 10.6)."""
_NOTHING = CgroupLimits()


class LocalCgroupTree:
    """`root`: where cgroups are mounted.

    `processes`: the kernel's directory of processes. `units`: of systemd; None without systemd.
    """

    def __init__(self, root: str, version: int, processes: str = "/proc", units: SystemdUnits | None = None) -> None:
        self._root = root
        self._version = version
        self._processes = processes
        self._units = units

    def driven_by(self, driver: str) -> Cgroups:
        files = LocalCgroups(self._root, self._version, driver)
        if driver == SYSTEMD and self._units is not None:
            return SystemdCgroups(self._units, files, self._version)
        return files

    def enter(self, path: str) -> tuple[str, ...]:
        own = os.getpid()
        return self._made(path) or self._move(path, own, self._tops()) or self._enter_of_systemd(path, own)

    def _enter_of_systemd(self, path: str, pid: int) -> tuple[str, ...]:
        """On v1, tools look in the hierarchy of systemd for the cgroup of a process. It limits nothing."""
        top = os.path.join(self._root, "systemd")
        if self._version == 2 or not os.path.isdir(top):
            return ()
        here = os.path.join(top, path.strip("/"))
        try:
            make_directories(here, 0o755)
        except OSError as failure:
            return (f"{here} cannot be made: {failure.strerror}",)
        return self._move(path, pid, [top])

    def cpu_sets(self, path: str) -> tuple[tuple[str, str], ...]:
        return LocalCgroups(self._root, self._version).cpu_sets(path)

    def gather(self, path: str) -> tuple[str, ...]:
        problems = self._made(path)
        if problems:
            return problems
        for _ in range(PASSES):
            pids = [pid for pid in processes_in(self._tops()[0]) if pid > 1 and self._is_of_users(pid)]
            problems = tuple(problem for pid in pids for problem in self._move(path, pid, self._tops()))
            if not pids or problems:
                return problems
        return (f"processes of the root keep coming while they are moved to {path}",)

    def _made(self, path: str) -> tuple[str, ...]:
        cgroups = LocalCgroups(self._root, self._version)
        words = words_of(path, "")
        problems = cgroups.apply(words, _NOTHING)
        return () if cgroups.exists(words) else problems or cgroups.problems()

    def _tops(self) -> list[str]:
        """The hierarchies in which processes are moved; not the cpuset, which must not change for them."""
        if self._version == 2:
            return [self._root]
        found = (os.path.join(self._root, each) for each in ("memory", "cpu", "cpuacct", "pids"))
        return [each for each in found if os.path.isdir(each)]

    def _move(self, path: str, pid: int, tops: list[str]) -> tuple[str, ...]:
        problems = []
        for top in tops:
            file = os.path.join(top, path.strip("/"), "cgroup.procs")
            try:
                with open(file, "a", encoding="ascii") as control:
                    control.write(f"{pid}\n")
            except ProcessLookupError:
                break  # the process has ended meanwhile
            except OSError as failure:
                problems.append(f"process {pid} cannot be moved by {file}: {failure.strerror}")
        return tuple(problems)

    def _is_of_users(self, pid: int) -> bool:
        """Whether it is a user process: threads of the kernel have no executable."""
        try:
            os.readlink(os.path.join(self._processes, str(pid), "exe"))
        except OSError:
            return False
        return True
