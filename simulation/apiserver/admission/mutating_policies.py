"""MutatingAdmissionPolicy: policies in CEL change the objects of requests.

A mutation is a configuration that is merged as server-side apply does, or a JSON patch. After each one the object is
read as if a client had sent it, so that the next one sees its defaults. Policies that use what cannot be evaluated here
are stored alone. The words of refusals are those of `admission/plugin/policy/mutating` in k8s.io/apiserver.
"""

from __future__ import annotations

from config.patches import PatchError, apply_json_patch
from simulation.apiserver.admission.attributes import Attributes, Plugin, snapshot
from simulation.apiserver.admission.policy_bindings import Invocation, Misconfigured, data_of, invocations
from simulation.apiserver.admission.reinvocation import Turn
from simulation.apiserver.fields.merging import ConfigurationError, check_configuration, merged, whole_parts
from simulation.apiserver.fields.resources import type_of
from simulation.apiserver.kinds.table import MUTATING_BINDINGS, MUTATING_POLICIES
from simulation.apiserver.status import Json, StatusError, internal_error
from simulation.validations.mutations import (
    JSON_PATCH,
    MutationError,
    check_conditions,
    configuration_of,
    is_evaluated,
    operations_of,
)
from simulation.validations.program import RuleProgram
from simulation.webhooks.matching import Asked


def admit(this: Attributes) -> None:
    """Raises StatusError."""
    bindings = this.core.store.of[MUTATING_BINDINGS.store_key]
    program = this.core.rule_program
    if not len(bindings) or program is None or this.new is None:
        return
    turn, faults, has_mutated = Turn(this, PLUGIN.name), [], False
    asked, found = invocations(this, MUTATING_POLICIES, MUTATING_BINDINGS, is_evaluated)
    for one in found:
        if isinstance(one, Misconfigured):
            faults += _faults(one, [one.why], "Forbidden")
        else:
            wrong, done = _mutate(this, program, asked, one, turn)
            faults += _faults(one, wrong, "Invalid")
            has_mutated |= done
    # Upstream does not ask whether anything has changed: a policy may run again because of itself.
    turn.end(changed=has_mutated)
    if faults:
        reason, message = faults[0]
        refusal = this.forbidden(message, [{"message": each} for _, each in faults])
        raise StatusError(403, reason, message, refusal.details)


PLUGIN = Plugin("MutatingAdmissionPolicy", admit=admit)


def _faults(one: Invocation | Misconfigured, texts: list[str], reason: str) -> list[tuple[str, str]]:
    """The reasons and messages of faults that count."""
    if one.policy["spec"].get("failurePolicy") == "Ignore":
        return []
    name = one.policy["metadata"]["name"]
    where = f'policy "{name}"'
    if one.binding is not None:
        where = f"policy '{name}' with binding '{one.binding['metadata']['name']}'"
    return [(reason, f"{where} denied request: {text}") for text in texts]


def _mutate(
    this: Attributes, program: RuleProgram, asked: Asked, one: Invocation, turn: Turn
) -> tuple[list[str], bool]:
    """Carry out all mutations of a policy.

    Returns what is wrong with those that cannot be, and whether any could be. Raises StatusError.
    """
    assert this.new is not None
    spec = one.policy["spec"]
    try:
        if not check_conditions(program, spec, data_of(this, asked, one.params)) or not turn.is_for(one.key):
            return [], False
    except MutationError as error:
        return [str(error)], False
    before, faults = snapshot(this.new), []
    mutations = spec.get("mutations") or ()
    for mutation in mutations:
        try:
            if mutation["patchType"] == JSON_PATCH:
                _patch(this, program, asked, one, mutation)
            else:
                _merge(this, program, asked, one, mutation)
        except MutationError as error:
            faults.append(str(error))
    turn.ran(one.key, changed=this.new != before, policy=spec.get("reinvocationPolicy"))
    return faults, len(faults) < len(mutations)


def _patch(this: Attributes, program: RuleProgram, asked: Asked, one: Invocation, mutation: Json) -> None:
    """Raises MutationError, StatusError."""
    operations = operations_of(program, one.policy["spec"], mutation, data_of(this, asked, one.params))
    try:
        value = apply_json_patch(_whole(this), operations)
    except PatchError as error:
        if error.failed_test:
            return
        raise MutationError(f"JSON Patch: {error}") from None
    try:
        if not isinstance(value, dict) or not isinstance(value.get("metadata", {}), dict):
            raise internal_error("the patched object is not an object")
        this.become(value, strict=True, renames=True)
    except StatusError as error:
        raise internal_error(_reason(this, error)) from None


def _merge(this: Attributes, program: RuleProgram, asked: Asked, one: Invocation, mutation: Json) -> None:
    """Raises MutationError."""
    configuration = configuration_of(program, one.policy["spec"], mutation, data_of(this, asked, one.params))
    value, kind = _whole(this), type_of(this.call.resource)
    if kind is None:
        raise MutationError(f"Resource kind {this.call.resource.kind} not found.")
    configuration |= {name: value[name] for name in ("apiVersion", "kind")}
    not_typed = "error applying patch: failed to convert patch object to typed object"
    try:
        check_configuration(configuration, kind)
    except ConfigurationError as error:
        raise MutationError(f"{not_typed}: {error}") from None
    atoms = ", ".join(whole_parts(configuration, kind))
    if atoms:
        why = f"may not mutate atomic arrays, maps or structs: {atoms}"
        raise MutationError(f"error applying patch: invalid ApplyConfiguration: {why}")
    try:
        this.become(merged(value, configuration, kind), renames=True)
    except StatusError as error:
        raise MutationError(f"{not_typed}: {_reason(this, error)}") from None


def _whole(this: Attributes) -> Json:
    whole = this.whole()[1]
    assert whole is not None
    return whole


def _reason(this: Attributes, error: StatusError) -> str:
    """What is wrong with an object, without what it is."""
    return error.message.partition(f" cannot be handled as a {this.call.resource.kind}: ")[2] or error.message
