"""ValidatingAdmissionPolicy: policies in CEL refuse requests, or warn of them.

MutatingAdmissionPolicies are stored alone. So are policies that use what cannot be evaluated here. Whoever writes one
is told so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulation.apiserver.admission.attributes import CREATE, DELETE, UPDATE, Attributes, Concern, Plugin
from simulation.apiserver.admission.webhooks import asked_of
from simulation.apiserver.kinds.table import (
    DEFINITIONS,
    MUTATING_BINDINGS,
    NAMESPACES,
    SERVED,
    VALIDATING_BINDINGS,
    VALIDATING_POLICIES,
)
from simulation.apiserver.status import Json, StatusError
from simulation.validations.policies import Fault, faults_of, is_evaluated, matches
from simulation.webhooks.matching import Asked, selects

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
"""The codes of reasons; that of others is 422."""


class _WrongBindingError(Exception):
    """The parameters of a binding cannot be found; the text says why."""


def validate(this: Attributes) -> None:
    """Raises StatusError."""
    bindings = this.core.store.of[VALIDATING_BINDINGS.store_key]
    program = this.core.rule_program
    if not len(bindings) or program is None:
        return
    asked = asked_of(this.core.store, this.call, this.old, this.new)
    refused: Fault | None = None
    for binding in (one.object for one in bindings.in_namespace("")):
        found = this.core.store.get(VALIDATING_POLICIES.store_key, "", binding["spec"].get("policyName") or "")
        if found is None or not is_evaluated(found.object):
            continue
        policy, spec = found.object, binding["spec"]
        if not (matches(policy["spec"].get("matchConstraints"), asked) and matches(spec.get("matchResources"), asked)):
            continue
        where = f"ValidatingAdmissionPolicy '{found.name}' with binding '{binding['metadata']['name']}'"
        try:
            each_params = list(_params(this, policy, spec.get("paramRef")))
            faults = [one for params in each_params for one in faults_of(program, policy, _data(this, asked, params))]
        except _WrongBindingError as error:
            faults = [Fault(f"failed to configure binding: {error}")]
            faults = [] if policy["spec"].get("failurePolicy") == "Ignore" else faults
        actions = spec.get("validationActions") or ()
        for fault in faults:
            if "Warn" in actions:
                words = f"Validation failed for {where}: {fault.message}"
                this.call.warnings.append(words)
            if "Deny" in actions and refused is None:
                refused = Fault(f"{where} denied request: {fault.message}", fault.reason)
    if refused is not None:
        raise _refusal(this, refused)


def warn(this: Attributes) -> None:
    """Say of a new policy, or of its binding, that it is not evaluated."""
    resource, value = this.call.resource, this.object
    if resource is VALIDATING_POLICIES:
        is_good = this.core.rule_program is not None and is_evaluated(value)
    else:
        is_good = resource is VALIDATING_BINDINGS and this.core.rule_program is not None
    if not (is_good or this.call.dry_run):
        this.call.warnings.append(f"{resource.kind}: it is stored, but this server cannot evaluate it")


def _is_written(concern: Concern) -> bool:
    resource, part, operation = concern
    told = (VALIDATING_POLICIES, VALIDATING_BINDINGS, MUTATING_BINDINGS)
    return resource in told and not part and operation in (CREATE, UPDATE)


PLUGIN = Plugin("ValidatingAdmissionPolicy", validate=validate)
WARNING_PLUGIN = Plugin("UnevaluatedPolicies", _is_written, validate=warn)


def _data(this: Attributes, asked: Asked, params: Json | None) -> dict[str, Any]:
    """What the expressions of a policy read."""
    call, resource = this.call, this.call.resource
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    named = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    request = {
        "kind": kind,
        "resource": named,
        "subResource": call.target.subresource,
        "requestKind": kind,
        "requestResource": named,
        "requestSubResource": call.target.subresource,
        "name": this.name,
        "namespace": call.namespace,
        "operation": asked.operation,
        "userInfo": asked.user,
        "dryRun": call.dry_run,
    }
    home = this.core.store.get(NAMESPACES.store_key, "", call.namespace)
    return {
        "object": None if this.operation == DELETE else this.new,
        "oldObject": this.old,
        "request": request,
        "params": params,
        "namespaceObject": None if home is None else home.object,
    }


def _params(this: Attributes, policy: Json, reference: Json | None) -> Iterator[Json | None]:
    """The parameters of a binding, each for one evaluation; None without any. Raises _WrongBindingError."""
    kind = policy["spec"].get("paramKind")
    if not kind or not reference:
        yield None
        return
    key = _store_key(this, kind)
    known = this.core.store.of[key] if key else None
    if known is None:
        raise _WrongBindingError(
            f"failed to find resource referenced by paramKind: '{kind['apiVersion']}, Kind={kind['kind']}'"
        )
    namespace = reference.get("namespace") or this.call.namespace
    found = [one.object for place in dict.fromkeys((namespace, "")) for one in known.in_namespace(place)]
    if reference.get("name"):
        found = [one for one in found if one["metadata"]["name"] == reference["name"]]
    else:
        wanted = reference.get("selector") or {}
        found = [one for one in found if selects(wanted, one["metadata"].get("labels") or {})]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise _WrongBindingError("no params found for policy binding with `Deny` parameterNotFoundAction")
    yield from found


def _store_key(this: Attributes, kind: Json) -> str:
    """Where the objects of a kind are stored; empty for an unknown kind."""
    api_version, name = kind.get("apiVersion"), kind.get("kind")
    built_in = (one.store_key for one in SERVED if (one.api_version, one.kind) == (api_version, name) and one.stored)
    group = str(api_version).partition("/")[0]
    custom = (
        one.name
        for one in this.core.store.of[DEFINITIONS.store_key].all()
        if (one.object["spec"]["group"], one.object["spec"]["names"]["kind"]) == (group, name)
    )
    return next(built_in, None) or next(custom, "")


def _refusal(this: Attributes, fault: Fault) -> StatusError:
    refusal = this.forbidden(fault.message, [{"message": fault.message}])
    code = _CODES.get(fault.reason, 422)
    return StatusError(code, fault.reason, refusal.message, refusal.details)
