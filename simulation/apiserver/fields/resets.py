"""The fields that a request never changes, and never owns.

Of an object that is its status, of a part all that is not that part. Each table is what the strategies of a
kube-apiserver say (`GetResetFields`).
"""

from __future__ import annotations

from collections.abc import Mapping

from simulation.apiserver.fields.sets import LEAF, NONE, Fields
from simulation.apiserver.kinds.table import ServedResource

_STATUS: Fields = {"f:status": LEAF}
_SPEC: Fields = {"f:spec": LEAF}
_SPEC_AND_METADATA: Fields = {"f:metadata": LEAF, "f:spec": LEAF}

_BY_PART: Mapping[tuple[str, str], Fields] = {
    ("certificatesigningrequests.certificates.k8s.io", ""): {"f:spec": LEAF, "f:status": LEAF},
    ("certificatesigningrequests.certificates.k8s.io", "status"): {"f:spec": LEAF, "f:status": {"f:conditions": LEAF}},
    ("certificatesigningrequests.certificates.k8s.io", "approval"): {
        "f:spec": LEAF,
        "f:status": {"f:certificate": LEAF},
    },
    ("deployments.apps", "status"): {"f:metadata": {"f:labels": LEAF}, "f:spec": LEAF},
    ("podcertificaterequests.certificates.k8s.io", ""): NONE,
    ("pods", "status"): {
        "f:metadata": {"f:deletionTimestamp": LEAF, "f:ownerReferences": LEAF},
        "f:spec": LEAF,
    },
}
_WITH_METADATA = frozenset(
    {
        "apiservices.apiregistration.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "resourceclaims.resource.k8s.io",
        "servicecidrs.networking.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "volumeattachments.storage.k8s.io",
    }
)
"""Kinds whose status cannot be written with other metadata, beside custom ones."""
_ONLY: Mapping[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("pods", "ephemeralcontainers"): (("spec", "ephemeralContainers"),),
    ("pods", "resize"): (
        ("spec", "containers", "*", "resources"),
        ("spec", "containers", "*", "resizePolicy"),
        ("spec", "initContainers", "*", "resources"),
        ("spec", "initContainers", "*", "resizePolicy"),
    ),
}
"""Parts that change these fields alone; `*` is any item."""


def reset(resource: ServedResource, part: str) -> Fields:
    """The fields that a request to that part of an object never changes, with all below them."""
    own = _BY_PART.get((resource.group_resource, part))
    if own is not None:
        return own
    if part in ("", "finalize"):
        return _STATUS if "status" in resource.subresources else NONE
    if part == "status":
        return _SPEC_AND_METADATA if resource.is_defined or resource.group_resource in _WITH_METADATA else _SPEC
    return NONE


def changeable(resource: ServedResource, part: str, fields: Fields) -> Fields:
    """The fields of a set that a request to that part may change."""
    only = _ONLY.get((resource.group_resource, part))
    return fields if only is None else _along(fields, only)


def _along(fields: Fields, ways: tuple[tuple[str, ...], ...]) -> Fields:
    made: Fields = {}
    for step, node in fields.items():
        rest = tuple(way[1:] for way in ways if way and (way[0] == "*" or step == f"f:{way[0]}"))
        if not rest:
            continue
        if () in rest:
            made[step] = node
        elif not node or "." in node:
            made[step] = {".": LEAF, **_along(node, rest)}
        elif below := _along(node, rest):
            made[step] = below
    return made
