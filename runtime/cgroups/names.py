"""The names of a node's cgroups (spec 10.2). Pure.

A cgroup is named by its path from the root as words: ("kubepods", "burstable", "pod<uid>"). Each of the two cgroup
drivers writes that in its own way. The cgroupfs driver writes a path. The systemd driver writes a slice per step, whose
name repeats all words before it. There a dash in a word would be a step of its own, so dashes become underscores.

No word may have a slash, and with systemd none may have an underscore: its name could not be read back.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TypeAlias

from config.pods.identity import QosClass

Words: TypeAlias = tuple[str, ...]
"""The words from the root; () is the root itself."""

KUBEPODS = "kubepods"
POD = "pod"
SLICE = ".slice"
SCOPE = ".scope"
CGROUPFS = "cgroupfs"
SYSTEMD = "systemd"

_TIERS = {QosClass.BURSTABLE: ("burstable",), QosClass.BEST_EFFORT: ("besteffort",), QosClass.GUARANTEED: ()}


class CgroupNameError(ValueError):
    """The cgroup cannot have such a name; the text says why."""


def root_words(cgroup_root: str, *, per_qos: bool = True) -> Words:
    """The cgroup of all pods: below `cgroup_root` of the configuration, a path."""
    above = tuple(word for word in cgroup_root.split("/") if word)
    return (*above, KUBEPODS) if per_qos else above


def tier_words(root: Words, qos: QosClass) -> Words:
    """The cgroup of a QoS class; guaranteed pods are beside the classes."""
    return (*root, *_TIERS[qos])


def pod_words(root: Words, qos: QosClass, uid: str) -> Words:
    """The cgroup of a pod."""
    return (*tier_words(root, qos), pod_word(uid))


def pod_word(uid: str) -> str:
    """The last word of a pod's cgroup."""
    return f"{POD}{uid}"


def path_of(words: Words, driver: str) -> str:
    """The path below a hierarchy's mount, beginning with a slash. Raises CgroupNameError.

    The runtime gets the path of a pod as the parent of its sandboxes, also with systemd: containerd reads the numbers
    of a pod at this path.
    """
    if driver == SYSTEMD:
        return "/" + "/".join(_slices(words))
    for word in words:
        if not word or "/" in word:
            raise _no_part(word, "/")
    return "/" + "/".join(words)


def unit_of(words: Words) -> str:
    """The unit of systemd that makes a cgroup: the last slice of its path. Raises CgroupNameError."""
    return path_of(words, SYSTEMD).rpartition("/")[2]


def container_of(name: str) -> str:
    """The id of the container whose cgroup has that last part of a path, as containerd and CRI-O name it."""
    return name.removesuffix(SCOPE).rpartition("-")[2]


def words_of(path: str, driver: str) -> Words:
    """The words of a path. With systemd, underscores become dashes."""
    parts = tuple([part for part in path.split("/") if part])
    if driver != SYSTEMD or not parts:
        return parts
    last = parts[-1].removesuffix(SLICE)
    return tuple(word.replace("_", "-") for word in last.split("-"))


def pod_uid(directory: str, driver: str) -> str | None:
    """The UID of the pod of a directory in a QoS class; None for any other directory."""
    word = directory.rstrip("/").rpartition("/")[2]
    if driver == SYSTEMD:
        word = word.removesuffix(SLICE).rpartition("-")[2].replace("_", "-")
    return word.removeprefix(POD) if word.startswith(POD) and word != POD else None


def uids_in(directories: Iterable[str], driver: str) -> tuple[str, ...]:
    """The pods of these directories, sorted."""
    return tuple(sorted([uid for each in directories if (uid := pod_uid(each, driver)) is not None]))


def paths_of(words: Words) -> tuple[str, ...]:
    """The paths for each driver that can name it, for use before the driver is known."""
    found = []
    for driver in (CGROUPFS, SYSTEMD):
        with suppress(CgroupNameError):
            found.append(path_of(words, driver))
    return tuple(dict.fromkeys(found))


def pods_paths(cgroup_root: str = "/") -> tuple[str, ...]:
    """The possible paths of the cgroup of all pods below `cgroup_root`."""
    return paths_of(root_words(cgroup_root))


def page_name(size_bytes: int) -> str:
    """The kernel's name for huge pages of that size: 2MB, 1GB."""
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
