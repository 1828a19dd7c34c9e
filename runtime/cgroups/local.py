"""`LocalCgroups`: cgroups as directories of the kernel.

There is one hierarchy (v2), or one for each controller (v1).

Files are written as they are, in the kernel's words; the only knowledge here is which file says what in which version.
On v2 a controller serves a cgroup only when all above it have passed it on, which is done on the way down. On v1
nothing can enter a cpuset without CPUs and memory, so a new one takes those of its parent.

When the kernel lacks a controller, or the agent lacks rights, the problem is reported by file and the rest is still
written.

A removal goes through every mounted hierarchy, not only those that are written here: runtimes make the cgroups of
containers, and of pods above them, in all hierarchies.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping

from runtime.cgroups.capability import CgroupLimits
from runtime.cgroups.names import CGROUPFS, Words, page_name, path_of, uids_in
from runtime.files.text_file import text_or_empty
from runtime.files.tree import DIRECTORY_FLAGS, TreeEntry, TreeWalk, shown

V1_CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "pids", "hugetlb")
V1_NEEDED = ("cpu", "cpuacct", "cpuset", "memory")
V2_CONTROLLERS = ("cpu", "cpuset", "hugetlb", "memory", "pids")
CPUS = "cpuset.cpus"
PASSES = 5
"""Rounds of killing processes: each may have forked before it ended."""
_UNLIMITED = "max"
_NO_LIMITS = (_UNLIMITED, "-1", "0")
"""Values that limit nothing, so nothing is lost where the controller is missing.

They say: no limit, and no pages of a size.
"""


class LocalCgroups:
    """See the module. `root` is where cgroups are mounted, such as /sys/fs/cgroup."""

    def __init__(self, root: str, version: int, driver: str = CGROUPFS) -> None:
        self._root = root
        self._version = version
        self._driver = driver

    def problems(self) -> tuple[str, ...]:
        if self._version == 2:
            offered = text_or_empty(os.path.join(self._root, "cgroup.controllers")).split()
            return tuple(f"the kernel offers no controller {each}" for each in V2_CONTROLLERS if each not in offered)
        needed = [each for each in V1_NEEDED if not os.path.isdir(os.path.join(self._root, each))]
        return tuple(f"the controller {each} is not mounted at {self._root}" for each in needed)

    def name(self, words: Words) -> str:
        return path_of(words, self._driver)

    def exists(self, words: Words) -> bool:
        path = path_of(words, self._driver)
        tops = self._tops(V1_NEEDED)
        return bool(tops) and all(os.path.isdir(top + path) for top in tops)

    def pod_uids(self, words: Words) -> tuple[str, ...]:
        path = path_of(words, self._driver)
        return uids_in({name for top in self._mounted() for name in _directories(top + path)}, self._driver)

    def cpu_sets(self, path: str) -> tuple[tuple[str, str], ...]:
        """See `CgroupTree.cpu_sets`."""
        above = self._top_of(CPUS) + path
        texts = [(name, text_or_empty(os.path.join(above, name, CPUS)).strip()) for name in _directories(above)]
        return tuple([(name, text) for name, text in texts if text])

    def apply(self, words: Words, limits: CgroupLimits) -> tuple[str, ...]:
        problems: list[str] = []
        for top in self._tops():
            self._make(top, words, problems)
        path = path_of(words, self._driver)
        for file, text in _v2_files(limits) if self._version == 2 else _v1_files(limits):
            top = self._top_of(file)
            if os.path.isdir(top + path):
                _write(os.path.join(top + path, file), text, problems)
            elif not os.path.isdir(top) and text not in _NO_LIMITS:
                problems.append(f"{file} cannot be set to {text!r}: there is no hierarchy {top}")
        return tuple(problems)

    def remove(self, words: Words) -> tuple[str, ...]:
        path = path_of(words, self._driver)
        problems: list[str] = []
        mounted = self._mounted()
        for top in mounted:
            _end_all(top + path)
        for top in mounted:
            _remove(top + path, problems)
        return tuple(problems)

    def _tops(self, controllers: tuple[str, ...] = V1_CONTROLLERS) -> list[str]:
        """The hierarchies that there are; two controllers may lie in one, under two names."""
        if self._version == 2:
            return [self._root]
        tops = [os.path.join(self._root, each) for each in controllers]
        return list({os.path.realpath(top): top for top in tops if os.path.isdir(top)}.values())

    def _mounted(self) -> list[str]:
        """Every mounted hierarchy, including those that this module does not write."""
        return [self._root] if self._version == 2 else [os.path.join(self._root, each) for each in _tops_in(self._root)]

    def _top_of(self, file: str) -> str:
        return self._root if self._version == 2 else os.path.join(self._root, file.split(".")[0])

    def _make(self, top: str, words: Words, problems: list[str]) -> None:
        for depth in range(len(words)):
            above = top + path_of(words[:depth], self._driver).rstrip("/")
            here = top + path_of(words[: depth + 1], self._driver)
            if self._version == 2:
                _pass_on(above, problems)
            try:
                os.mkdir(here, 0o755)
            except FileExistsError:
                continue
            except OSError as failure:
                problems.append(f"{here} cannot be made: {failure.strerror}")
                return
            if self._version == 1 and os.path.basename(top) == "cpuset":
                for file in (CPUS, "cpuset.mems"):
                    _write(os.path.join(here, file), text_or_empty(os.path.join(above, file)).strip(), problems)


def cpu_weight(shares: int) -> int:
    """The weight of v2 for shares of v1 (spec 10.3)."""
    return 1 + (shares - 2) * 9999 // 262_142


# --- what is written --------------------------------------------------------------------------------------------------


def _v1_files(limits: CgroupLimits) -> Iterator[tuple[str, str]]:
    # The period first: the kernel checks a quota against the current period.
    for file, amount in (
        ("cpu.shares", limits.cpu_shares),
        ("cpu.cfs_period_us", limits.cpu_period_us),
        ("cpu.cfs_quota_us", limits.cpu_quota_us),
        ("memory.limit_in_bytes", limits.memory_bytes),
    ):
        if amount is not None:
            yield file, str(amount)
    if limits.pids is not None:
        yield "pids.max", _or_max(limits.pids)
    for name, amount in _pages(limits.huge_pages):
        yield f"{name}.limit_in_bytes", str(amount)


def _v2_files(limits: CgroupLimits) -> Iterator[tuple[str, str]]:
    if limits.cpu_shares is not None:
        yield "cpu.weight", str(cpu_weight(limits.cpu_shares))
    if limits.cpu_quota_us is not None:
        period = "" if limits.cpu_period_us is None else f" {limits.cpu_period_us}"
        yield "cpu.max", f"{_or_max(limits.cpu_quota_us)}{period}"
    for file, amount in (("memory.min", limits.memory_min_bytes), ("memory.low", limits.memory_low_bytes)):
        if amount is not None:
            yield file, str(amount)
    for file, amount in (("memory.high", limits.memory_high_bytes), ("memory.max", limits.memory_bytes)):
        if amount is not None:
            yield file, _or_max(amount)
    if limits.pids is not None:
        yield "pids.max", _or_max(limits.pids)
    for name, amount in _pages(limits.huge_pages):
        yield f"{name}.max", _or_max(amount)


def _pages(pages: Mapping[int, int]) -> Iterator[tuple[str, int]]:
    for size_bytes, amount in sorted(pages.items()):
        yield f"hugetlb.{page_name(size_bytes)}", amount


def _or_max(amount: int) -> str:
    return _UNLIMITED if amount < 0 else str(amount)


# --- files of the kernel ----------------------------------------------------------------------------------------------


def _write(path: str, text: str, problems: list[str]) -> None:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as failure:
        problems.append(f"{path} cannot be set to {text!r}: {failure.strerror}")


def _tops_in(root: str) -> list[str]:
    """Names of the hierarchies of v1; two names may lead to one."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    paths = {os.path.realpath(os.path.join(root, name)): name for name in names}
    return sorted(name for path, name in paths.items() if os.path.isdir(path))


def _directories(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _pass_on(directory: str, problems: list[str]) -> None:
    """Pass this cgroup's controllers on to the cgroups below."""
    control = os.path.join(directory, "cgroup.subtree_control")
    offered = text_or_empty(os.path.join(directory, "cgroup.controllers")).split()
    passed = text_or_empty(control).split()
    for controller in V2_CONTROLLERS:
        if controller in offered and controller not in passed:
            _write(control, f"+{controller}", problems)


def processes_in(directory: str) -> list[int]:
    """Process ids in a cgroup.

    Processes of another namespace appear as 0, and `kill` would take 0 for the whole own group.
    """
    return _ids(text_or_empty(os.path.join(directory, "cgroup.procs")))


def _ids(text: str) -> list[int]:
    return [pid for word in text.split() if (pid := int(word)) > 0]


def _end_all(path: str) -> None:
    for _ in range(PASSES):
        pids = [pid for directory in _all_at(path) for pid in _processes_at(directory)]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _all_at(path: str) -> Iterator[int]:
    """The directory and all below it, open: a container may have nested them deeper than a path reaches."""
    try:
        top = os.open(path, DIRECTORY_FLAGS)
    except OSError:
        return
    try:
        yield top
        with contextlib.closing(TreeWalk(top)) as walk:
            for entry in walk:
                if entry.may_be_directory and (below := _opened(entry.name, walk.directory)) is not None:
                    yield below
                    walk.enter(below)
    finally:
        os.close(top)


def _opened(name: bytes, directory: int) -> int | None:
    try:
        return os.open(name, DIRECTORY_FLAGS, dir_fd=directory)
    except OSError:
        return None


def _processes_at(directory: int) -> list[int]:
    try:
        file = os.open("cgroup.procs", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        with os.fdopen(file, encoding="ascii", errors="replace") as opened:
            return _ids(opened.read())
    except OSError:
        return []


def _remove(path: str, problems: list[str]) -> None:
    """Remove the directories; the kernel's files in them go along."""
    try:
        top = os.open(path, DIRECTORY_FLAGS)
    except FileNotFoundError:
        return
    except OSError as failure:
        problems.append(f"{path} cannot be removed: {failure.strerror}")
        return
    try:
        with contextlib.closing(TreeWalk(top, come_back=True)) as walk:
            for entry in walk:
                if entry.may_be_directory:
                    _remove_one(walk, entry, problems)
    finally:
        os.close(top)
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return
    except OSError as failure:
        problems.append(f"{path} cannot be removed: {failure.strerror}")


def _remove_one(walk: TreeWalk, entry: TreeEntry, problems: list[str]) -> None:
    """Remove a cgroup, or enter the one that is not empty."""
    try:
        os.rmdir(entry.name, dir_fd=walk.directory)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as failure:
        below = None if entry.again else _opened(entry.name, walk.directory)
        if below is not None:
            walk.enter(below)
        else:
            problems.append(f"{shown(walk.directory, entry.name)} cannot be removed: {failure.strerror}")
