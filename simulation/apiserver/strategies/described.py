"""Kinds that a schema describes, custom ones and published ones alike.

Objects get their defaults, lose unknown fields with a warning or a refusal as `fieldValidation` says, and are checked
against the schema. They are stored in one version. A resource of another version shows the same object with its own
version, pruned and with its own defaults. An old fault in an unchanged field is allowed, so that a definition may
become stricter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from config.caches import with_its_object
from config.documents.codec import DocumentError, from_builtins
from config.objects import ObjectMeta
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.schemas.go_types import has_go_type
from simulation.apiserver.schemas.kind_schema import KindSchema
from simulation.apiserver.schemas.shapes import pruned, with_defaults
from simulation.apiserver.schemas.validation import At, SchemaFault, faults_of
from simulation.apiserver.status import Json, StatusError, invalid
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.strategy import Strategy, tell_of_unknown, twin_of, undecodable
from simulation.validations.judge import RULES_NOT_CHECKED, causes_of_object
from simulation.validations.rules import MISSING, has_rules

_MISSING = object()


class DescribedStrategy(Strategy):
    """`api_version`: the stored one. Every version has the same fields, unless a subclass converts them."""

    def __init__(self, core: Core, api_version: str) -> None:
        super().__init__(core)
        self._api_version = api_version
        self.ending = False
        """Whether the definition is being deleted; then no object is created."""

    def decode(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """The metadata alone; `validate` checks what the schema says, since it knows what was there before."""
        if self.ending and before is None:
            why = "create not allowed while custom resource definition is terminating is not supported on resources"
            text = f'{why} of kind "{call.resource.group_resource}"'
            raise StatusError(405, "MethodNotAllowed", text, {})
        try:
            from_builtins(value["metadata"], ObjectMeta)
        except DocumentError as error:
            raise undecodable(call.resource, error, "metadata.") from None

    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        _replace(value, with_defaults(value, _described(call.resource).schema))
        super().default(call, before, value)

    def prune(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        unknown: list[str] = []
        _replace(value, pruned(value, _described(call.resource).schema, unknown))
        tell_of_unknown(call, unknown)

    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().validate(call, before, value)
        resource, name, schema = call.resource, value["metadata"]["name"], _described(call.resource).schema
        if has_go_type(resource.api_version, resource.kind):
            return  # `decode` has checked its types, and its rules say what is required.
        found = [fault for fault in faults_of(value, schema) if before is None or not _is_old(fault, before, value)]
        if found:
            unchecked = [RULES_NOT_CHECKED] if _has_rules(resource) else []
            raise invalid(resource, name, [*(fault.cause for fault in found), *unchecked])
        program = self.core.rule_program
        if program is not None and _has_rules(resource):
            causes = causes_of_object(program, schema, value, MISSING if before is None else before)
            if causes:
                raise invalid(resource, name, causes)

    def shown(self, resource: ServedResource, version: Version) -> Version:
        if not resource.is_defined:
            return super().shown(resource, version)

        def in_version(value: Json) -> Json:
            return _shown(resource, self.converted([value], resource.api_version)[0])

        return twin_of(version, resource, in_version)

    def converted(self, values: Sequence[Json], api_version: str) -> Sequence[Json]:
        """Objects of one version as those of another, whose name `_shown` and `stored` write."""
        return values

    def stored(self, resource: ServedResource, value: Json) -> Json:
        if not resource.is_defined:
            return super().stored(resource, value)
        return value if value["apiVersion"] == self._api_version else {**value, "apiVersion": self._api_version}


def _replace(value: Json, made: Json) -> None:
    """Put other fields into the top of an object."""
    if made is not value:
        made = dict(made)
        value.clear()
        value.update(made)


def _described(resource: ServedResource) -> KindSchema:
    assert resource.described is not None
    return resource.described


@with_its_object
def _has_rules(resource: ServedResource) -> bool:
    return resource.is_defined and has_rules(_described(resource).schema)


def _shown(resource: ServedResource, value: Json) -> Json:
    """A stored object as the resource shows it."""
    schema = _described(resource).schema
    shown: Json = with_defaults(pruned(value, schema, []), schema)
    return shown if shown["apiVersion"] == resource.api_version else {**shown, "apiVersion": resource.api_version}


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
