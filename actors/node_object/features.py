"""The features of the runtime's handlers and of the agent, for the Node object (spec 9.5, 10.19)."""

from __future__ import annotations

from collections.abc import Iterable

from config.kubelet.feature_gates import FeatureGates
from config.objects import NodeFeatures, NodeRuntimeHandler, NodeRuntimeHandlerFeatures
from runtime.cri.messages import RuntimeFeatures, RuntimeHandler

ON_HOST_NETWORK = "UserNamespacesHostNetworkSupport"

DECLARED: tuple[str, ...] = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    ON_HOST_NETWORK,
)
"""The features that pods may be scheduled by (spec 10.19) and that this version honours.

Gates have the same names. An honoured feature missing here is of no use: the scheduler keeps pods that ask for it away,
and the API server refuses the resizes that need it.
"""


def runtime_handlers(handlers: Iterable[RuntimeHandler]) -> tuple[NodeRuntimeHandler, ...]:
    """The handlers by name: runtimes list them in any order, and a new order is no change of the node."""
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
    """The features of all handlers; None when the runtime does not tell."""
    if features is None:
        return None
    return NodeFeatures(supplemental_groups_policy=features.supplemental_groups_policy)


def features_known(features: RuntimeFeatures | None, declared: Iterable[str]) -> RuntimeFeatures:
    """What the runtime says, or, while it is away, what `declared` tells of it."""
    return features or RuntimeFeatures(user_namespaces_host_network=ON_HOST_NETWORK in declared)


def declared_features(
    gates: FeatureGates, runtime: RuntimeFeatures, honoured: Iterable[str] = DECLARED
) -> tuple[str, ...]:
    """The features to declare, sorted: honoured, with their gates on, and the runtime can do its part.

    () when declaring is off.
    """
    if not gates.enabled("NodeDeclaredFeatures"):
        return ()
    return tuple(sorted(name for name in honoured if gates.enabled(name) and _is_able(name, runtime)))


def _is_able(name: str, runtime: RuntimeFeatures) -> bool:
    return name != ON_HOST_NETWORK or runtime.user_namespaces_host_network
