"""Removal of the log directories of pods, and of the links to logs (spec 3.12, 16).

`PodLogs` is the capability, `LocalPodLogs` the real one. The formats of the names are here too: `<pod
logs>/<namespace>_<name>_<uid>/<container>/<attempt>.log` with rotated ones beside it, and `<container
logs>/<pod>_<namespace>_<container>-<id>.log`, a link to it. Every call is disk work that may hang: actors run it on a
lane. A missing file is no error. Raises OSError.
"""

from __future__ import annotations

import os
from typing import Protocol

import msgspec

from config.objects import Pod
from runtime.files.tree import remove_tree

LINK_LIMIT = 255
_LOG = ".log"


class DeadLink(msgspec.Struct, frozen=True):
    """A link whose log is gone; `container_id` as its name says, or empty."""

    path: str
    container_id: str


class PodLogs(Protocol):
    def list_pods(self) -> tuple[str, ...]:
        """Names of all pod log directories, sorted; empty when there are none."""

    def dead_links(self) -> tuple[DeadLink, ...]:
        """Every link into the log directories of pods that leads nowhere, sorted. Others' links are theirs."""

    def remove_pod(self, directory: str, links: tuple[str, ...] = ()) -> None:
        """Remove the log directory of a pod with all that is in it, and the links to its logs."""

    def remove_container(self, directory: str, attempt: int, others: tuple[str, ...] = ()) -> None:
        """Remove the logs of one attempt from a container's log directory, and `others`.

        Rotated logs go too. `others`: the link to the log, the termination message.
        """

    def remove_link(self, path: str) -> None:
        """Remove one link or file, if it is there."""


def pod_log_directory(root: str, namespace: str, name: str, uid: str) -> str:
    """Where the logs of a pod are."""
    return f"{root.rstrip('/')}/{namespace}_{name}_{uid}"


def uid_of_log_directory(directory: str) -> str | None:
    """The pod's UID in the name of its log directory; None for a directory that is not ours."""
    parts = directory.rpartition("/")[2].split("_")
    return parts[2] if len(parts) == 3 and all(parts) else None


def log_link(root: str, pod: str, namespace: str, container: str, container_id: str) -> str:
    """The link to a container's log; a name too long for a file system is cut, its end stays."""
    name = f"{pod}_{namespace}_{container}-{container_id}"[: LINK_LIMIT - len(_LOG)]
    return f"{root.rstrip('/')}/{name}{_LOG}"


def log_path(container: str, attempt: int) -> str:
    """The path of a log in the log directory of its pod, as passed to the runtime."""
    return f"{container}/{attempt}{_LOG}"


def link_path(root: str, pod: Pod, container: str, container_id: str) -> str:
    """The link by which log collectors find a container's log.

    `root` is the node's directory of such links.
    """
    return log_link(root, pod.metadata.name, pod.metadata.namespace, container, container_id)


class LocalPodLogs:
    """Pod logs on the disk of this machine."""

    def __init__(self, pod_logs: str, container_logs: str) -> None:
        self._pod_logs = pod_logs
        self._container_logs = container_logs

    def list_pods(self) -> tuple[str, ...]:
        return tuple(os.path.join(self._pod_logs, name) for name in _names_in(self._pod_logs))

    def dead_links(self) -> tuple[DeadLink, ...]:
        paths = (os.path.join(self._container_logs, name) for name in _names_in(self._container_logs))
        dead = (path for path in paths if path.endswith(_LOG) and self._is_ours(path) and not os.path.exists(path))
        return tuple(DeadLink(path, os.path.basename(path)[: -len(_LOG)].rpartition("-")[2]) for path in dead)

    def _is_ours(self, path: str) -> bool:
        """Whether `path` is a link to a place below the directory of pod logs; its target may be gone."""
        return os.path.islink(path) and os.readlink(path).startswith(f"{self._pod_logs.rstrip('/')}/")

    def remove_pod(self, directory: str, links: tuple[str, ...] = ()) -> None:
        for link in links:
            self.remove_link(link)
        # A path that is made up wrongly must not become the removal of something else.
        if os.path.dirname(os.path.abspath(directory)) != os.path.abspath(self._pod_logs):
            raise PermissionError(f"{directory} is not a pod log directory in {self._pod_logs}")
        remove_tree(os.path.abspath(directory))

    def remove_container(self, directory: str, attempt: int, others: tuple[str, ...] = ()) -> None:
        log = f"{attempt}{_LOG}"
        for name in _names_in(directory):
            if name == log or name.startswith(f"{log}."):
                self.remove_link(os.path.join(directory, name))
        for path in others:
            self.remove_link(path)

    def remove_link(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return


def _names_in(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
