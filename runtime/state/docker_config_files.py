"""The node's own registry credentials: the first docker configuration among the usual places.

See spec 6.3.

`DockerConfigFiles` is the capability, `LocalDockerConfig` the real one. They are read for each pull, so a new password
needs no restart. That is short disk work, for a lane. Reading never fails: without credentials a pull may succeed just
as well. Broken files that are skipped are reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from config.credentials.docker_config import DockerConfigError, Entries, read_docker_config_json, read_dockercfg

LIMIT_BYTES = 1 << 20
"""Limit of such a file. No node has so many registries."""


class NodeCredentials(msgspec.Struct, frozen=True):
    """The found credentials, and the skipped files with reasons."""

    entries: Entries = ()
    problems: tuple[str, ...] = ()


class DockerConfigFiles(Protocol):
    def read(self) -> NodeCredentials:
        """The entries of the first usable file."""


class LocalDockerConfig:
    """Docker configurations on the disk of this machine.

    `root`: the agent's directory, which comes first; `working` and `home`: directories of the agent (`home` may be
    empty).
    """

    def __init__(self, root: str, working: str, home: str) -> None:
        self._places: list[tuple[str, Callable[[bytes], Entries]]] = []
        for directory in (root, working, f"{home}/.docker" if home else "", "/.docker"):
            if directory:
                self._places.append((f"{directory.rstrip('/')}/config.json", read_docker_config_json))
        for directory in (root, working, home, "/"):
            if directory:
                self._places.append((f"{directory.rstrip('/')}/.dockercfg", read_dockercfg))

    def read(self) -> NodeCredentials:
        problems: list[str] = []
        for path, reader in self._places:
            try:
                with open(path, "rb") as file:
                    return NodeCredentials(reader(file.read(LIMIT_BYTES)), tuple(problems))
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, DockerConfigError) as failure:
                problems.append(f"{path}: {failure}")
        return NodeCredentials((), tuple(problems))
