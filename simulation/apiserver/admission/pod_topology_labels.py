"""PodTopologyLabels: a pod on a node has the labels of the node's zone and region."""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, Attributes, Plugin
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import NODES, PODS
from simulation.apiserver.status import Json

_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def topology_labels(core: Core, node: str) -> Json:
    """The labels that a pod on that node gets."""
    found = core.store.get(NODES.store_key, "", node)
    labels = {} if found is None else found.object["metadata"].get("labels") or {}
    return {name: labels[name] for name in _LABELS if name in labels}


def admit(this: Attributes) -> None:
    node, metadata = this.object["spec"].get("nodeName"), this.object["metadata"]
    labels = topology_labels(this.core, node) if node else {}
    if labels:
        metadata["labels"] = {**(metadata.get("labels") or {}), **labels}


PLUGIN = Plugin("PodTopologyLabels", frozenset({(PODS, "", CREATE)}), admit=admit)
