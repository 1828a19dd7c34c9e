"""Ready clients of a cluster for libraries that the test's environment may have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from actorlet._cluster_process import ClusterError


def kubernetes_client(kubeconfig: str) -> Any:
    """An `ApiClient` of the package `kubernetes`. Raises ClusterError."""
    return _module("kubernetes", "kubernetes.config").new_client_from_config(config_file=kubeconfig)


def lightkube_client(kubeconfig: str) -> Any:
    """A `Client` of the package `lightkube`. Raises ClusterError."""
    config = _module("lightkube", "lightkube.config.kubeconfig").KubeConfig.from_file(kubeconfig)
    return _module("lightkube", "lightkube").Client(config=config.get())


def _module(package: str, name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ClusterError(f"the package {package} is not installed here: pip install {package}") from None
