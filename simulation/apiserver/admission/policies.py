"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: they are stored, but not evaluated.

Whoever binds one is told so, since nothing is refused or changed afterwards.
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import CREATE, UPDATE, Attributes, Plugin
from simulation.apiserver.kinds.table import POLICY_BINDINGS


def validate(this: Attributes) -> None:
    if not this.call.dry_run:
        this.call.warnings.append(f"{this.call.resource.kind}: this server stores policies, but does not evaluate them")


PLUGIN = Plugin(
    "AdmissionPolicies",
    frozenset((resource, "", operation) for resource in POLICY_BINDINGS for operation in (CREATE, UPDATE)),
    validate=validate,
)
