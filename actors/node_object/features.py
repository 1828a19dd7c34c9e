"""What the runtime's handlers and the agent are able to do, as the Node object tells it (spec 9.5, 10.19)."""

from __future__ import annotations

from collections.abc import Iterable

from config.kubelet.feature_gates import FeatureGates
from config.objects import NodeFeatures, NodeRuntimeHandler, NodeRuntimeHandlerFeatures
from runtime.cri.messages import RuntimeFeatures, RuntimeHandler

DECLARED: tuple[str, ...] = ("ExtendWebSocketsToKubelet", "RestartAllContainersOnContainerExits")
"""Of the features that pods may be scheduled by (spec 10.19), those that this version honours. Gates are named so. What
is honoured and not named here is of no use: the scheduler keeps pods away that ask for it.
"""


def runtime_handlers(handlers: Iterable[RuntimeHandler]) -> tuple[NodeRuntimeHandler, ...]:
    """By name: runtimes list them in any order, which is no change of the node."""
    return tuple(
        NodeRuntimeHandler(
            name=handler.name,
            features=NodeRuntimeHandlerFeatures(
                recursive_read_only_mounts=handler.features is not None and handler.features.recursive_read_only_mounts,
                user_namespaces=handler.features is not None and handler.features.user_namespaces,
            ),
        )
        for handler in sorted(handlers, key=lambda handler: handler.name)
    )


def node_features(features: RuntimeFeatures | None) -> NodeFeatures | None:
    """What holds whatever the handler; None where the runtime says nothing of it."""
    if features is None:
        return None
    return NodeFeatures(supplemental_groups_policy=features.supplemental_groups_policy)


def declared_features(gates: FeatureGates, honoured: Iterable[str] = DECLARED) -> tuple[str, ...]:
    """Features to declare, sorted: those that are honoured and whose gate is on. None at all with declaring off."""
    if not gates.enabled("NodeDeclaredFeatures"):
        return ()
    return tuple(sorted(name for name in honoured if gates.enabled(name)))
