"""Finds and deletes the objects that tests have made since a cluster began.

Objects from the beginning stay, with their changes. Nodes stay too, added ones included, and so does what `is_kept`
says.
"""

from __future__ import annotations

from collections.abc import Callable

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.bodies import MERGE
from simulation.apiserver.requests.calls import ADMIN
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store.store import Version
from simulation.cluster.applied import collection_path
from simulation.controllers.store_follower import ask

_OF_NODES = ("nodes", "leases.coordination.k8s.io", "csinodes.storage.k8s.io")
_FORCED = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}


class Beginning:
    """The objects of a server when its cluster began."""

    def __init__(self, server: ApiServer, is_kept: Callable[[Version], bool] = lambda _: False) -> None:
        self._server = server
        self._is_kept = is_kept
        self._uids = {version.uid for _, version in self._all()}

    def is_back(self) -> bool:
        """Whether nothing has come since."""
        return not self.newcomers()

    def delete_newcomers(self) -> None:
        """Delete what has come since, without grace and without waiting for finalizers."""
        for resource, version in self.newcomers():
            path = f"{collection_path(resource, version.namespace)}/{version.name}"
            if version.object["metadata"].get("finalizers"):
                forget = {"metadata": {"finalizers": None}}
                ask(self._server, ADMIN, "PATCH", path, forget, MERGE)
            ask(self._server, ADMIN, "DELETE", path, dict(_FORCED))

    def newcomers(self) -> list[tuple[ServedResource, Version]]:
        """What has come since."""
        return [one for one in self._all() if one[1].uid not in self._uids and not self._is_kept(one[1])]

    def _all(self) -> list[tuple[ServedResource, Version]]:
        found: dict[str, ServedResource] = {}
        for resource in self._server.served:
            if resource.stored and resource.store_key not in _OF_NODES:
                found.setdefault(resource.store_key, resource)
        store = self._server.store
        return [(resource, version) for key, resource in found.items() for version in store.of[key].all()]
