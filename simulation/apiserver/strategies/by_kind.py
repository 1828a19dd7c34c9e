"""Which strategy a kind has. A kind that is not in the table has that of its schema, or the plain one."""

from __future__ import annotations

from collections.abc import Callable

from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import SERVED, ServedResource
from simulation.apiserver.strategies.certificates import CertificateRequestStrategy
from simulation.apiserver.strategies.config_data import DataStrategy
from simulation.apiserver.strategies.definitions import DefinitionStrategy
from simulation.apiserver.strategies.limit_ranges import LimitRangeStrategy
from simulation.apiserver.strategies.namespaces import NamespaceStrategy
from simulation.apiserver.strategies.pods import PodStrategy
from simulation.apiserver.strategies.policies import PolicyStrategy, WebhookStrategy
from simulation.apiserver.strategies.published import PublishedStrategy
from simulation.apiserver.strategies.roles import BindingStrategy, RoleStrategy
from simulation.apiserver.strategies.services import ServiceStrategy
from simulation.apiserver.strategies.services_of_apis import ApiServiceStrategy
from simulation.apiserver.strategies.strategy import Strategy
from simulation.apiserver.strategies.volumes import ClaimStrategy, VolumeStrategy
from simulation.apiserver.strategies.workloads import DaemonSetStrategy, JobStrategy, ReplicationControllerStrategy

_STRATEGIES: dict[str, Callable[[Core, ServedResource], Strategy]] = {
    "apiservices.apiregistration.k8s.io": ApiServiceStrategy,
    "certificatesigningrequests.certificates.k8s.io": CertificateRequestStrategy,
    "clusterrolebindings.rbac.authorization.k8s.io": BindingStrategy,
    "clusterroles.rbac.authorization.k8s.io": RoleStrategy,
    "configmaps": DataStrategy,
    "customresourcedefinitions.apiextensions.k8s.io": DefinitionStrategy,
    "daemonsets.apps": DaemonSetStrategy,
    "jobs.batch": JobStrategy,
    "limitranges": LimitRangeStrategy,
    "mutatingadmissionpolicies.admissionregistration.k8s.io": PolicyStrategy,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": PolicyStrategy,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": WebhookStrategy,
    "namespaces": NamespaceStrategy,
    "persistentvolumeclaims": ClaimStrategy,
    "persistentvolumes": VolumeStrategy,
    "pods": PodStrategy,
    "replicationcontrollers": ReplicationControllerStrategy,
    "rolebindings.rbac.authorization.k8s.io": BindingStrategy,
    "roles.rbac.authorization.k8s.io": RoleStrategy,
    "secrets": DataStrategy,
    "services": ServiceStrategy,
    "validatingadmissionpolicies.admissionregistration.k8s.io": PolicyStrategy,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": PolicyStrategy,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": WebhookStrategy,
}
"""Kinds with rules of their own, by store key."""


def strategies(core: Core) -> dict[str, Strategy]:
    """The strategies of all built-in kinds, by store key."""
    stored = (resource for resource in SERVED if resource.stored and not resource.storage)
    return {resource.store_key: _strategy_of(resource)(core, resource) for resource in stored}


def _strategy_of(resource: ServedResource) -> Callable[[Core, ServedResource], Strategy]:
    return _STRATEGIES.get(resource.store_key, Strategy if resource.described is None else PublishedStrategy)
