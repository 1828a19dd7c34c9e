"""ValidatingAdmissionPolicy: policies in CEL refuse requests, or warn of them.

Policies that use what cannot be evaluated here are stored alone.
"""

from __future__ import annotations

from simulation.apiserver.admission.attributes import Attributes, Plugin
from simulation.apiserver.admission.policy_bindings import Misconfigured, data_of, invocations
from simulation.apiserver.kinds.table import VALIDATING_BINDINGS, VALIDATING_POLICIES
from simulation.apiserver.status import StatusError
from simulation.validations.policies import Fault, faults_of, is_evaluated

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
"""The codes of reasons; that of others is 422."""


def validate(this: Attributes) -> None:
    """Raises StatusError."""
    bindings = this.core.store.of[VALIDATING_BINDINGS.store_key]
    program = this.core.rule_program
    if not len(bindings) or program is None:
        return
    refused: Fault | None = None
    asked, found = invocations(this, VALIDATING_POLICIES, VALIDATING_BINDINGS, is_evaluated)
    for one in found:
        where = f"ValidatingAdmissionPolicy '{one.policy['metadata']['name']}'"
        if one.binding is not None:
            where += f" with binding '{one.binding['metadata']['name']}'"
        if isinstance(one, Misconfigured):
            faults = [] if one.policy["spec"].get("failurePolicy") == "Ignore" else [Fault(one.why)]
        else:
            faults = faults_of(program, one.policy, data_of(this, asked, one.params))
        actions = ("Deny",) if one.binding is None else one.binding["spec"].get("validationActions") or ()
        for fault in faults:
            if "Warn" in actions:
                words = f"Validation failed for {where}: {fault.message}"
                this.call.warnings.append(words)
            if "Deny" in actions and refused is None:
                refused = Fault(f"{where} denied request: {fault.message}", fault.reason)
    if refused is not None:
        raise _refusal(this, refused)


PLUGIN = Plugin("ValidatingAdmissionPolicy", validate=validate)


def _refusal(this: Attributes, fault: Fault) -> StatusError:
    refusal = this.forbidden(fault.message, [{"message": fault.message}])
    code = _CODES.get(fault.reason, 422)
    return StatusError(code, fault.reason, refusal.message, refusal.details)
