"""Rules for references to the pod's own fields and resources (spec 13.3).

Pure; faults go to the `DocumentPlace`. The environment and the downward API share the rules, but allow different
fields.
"""

from __future__ import annotations

import re

from config.documents.places import DocumentPlace
from config.objects import ObjectFieldSelector, ResourceFieldSelector
from config.validation.resources import check_quantity
from config.values.name_rules import check, qualified_name

_IN_BOTH = ("metadata.name", "metadata.namespace", "metadata.uid")
_IN_ENVIRONMENT = (
    *_IN_BOTH,
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_IN_VOLUMES = (*_IN_BOTH, "metadata.labels", "metadata.annotations")
_ENTRY = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)


def check_field_reference(at: DocumentPlace, reference: ObjectFieldSelector, *, environment: bool) -> None:
    """Check a `fieldRef`. `environment`: it sets a variable; otherwise it fills a file of a volume."""
    path = reference.field_path
    (at / "apiVersion").one_of(reference.api_version, ("v1",))
    if not (at / "fieldPath").required(path):
        return
    entry = _ENTRY.fullmatch(path)
    offered = _IN_ENVIRONMENT if environment else _IN_VOLUMES
    if entry is not None:
        check(at / "fieldPath", qualified_name(entry[2]))
    elif path not in offered:
        (at / "fieldPath").fault(
            f"{path!r} is not a field offered here", f"use {', '.join(offered)} or metadata.labels['key']"
        )


def check_resource_reference(at: DocumentPlace, reference: ResourceFieldSelector, *, in_volume: bool) -> None:
    """Check a `resourceFieldRef`. In a volume it must name a container."""
    if in_volume:
        (at / "containerName").required(reference.container_name)
    huge_pages = reference.resource.startswith(("limits.hugepages-", "requests.hugepages-"))
    if (at / "resource").required(reference.resource) and reference.resource not in _RESOURCES and not huge_pages:
        (at / "resource").fault(
            f"{reference.resource!r} is not a resource offered here", f"use {', '.join(_RESOURCES)}"
        )
    if reference.divisor is not None:
        check_quantity(at / "divisor", reference.divisor)
