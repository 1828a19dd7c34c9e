"""What a test gets from its cluster to work with: ready clients of two libraries, and loads of pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from actorlet._cluster_process import ClusterError


def kubernetes_client(kubeconfig: str) -> Any:
    """An `ApiClient` of the package `kubernetes`. Raises ClusterError."""
    return _module("kubernetes", "kubernetes.config").new_client_from_config(config_file=kubeconfig)


def lightkube_client(kubeconfig: str) -> Any:
    """A `Client` of the package `lightkube`. Raises ClusterError."""
    config = _module("lightkube", "lightkube.config.kubeconfig").KubeConfig.from_file(kubeconfig)
    made = _module("lightkube", "lightkube").Client(config=config.get())
    learn_lightkube()
    return made


@cache
def learn_lightkube() -> None:
    """Let msgspec learn every type of lightkube in this thread.

    Two threads that are the first to decode a type crash Python (msgspec 0.22). It takes 0.3 s, once in a process.
    """
    from pkgutil import iter_modules  # most tests have no lightkube

    resources = import_module("lightkube.resources")
    try:
        decode_list = import_module("lightkube.core.decoders").decode_list
    except (ImportError, AttributeError):
        return  # lightkube before 1.0, whose types are data classes
    for found in iter_modules(resources.__path__):
        module = import_module(f"{resources.__name__}.{found.name}")
        for each in vars(module).values():
            if isinstance(each, type) and each.__module__ == module.__name__:
                # Some types of subresources and of alpha versions cannot be decoded at all.
                with suppress(TypeError, ValueError):
                    decode_list(b'{"items":[]}', each)


def _module(package: str, name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise ClusterError(f"the package {package} is not installed here: pip install {package}") from None


class Load:
    """Pods of one template, kept at a number. `Cluster.load` makes it."""

    def __init__(self, ask: Callable[[Mapping[str, Any]], dict[str, Any]], name: str, namespace: str) -> None:
        self._ask = ask
        self.name = name
        self.namespace = namespace

    def scale(self, replicas: int) -> None:
        """Keep another number of pods from now on; the youngest go first."""
        self._ask({"order": "scale", "name": self.name, "namespace": self.namespace, "replicas": replicas})

    @property
    def ready(self) -> int:
        """How many of its pods are Ready in the API."""
        return int(self._ask({"order": "count-ready", "name": self.name, "namespace": self.namespace})["ready"])
