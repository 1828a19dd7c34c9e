"""The labels that a node may give itself with `--node-labels` (spec 9.1). Pure.

In the namespaces of Kubernetes a node may set only labels that describe it. The API server would refuse the others, but
only at the registration, after the start.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.documents.codec import DocumentError
from config.values.name_rules import label_value, qualified_name

FLAG = "--node-labels"
_CLUSTERS = ("kubernetes.io", "k8s.io")
_NODES = ("kubelet.kubernetes.io", "node.kubernetes.io")

OF_THE_MACHINE = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
    }
)


def node_label_faults(labels: Mapping[str, str]) -> Iterator[DocumentError]:
    """A fault for each label that is not allowed."""
    for key, value in labels.items():
        for refusal in (qualified_name(key), label_value(value)):
            if refusal is not None:
                reason, hint = refusal
                yield DocumentError(FLAG, f"{key}={value}: {reason}", hint)
        if not may_be_set(key):
            reason = f"{key!r} is in a namespace of Kubernetes, where a node may not choose its labels"
            yield DocumentError(FLAG, reason, f"put it below {' or '.join(_NODES)}, or into a domain of your own")


def may_be_set(key: str) -> bool:
    """Whether a node may give itself a label of this key."""
    domain, slash, _ = key.rpartition("/")
    if not slash or not _is_below(domain, _CLUSTERS):
        return True
    return key in OF_THE_MACHINE or _is_below(domain, _NODES)


def _is_below(domain: str, roots: tuple[str, ...]) -> bool:
    return any(domain == root or domain.endswith(f".{root}") for root in roots)
