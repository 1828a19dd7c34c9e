"""The rules of a custom resource: its objects are pruned, defaulted, and checked against their schema.

Unknown fields are removed first, with a warning or a refusal as `fieldValidation` says. Then come defaults, then the
check. Objects are stored in the definition's storage version. A resource of another version shows the same object with
its own version, pruned and with its own defaults. An old fault in an unchanged field is allowed, so that a definition
may become stricter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from config.caches import with_its_object
from config.documents.codec import DocumentError, from_builtins
from config.objects import ObjectMeta
from simulation.apiserver.core import Core
from simulation.apiserver.custom.shapes import pruned, with_defaults
from simulation.apiserver.custom.validation import At, SchemaFault, faults_of
from simulation.apiserver.kinds.rules import KindRules, tell_of_unknown, undecodable
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import CustomVersion, ServedResource
from simulation.apiserver.status import Json, StatusError, invalid
from simulation.apiserver.store import Version
from simulation.validations.judge import RULES_NOT_CHECKED, causes_of_object
from simulation.validations.rules import MISSING, has_rules

_MISSING = object()


class _Twin(Version, eq=False, kw_only=True):
    """A version as one resource shows it."""

    resource: ServedResource


class CustomRules(KindRules):
    """`api_version`: the stored one. `on_removed` is called when an object has been removed."""

    def __init__(self, core: Core, api_version: str, on_removed: Callable[[], object]) -> None:
        super().__init__(core)
        self._api_version = api_version
        self._on_removed = on_removed
        self.counts_generations = True
        self.ending = False
        """Whether the definition is being deleted; then no object is created."""

    def check(self, call: ResourceCall, value: Json) -> None:
        """`prepare` and the changes check objects, since they know what was there before."""

    def prepare(self, call: ResourceCall, value: Json) -> None:
        if self.ending:
            why = "create not allowed while custom resource definition is terminating is not supported on resources"
            text = f'{why} of kind "{call.resource.group_resource}"'
            raise StatusError(405, "MethodNotAllowed", text, {})
        if "status" in call.resource.subresources:
            value.pop("status", None)
        if call.resource.first_status is not None:
            value["status"] = dict(call.resource.first_status)
        self._make_good(call, value)
        if self.counts_generations:
            value["metadata"]["generation"] = 1

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        before = _shown(call.resource, old)
        self._make_good(call, new, before)
        apart = {"apiVersion", "metadata", *call.resource.subresources}
        differs = any(before.get(name) != new.get(name) for name in {*before, *new} - apart)
        if differs and self.counts_generations:
            new["metadata"]["generation"] = new["metadata"].get("generation", 0) + 1

    def change_status(self, call: ResourceCall, old: Json, new: Json) -> None:
        new["apiVersion"] = self._api_version
        new["metadata"].clear()
        new["metadata"].update(old["metadata"])
        self._make_good(call, new, _shown(call.resource, old))

    def _make_good(self, call: ResourceCall, value: Json, before: Json | None = None) -> None:
        """Raises StatusError."""
        _check_schema(call, value, before)
        program = self.core.rule_program
        if program is not None and _has_rules(call.resource):
            schema = _custom(call.resource).schema
            causes = causes_of_object(program, schema, value, MISSING if before is None else before)
            if causes:
                raise invalid(call.resource, value["metadata"]["name"], causes)

    def removed(self, last: Version) -> None:
        self._on_removed()

    def seen_in(self, resource: ServedResource, version: Version) -> Version:
        twin = version.twin
        if not isinstance(twin, _Twin) or twin.resource is not resource:
            shown = _shown(resource, version.object)
            twin = version.twin = _Twin(version.key, shown, version.revision, resource=resource)
        return twin

    def stored_of(self, resource: ServedResource, value: Json) -> Json:
        return {**value, "apiVersion": self._api_version}


def _custom(resource: ServedResource) -> CustomVersion:
    assert resource.custom is not None
    return resource.custom


@with_its_object
def _has_rules(resource: ServedResource) -> bool:
    return resource.is_defined and has_rules(_custom(resource).schema)


def _shown(resource: ServedResource, value: Json) -> Json:
    """A stored object as the resource shows it."""
    schema = _custom(resource).schema
    shown: Json = with_defaults(pruned(value, schema, []), schema)
    return shown if shown["apiVersion"] == resource.api_version else {**shown, "apiVersion": resource.api_version}


def _check_schema(call: ResourceCall, value: Json, before: Json | None = None) -> None:
    """Prune, default and check an object before it is stored; changes its top level in place.

    Raises StatusError.
    """
    schema, metadata = _custom(call.resource).schema, value["metadata"]
    unknown: list[str] = []
    made: Json = pruned(value, schema, unknown)
    for name in metadata.keys() - made["metadata"].keys():
        del metadata[name]
    tell_of_unknown(call, unknown)
    try:
        from_builtins(metadata, ObjectMeta)
    except DocumentError as error:
        raise undecodable(call.resource, error, "metadata.") from None
    made = {**with_defaults(made, schema), "metadata": metadata}
    faults = [fault for fault in faults_of(made, schema) if before is None or not _is_old(fault, before, made)]
    if faults:
        unchecked = [RULES_NOT_CHECKED] if _has_rules(call.resource) else []
        raise invalid(call.resource, metadata["name"], [*(fault.cause for fault in faults), *unchecked])
    value.clear()
    value.update(made)


def _is_old(fault: SchemaFault, before: Json, after: Json) -> bool:
    """Whether the same fault was there before. Items of lists may have moved, so a list counts as a whole."""
    at = fault.at[:-1] if fault.reason == "FieldValueRequired" else fault.at
    names = next((at[:number] for number, step in enumerate(at) if isinstance(step, int)), at)
    found = _at(after, names)
    return bool(names) and found is not _MISSING and found == _at(before, names)


def _at(value: Any, names: At) -> Any:
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return _MISSING
        value = value[name]
    return value
