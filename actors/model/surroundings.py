"""What pods need of the cluster around them, as it is at one moment (spec 13.1): services, and what the node has.

`ClusterCacheActor` makes another one whenever any of that changes, `SyncLoopActor` hands the newest to every worker
that begins, with its pod. Nobody changes one: the variables of a namespace are worked out when the first pod of it
needs them, and are the same whoever works them out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from actors.model.service_variables import ServiceLink, service_variables

NAMESPACES = 500
"""Of so many the variables are kept; a node has fewer pods."""


class Surroundings:
    """See the module. `allocatable`: quantities by resource, None where the node is not known yet."""

    __slots__ = ("_services", "_variables", "allocatable")

    def __init__(self, services: Collection[ServiceLink], allocatable: Mapping[str, str] | None) -> None:
        self._services = services
        self._variables: dict[str, Mapping[str, str]] = {}
        self.allocatable = allocatable

    def variables_of(self, namespace: str, own_namespace: bool) -> Mapping[str, str]:
        """The variables of services for a pod of `namespace`; `own_namespace`: its `enableServiceLinks`."""
        key = namespace if own_namespace else ""
        found = self._variables.get(key)
        if found is None:
            if len(self._variables) >= NAMESPACES:
                self._variables.clear()
            found = self._variables[key] = service_variables(self._services, namespace, own_namespace)
        return found
