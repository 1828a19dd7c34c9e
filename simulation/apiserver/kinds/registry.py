"""Which rules hold for which resource."""

from __future__ import annotations

from config import objects
from config.objects import ApiStruct
from simulation.apiserver.core import Core
from simulation.apiserver.custom.definition_rules import DefinitionRules
from simulation.apiserver.kinds.config_data import ConfigMapRules, SecretRules
from simulation.apiserver.kinds.events import EventRules
from simulation.apiserver.kinds.namespaces import NamespaceRules
from simulation.apiserver.kinds.nodes import LeaseRules, NodeRules
from simulation.apiserver.kinds.pods import PodRules
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.kinds.services import ServiceRules
from simulation.apiserver.kinds.storage import CertificateRequestRules, ClaimRules, VolumeRules
from simulation.apiserver.resources import SERVED, ServedResource

_OWN: dict[str, type[KindRules]] = {
    "certificatesigningrequests.certificates.k8s.io": CertificateRequestRules,
    "configmaps": ConfigMapRules,
    "customresourcedefinitions.apiextensions.k8s.io": DefinitionRules,
    "events": EventRules,
    "leases.coordination.k8s.io": LeaseRules,
    "namespaces": NamespaceRules,
    "nodes": NodeRules,
    "persistentvolumeclaims": ClaimRules,
    "persistentvolumes": VolumeRules,
    "pods": PodRules,
    "secrets": SecretRules,
    "services": ServiceRules,
}


def rules_of_all(core: Core) -> dict[str, KindRules]:
    """Store key -> rules, for every resource that is stored."""
    return {resource.store_key: _rules_of(core, resource) for resource in SERVED if resource.stored}


def _rules_of(core: Core, resource: ServedResource) -> KindRules:
    own = _OWN.get(resource.store_key)
    if own is not None:
        return own(core)
    struct: type[ApiStruct] | None = getattr(objects, resource.kind, None)
    rules = type(
        f"{resource.kind}Rules", (KindRules,), {"struct": struct, "has_status": "status" in resource.subresources}
    )
    made: KindRules = rules(core)
    return made
