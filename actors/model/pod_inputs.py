"""What pods need to know of the cluster at one moment (spec 13.1): services, and the node's resources.

`ClusterCacheActor` makes a new value whenever any of that changes. `SyncLoopActor` sends the newest, with its pod, to
every worker that begins.
"""

from __future__ import annotations

import msgspec

from config.frozen_map import FrozenMap

Variables = FrozenMap[str, str]


class PodInputs(msgspec.Struct, frozen=True):
    """See the module. `allocatable`: quantities by resource, None while the node is not known.

    `variables`: those of services, for pods of each namespace that has services. `everywhere`: for all other pods.
    """

    variables: FrozenMap[str, Variables]
    everywhere: Variables
    allocatable: FrozenMap[str, str] | None

    def variables_of(self, namespace: str, own_namespace: bool) -> Variables:
        """The variables of services for a pod of `namespace`; `own_namespace`: its `enableServiceLinks`."""
        return self.variables.get(namespace, self.everywhere) if own_namespace else self.everywhere
