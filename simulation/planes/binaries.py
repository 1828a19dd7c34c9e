"""Which programs a folder has for a control plane, and what a user is told of those that are missing."""

from __future__ import annotations

import os
from typing import NamedTuple

ETCD, API_SERVER = "etcd", "kube-apiserver"
CONTROLLER_MANAGER, SCHEDULER = "kube-controller-manager", "kube-scheduler"
_HINT = (
    f"control_plane is a folder with {ETCD} and {API_SERVER}, and if wanted {CONTROLLER_MANAGER} and {SCHEDULER}; "
    "`setup-envtest use -p path` downloads the first two and prints their folder, the value of KUBEBUILDER_ASSETS"
)


class PlaneError(Exception):
    """A control plane that cannot be. The text says why, and what to do."""


class Binaries(NamedTuple):
    """Paths of programs. Those that are not there are empty."""

    etcd: str
    api_server: str
    controller_manager: str = ""
    scheduler: str = ""


def find_binaries(directory: str) -> Binaries:
    """The programs in a folder. Raises PlaneError."""
    if not os.path.isdir(directory):
        raise PlaneError(f"there is no folder {directory}; {_HINT}")
    paths = {
        name: os.path.join(directory, name)
        for name in (ETCD, API_SERVER, CONTROLLER_MANAGER, SCHEDULER)
        if os.path.lexists(os.path.join(directory, name))
    }
    missing = [name for name in (ETCD, API_SERVER) if name not in paths]
    if missing:
        raise PlaneError(f"{directory} has no {' and no '.join(missing)}; {_HINT}")
    for path in paths.values():
        _check(path)
    return Binaries(paths[ETCD], paths[API_SERVER], paths.get(CONTROLLER_MANAGER, ""), paths.get(SCHEDULER, ""))


def controller_manager_at(path: str) -> str:
    """The path of a program that a user has named; empty for none. Raises PlaneError."""
    if not path:
        return ""
    if not os.path.lexists(path):
        raise PlaneError(f"there is no file {path}; controller_manager is the path of a {CONTROLLER_MANAGER}")
    _check(path)
    return path


def _check(path: str) -> None:
    if not os.path.isfile(path):
        raise PlaneError(f"{path} is not a file; put a program there")
    if not os.access(path, os.X_OK):
        raise PlaneError(f"{path} is not executable; run `chmod +x {path}`")
