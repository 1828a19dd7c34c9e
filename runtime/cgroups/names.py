"""How the cgroups of a node are called (spec 10.2). Pure.

A cgroup is named by the words on the way to it from the root: ("kubepods", "burstable", "pod<uid>"). Each of the two
drivers of the kernel's tree writes that in its own way. With cgroupfs it is a path. With systemd each step is a slice
whose name repeats all words before it, and a dash in a word would be a step of its own, so dashes become underscores.

A word with a slash is no word for either, one with an underscore is none for systemd: what was meant could not be told
from its name again.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TypeAlias

from config.pods.identity import QosClass

Words: TypeAlias = tuple[str, ...]
"""The way to a cgroup, from the root; () is the root itself."""

KUBEPODS = "kubepods"
POD = "pod"
SLICE = ".slice"
CGROUPFS = "cgroupfs"
SYSTEMD = "systemd"

_TIERS = {QosClass.BURSTABLE: ("burstable",), QosClass.BEST_EFFORT: ("besteffort",), QosClass.GUARANTEED: ()}


class CgroupNameError(ValueError):
    """A cgroup cannot be called so; the text says why."""


def root_words(cgroup_root: str, *, per_qos: bool = True) -> Words:
    """Where all pods are: below `cgroup_root` of the configuration, a path."""
    above = tuple(word for word in cgroup_root.split("/") if word)
    return (*above, KUBEPODS) if per_qos else above


def tier_words(root: Words, qos: QosClass) -> Words:
    """Where the pods of a class are; guaranteed ones stand beside the tiers."""
    return (*root, *_TIERS[qos])


def pod_words(root: Words, qos: QosClass, uid: str) -> Words:
    """Where a pod is."""
    return (*tier_words(root, qos), pod_word(uid))


def pod_word(uid: str) -> str:
    """The last word of the way to a pod."""
    return f"{POD}{uid}"


def path_of(words: Words, driver: str) -> str:
    """The path below a hierarchy's mount, beginning with a slash. Raises CgroupNameError."""
    if driver == SYSTEMD:
        return "/" + "/".join(_slices(words))
    for word in words:
        if not word or "/" in word:
            raise _no_part(word, "/")
    return "/" + "/".join(words)


def name_of(words: Words, driver: str) -> str:
    """What the runtime is told to make sandboxes below: the path, or for systemd the last slice."""
    return path_of(words, driver).rpartition("/")[2] if driver == SYSTEMD else path_of(words, driver)


def words_of(path: str, driver: str) -> Words:
    """The way back from a path; for systemd an underscore was a dash."""
    parts = tuple([part for part in path.split("/") if part])
    if driver != SYSTEMD or not parts:
        return parts
    last = parts[-1].removesuffix(SLICE)
    return tuple(word.replace("_", "-") for word in last.split("-"))


def pod_uid(directory: str, driver: str) -> str | None:
    """The pod that a directory of a tier belongs to, by its name; None for any other."""
    word = directory.rstrip("/").rpartition("/")[2]
    if driver == SYSTEMD:
        word = word.removesuffix(SLICE).rpartition("-")[2].replace("_", "-")
    return word.removeprefix(POD) if word.startswith(POD) and word != POD else None


def uids_in(directories: Iterable[str], driver: str) -> tuple[str, ...]:
    """The pods of these directories, sorted."""
    return tuple(sorted([uid for each in directories if (uid := pod_uid(each, driver)) is not None]))


def paths_of(words: Words) -> tuple[str, ...]:
    """The paths by each driver that can call it so: which one it is need not be known yet."""
    found = []
    for driver in (CGROUPFS, SYSTEMD):
        with suppress(CgroupNameError):
            found.append(path_of(words, driver))
    return tuple(dict.fromkeys(found))


def pods_paths(cgroup_root: str = "/") -> tuple[str, ...]:
    """The paths that the cgroup of all pods may have below `cgroup_root`."""
    return paths_of(root_words(cgroup_root))


def page_name(size_bytes: int) -> str:
    """How the kernel calls huge pages of that size: 2MB, 1GB."""
    for unit, name in ((2**30, "GB"), (2**20, "MB")):
        if size_bytes >= unit:
            return f"{size_bytes // unit}{name}"
    return f"{size_bytes // 2**10}KB"


def _slices(words: Words) -> list[str]:
    slices, before = [], ""
    for word in words:
        if not word or "/" in word or "_" in word:
            raise _no_part(word, "/_")
        before = f"{before}-{word.replace('-', '_')}" if before else word.replace("-", "_")
        slices.append(before + SLICE)
    return slices


def _no_part(word: str, forbidden: str) -> CgroupNameError:
    found = [f": it has a {character!r}" for character in forbidden if character in word]
    return CgroupNameError(f"{word!r} cannot be a part of a cgroup's name{''.join(found[:1])}")
