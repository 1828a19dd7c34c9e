"""Whether Kubernetes has approved of a definition in one of its own groups, as an annotation says.

The rules are upstream's (`apihelpers` of `k8s.io/apiextensions-apiserver`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from simulation.apiserver.schemas.structural import Cause
from simulation.apiserver.schemas.validation import invalid_at
from simulation.apiserver.status import Json, required

APPROVED = "api-approved.kubernetes.io"
_GROUPS = ("k8s.io", "kubernetes.io")
_WANTED = f'protected groups must have approval annotation "{APPROVED}"'
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
MISSING, INVALID = "MissingAnnotation", "InvalidAnnotation"


class Approval(NamedTuple):
    """What the condition `KubernetesAPIApprovalPolicyConformant` says."""

    status: str
    reason: str
    message: str


def approval_of(definition: Json) -> Approval | None:
    """None for a definition in a group of somebody else."""
    group = definition["spec"]["group"]
    if not any(group == own or group.endswith(f".{own}") for own in _GROUPS):
        return None
    said = _said(definition)
    if not said:
        return Approval("False", MISSING, f"{_WANTED}, {_SEE}")
    if said.startswith("unapproved"):
        return Approval("False", "UnapprovedAnnotation", f'not approved: "{said}"')
    if _is_url(said):
        return Approval("True", "ApprovedAnnotation", f"approved in {said}")
    return Approval("False", INVALID, f'{_WANTED} with either a URL or a reason starting with "unapproved", {_SEE}')


def faults_of_approval(before: Json | None, definition: Json) -> Iterator[Cause]:
    """The fault of a new or changed annotation. An old fault may stay."""
    found = approval_of(definition)
    was = None if before is None else approval_of(before)
    if found is None or (was is not None and was.reason == found.reason):
        return
    path = f"metadata.annotations[{APPROVED}]"
    if found.reason == MISSING:
        yield required(path, found.message)
    elif found.reason == INVALID:
        yield invalid_at(path, _said(definition), found.message)


def _said(definition: Json) -> str:
    return (definition["metadata"].get("annotations") or {}).get(APPROVED) or ""


def _is_url(text: str) -> bool:
    try:
        found = urlsplit(text)
    except ValueError:
        return False
    return bool(found.scheme and found.netloc) and text.isprintable() and " " not in text
