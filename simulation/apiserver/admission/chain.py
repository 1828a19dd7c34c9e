"""The plugins of admission, in the order of Kubernetes.

First all plugins may change an object, and once more if a policy or a webhook has changed it. After validation all may
judge it.

A new plugin is one file, and one line here. The order is that of `AllOrderedPlugins` in kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Callable

from config.caches import with_its_object
from simulation.apiserver.admission import (
    certificates,
    claim_resize,
    default_classes,
    default_tolerations,
    limit_ranger,
    mutating_policies,
    namespace_lifecycle,
    node_restriction,
    node_taints,
    pod_security,
    pod_topology_labels,
    priority,
    resource_quota,
    runtime_class,
    service_account,
    storage_protection,
    validating_policies,
    webhooks,
)
from simulation.apiserver.admission.attributes import Attributes
from simulation.apiserver.kinds.table import ServedResource

PLUGINS = (
    namespace_lifecycle.PLUGIN,
    limit_ranger.PLUGIN,
    service_account.PLUGIN,
    node_restriction.PLUGIN,
    node_taints.PLUGIN,
    pod_security.PLUGIN,
    priority.PLUGIN,
    default_tolerations.PLUGIN,
    default_classes.STORAGE_PLUGIN,
    storage_protection.PLUGIN,
    claim_resize.PLUGIN,
    runtime_class.PLUGIN,
    certificates.APPROVAL_PLUGIN,
    certificates.SIGNING_PLUGIN,
    certificates.SUBJECT_PLUGIN,
    default_classes.INGRESS_PLUGIN,
    pod_topology_labels.PLUGIN,
    mutating_policies.PLUGIN,
    webhooks.MUTATING_PLUGIN,
    validating_policies.PLUGIN,
    webhooks.VALIDATING_PLUGIN,
    resource_quota.PLUGIN,
)
_Step = Callable[[Attributes], object]
_Steps = tuple[tuple[_Step, ...], tuple[_Step, ...]]


def admit(this: Attributes) -> None:
    """Let the plugins change the object. Raises StatusError, ReviewWantedError."""
    steps = _steps(this.call.resource, this.call.target.subresource, this.operation)[0]
    for step in steps:
        step(this)
    if this.wants_again:
        this.is_again = True
        for step in steps:
            step(this)


def validate(this: Attributes) -> None:
    """Let the plugins judge the object. Raises StatusError, ReviewWantedError."""
    for step in _steps(this.call.resource, this.call.target.subresource, this.operation)[1]:
        step(this)


def _steps(resource: ServedResource, part: str, operation: str) -> _Steps:
    """What to do about such a request, by phase."""
    known = _steps_of(resource)
    if (part, operation) not in known:
        asked = [one for one in PLUGINS if one.is_concerned((resource, part, operation))]
        known[part, operation] = (
            tuple(one.admit for one in asked if one.admit is not None),
            tuple(one.validate for one in asked if one.validate is not None),
        )
    return known[part, operation]


@with_its_object
def _steps_of(resource: ServedResource) -> dict[tuple[str, str], _Steps]:
    """By part and operation, of which a resource has few; filled as they are asked for."""
    return {}
