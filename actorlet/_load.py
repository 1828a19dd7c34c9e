"""A load of a simulated cluster: pods of one template, and how many of them are Ready."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


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
