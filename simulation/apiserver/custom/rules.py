"""The rules of a custom resource: its objects are pruned, get their defaults, and are as their schema says.

Owns in which order: what the schema does not know goes first (and is told of, or refused, as `fieldValidation` says),
then come defaults, then what is left is checked. What is stored has the version that the definition stores; a resource
of another version, or of a definition that has changed since, shows the same object with its own version, pruned and
with its own defaults. What was wrong before and has not been touched is let through, so that a definition may become
stricter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from config.documents.codec import DocumentError, from_builtins
from config.objects import ObjectMeta
from simulation.apiserver.core import Core
from simulation.apiserver.custom.defaults import with_defaults
from simulation.apiserver.custom.pruning import pruned
from simulation.apiserver.custom.validation import At, Fault, faults_of
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import CustomVersion, ServedResource
from simulation.apiserver.status import Json, StatusError, bad_request, invalid
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.field_validation import tell_of_unknown

_MISSING = object()


class _Twin(Version, eq=False, kw_only=True):
    """A version as one resource shows it."""

    resource: ServedResource


class CustomRules(KindRules):
    """See the module. `api_version`: the one that is stored. `on_removed` is told when an object is gone."""

    unconditional_update = False

    def __init__(self, core: Core, api_version: str, on_removed: Callable[[], object]) -> None:
        super().__init__(core)
        self._api_version = api_version
        self._on_removed = on_removed
        self.ending = False
        """Whether the definition is on its way out: then nothing new is let in."""

    def prepare(self, call: Call, value: Json) -> None:
        if self.ending:
            why = "create not allowed while custom resource definition is terminating is not supported on resources"
            text = f'{why} of kind "{call.resource.group_resource}"'
            raise StatusError(405, "MethodNotAllowed", text, {})
        if "status" in call.resource.subresources:
            value.pop("status", None)
        _make_good(call, value)
        value["metadata"]["generation"] = 1

    def change(self, call: Call, old: Json, new: Json) -> None:
        has_status = "status" in call.resource.subresources
        if has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        before = _shown(call.resource, old)
        _make_good(call, new, before)
        if _without(before, has_status) != _without(new, has_status):
            metadata = new["metadata"]
            metadata["generation"] = metadata.get("generation", 0) + 1

    def change_status(self, call: Call, old: Json, new: Json) -> None:
        new["apiVersion"] = self._api_version
        metadata = new["metadata"]
        metadata.clear()
        metadata.update(old["metadata"])
        _make_good(call, new, _shown(call.resource, old))

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


def _without(value: Json, has_status: bool) -> Json:
    """What the generation counts the changes of."""
    apart = ("apiVersion", "metadata", "status") if has_status else ("apiVersion", "metadata")
    return {name: part for name, part in value.items() if name not in apart}


def _custom(resource: ServedResource) -> CustomVersion:
    assert resource.custom is not None
    return resource.custom


def _shown(resource: ServedResource, value: Json) -> Json:
    """A stored object as the resource shows it."""
    schema = _custom(resource).schema
    shown: Json = with_defaults(pruned(value, schema, []), schema)
    if shown["apiVersion"] != resource.api_version:
        shown = {**shown, "apiVersion": resource.api_version}
    return shown


def _make_good(call: Call, value: Json, before: Json | None = None) -> None:
    """Prune, complete and check an object that is to be stored, in place at the top. Raises StatusError."""
    schema, metadata = _custom(call.resource).schema, value["metadata"]
    unknown: list[str] = []
    made: Json = pruned(value, schema, unknown)
    if made["metadata"] is not metadata:
        for name in metadata.keys() - made["metadata"].keys():
            del metadata[name]
    tell_of_unknown(call, unknown)
    _check_metadata(call, metadata)
    made = {**with_defaults(made, schema), "metadata": metadata}
    faults = faults_of(made, schema)
    if before is not None:
        faults = [fault for fault in faults if not _is_old(fault, before, made)]
    if faults:
        raise invalid(call.resource, metadata["name"], [fault.cause for fault in faults])
    value.clear()
    value.update(made)


def _check_metadata(call: Call, metadata: Json) -> None:
    """The types of its fields. Raises StatusError (400)."""
    try:
        from_builtins(metadata, ObjectMeta)
    except DocumentError as error:
        kind, version = call.resource.kind, call.resource.version
        path = error.path.removeprefix("$.")
        raise bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: metadata.{path}: {error.reason}'
        ) from None


def _is_old(fault: Fault, before: Json, after: Json) -> bool:
    """Whether what is wrong stood there before just so. Items of lists may have moved, so lists count as a whole."""
    at: At = fault.at
    if fault.reason == "FieldValueRequired":
        at = at[:-1]
    names = next((at[:number] for number, step in enumerate(at) if isinstance(step, int)), at)
    found = _at(after, names)
    return bool(names) and found is not _MISSING and found == _at(before, names)


def _at(value: Any, names: At) -> Any:
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return _MISSING
        value = value[name]
    return value
