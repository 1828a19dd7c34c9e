"""CustomResourceDefinitions as objects of the server: what happens when one is made, changed and deleted.

Plays the part of the controllers that accept names, serve what is defined, and empty it before it goes. None of that
takes time: who is told that a definition is there finds it established, and one that is deleted is gone as soon as the
last of its objects is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from config.objects import ApiStruct
from simulation.apiserver.core import Core
from simulation.apiserver.custom.catalog import Catalog
from simulation.apiserver.custom.definitions import (
    faults_of,
    faults_of_change,
    is_true,
    schema_of,
    storage_version,
    versions_of,
    with_defaults,
)
from simulation.apiserver.custom.objects import CustomResourceDefinition
from simulation.apiserver.custom.rules import CustomRules
from simulation.apiserver.custom.structural import places_not_read, places_of_cel, unknown_keywords
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import DEFINITIONS, ServedResource
from simulation.apiserver.status import Json, invalid
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.field_validation import tell_of_unknown

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


@dataclass(frozen=True, slots=True)
class Tools:
    """What the rules of definitions get from the server. `add_rules`: store key and rules of a resource that is new.

    `empty`: deletes every object of a resource.
    """

    add_rules: Callable[[str, KindRules], None]
    empty: Callable[[ServedResource], None]


class DefinitionRules(KindRules):
    """See the module. `tools` are set by the server, which has the verbs."""

    struct: type[ApiStruct] | None = CustomResourceDefinition
    has_status = True
    has_generation = True
    unconditional_update = False

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.catalog = Catalog()
        self.tools: Tools | None = None
        self._rules: dict[str, CustomRules] = {}

    # --- writes -----------------------------------------------------------------------------------------------------

    def prepare(self, call: Call, value: Json) -> None:
        value["spec"] = with_defaults(value.get("spec") or {})
        _check(call, value, faults_of(value))
        _hold(value["metadata"])
        value["status"] = {"storedVersions": [storage_version(value["spec"])]}
        self._judge_names(value)

    def change(self, call: Call, old: Json, new: Json) -> None:
        new["spec"] = with_defaults(new.get("spec") or {})
        _check(call, new, [*faults_of(new), *faults_of_change(old, new)])
        if "deletionTimestamp" not in old["metadata"]:
            _hold(new["metadata"])
        status = new["status"] = dict(old["status"])
        storage = storage_version(new["spec"])
        if storage not in status["storedVersions"]:
            status["storedVersions"] = [*status["storedVersions"], storage]
        if new["spec"] != old["spec"]:
            self._judge_names(new)

    def change_status(self, call: Call, old: Json, new: Json) -> None:
        new.setdefault("status", old["status"])
        causes = faults_of_change(old, new)
        if causes:
            raise invalid(DEFINITIONS, call.name, causes)

    def _judge_names(self, value: Json) -> None:
        """Accept the names that the spec wants, unless one of them is taken. Then those that were accepted stay."""
        spec, status = value["spec"], value["status"]
        conflict = self.catalog.conflict(value["metadata"]["name"], spec["group"], spec["names"])
        if conflict is not None:
            self._set(status, "NamesAccepted", "False", conflict.reason, conflict.message)
            if not is_true(value, "Established"):
                self._set(status, "Established", "False", "NotAccepted", "not all names are accepted")
            status.setdefault("acceptedNames", {"kind": "", "plural": ""})
            return
        self._set(status, "NamesAccepted", "True", "NoConflicts", "no conflicts found")
        message = "the initial names have been accepted"
        self._set(status, "Established", "True", "InitialNamesAccepted", message)
        status["acceptedNames"] = spec["names"]

    def _set(self, status: Json, kind: str, truth: str, reason: str, message: str) -> None:
        conditions = status.get("conditions") or []
        before: Json = next((each for each in conditions if each.get("type") == kind), {})
        since = before.get("lastTransitionTime") if before.get("status") == truth else self.core.timestamp()
        condition = {
            "type": kind,
            "status": truth,
            "lastTransitionTime": since,
            "reason": reason,
            "message": message,
        }
        status["conditions"] = [*(each for each in conditions if each.get("type") != kind), condition]

    # --- what follows -----------------------------------------------------------------------------------------------

    def created(self, version: Version) -> None:
        self._serve(version.object)

    def changed(self, old: Version, new: Version) -> None:
        metadata = new.object["metadata"]
        if "deletionTimestamp" in metadata:
            if not is_true(new.object, "Terminating"):
                self._begin_end(new)
        elif new.object["spec"] != old.object["spec"]:
            self._serve(new.object)

    def removed(self, last: Version) -> None:
        """Nothing of it is left, and whoever watches must ask anew, if there is to be another of that name."""
        self.catalog.forget(last.name)
        self._rules.pop(last.name, None)
        collection = self.core.store.of[last.name]
        for version in tuple(collection.all()):
            # Only where somebody has taken the finalizer away that keeps the definition until they are gone.
            self.core.store.drop(last.name, version.namespace, version.name)
        for watcher in collection.watchers():
            watcher.end()
        collection.forget()
        collection.forgotten = self.core.store.revision
        self._give_names_away()

    def _give_names_away(self) -> None:
        """Those who waited for a name that is free now have it."""
        store = self.core.store
        for version in tuple(store.of[DEFINITIONS.store_key].all()):
            value = version.object
            if is_true(value, "NamesAccepted"):
                continue
            judged = {**value, "metadata": dict(value["metadata"]), "status": dict(value["status"])}
            self._judge_names(judged)
            if judged != value:
                self._serve(store.put(DEFINITIONS.store_key, judged).object)

    def _serve(self, value: Json) -> None:
        if not is_true(value, "Established"):
            return
        name, spec, names = value["metadata"]["name"], value["spec"], value["status"]["acceptedNames"]
        self.catalog.define(name, spec, names)
        assert self.tools is not None
        api_version = f"{spec['group']}/{storage_version(spec)}"
        rules = self._rules[name] = CustomRules(self.core, api_version, lambda: self._end_if_empty(name))
        self.tools.add_rules(name, rules)
        # What they were told so far may look otherwise now.
        for watcher in self.core.store.of[name].watchers():
            watcher.end()

    def _begin_end(self, version: Version) -> None:
        value = version.object
        status = dict(value["status"])
        message = "CustomResource deletion is in progress"
        if version.name in self._rules:
            self._rules[version.name].ending = True
        self._set(status, "Terminating", "True", "InstanceDeletionInProgress", message)
        self.core.store.put(DEFINITIONS.store_key, {**value, "metadata": dict(value["metadata"]), "status": status})
        assert self.tools is not None
        for resource in self.catalog.of(version.name)[:1]:
            self.tools.empty(resource)
        self._end_if_empty(version.name)

    def _end_if_empty(self, name: str) -> None:
        """Let go of a definition that is to go and has no objects any more."""
        store = self.core.store
        version = store.get(DEFINITIONS.store_key, "", name)
        if version is None or len(store.of[name]) or not is_true(version.object, "Terminating"):
            return
        metadata = dict(version.object["metadata"])
        left = [each for each in metadata.get("finalizers") or () if each != CLEANUP]
        if left == metadata.get("finalizers"):
            return
        if left:
            metadata["finalizers"] = left
            store.put(DEFINITIONS.store_key, {**version.object, "metadata": metadata})
        else:
            self.removed(store.remove(DEFINITIONS.store_key, "", name))


def _hold(metadata: Json) -> None:
    """Keep the definition until its objects are gone, whatever whoever writes it says."""
    finalizers = metadata.get("finalizers") or []
    if CLEANUP not in finalizers:
        metadata["finalizers"] = [*finalizers, CLEANUP]


def _check(call: Call, value: Json, causes: list[tuple[str, str, str]]) -> None:
    """Raises StatusError (422), or (400) for what a schema does not have; warns of what is not carried out here."""
    unknown: list[str] = []
    for place, schema in _schemas(value):
        unknown.extend(unknown_keywords(schema, place))
    tell_of_unknown(call, unknown)
    if causes:
        raise invalid(DEFINITIONS, value["metadata"]["name"], causes)
    for find, what in (
        (places_of_cel, "rules in CEL"),
        (places_not_read, "patterns with classes of Unicode or quotes"),
    ):
        places = [at for place, schema in _schemas(value) for at in find(schema, place)]
        if places:
            others = f" and {len(places) - 1} more" if len(places) > 1 else ""
            text = f"this simulated server does not evaluate {what}: objects that break them are accepted"
            call.warnings.append(f"{places[0]}{others}: {text}")
    if value["spec"]["conversion"].get("strategy") == "Webhook":
        call.warnings.append("spec.conversion.strategy: this simulated server calls no webhook, and needs none here")


def _schemas(value: Json) -> list[tuple[str, Any]]:
    """Every schema of the definition, with its path."""
    versions = enumerate(versions_of(value["spec"]))
    return [(f"spec.versions[{at}].schema.openAPIV3Schema", schema_of(version)) for at, version in versions]
