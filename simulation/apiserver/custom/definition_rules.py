"""CustomResourceDefinitions as objects of the server: creation, change, deletion.

Also the resources that they define.

Plays the part of the controllers that accept names, serve what is defined, and empty it before it goes. None of that
takes time: a definition is established when its creation is answered, and gone as soon as its last object is. Names of
different definitions are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from simulation.apiserver.core import Core
from simulation.apiserver.custom import definitions
from simulation.apiserver.custom.rules import CustomRules
from simulation.apiserver.custom.shapes import pruned, with_defaults
from simulation.apiserver.custom.structural import DEFINITION, SCHEMA, causes_of, places_not_read, places_of_cel
from simulation.apiserver.kinds.rules import KindRules, tell_of_unknown
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import DEFINITIONS, SERVED, ServedResource
from simulation.apiserver.status import Json, invalid
from simulation.apiserver.store import Version
from simulation.validations.judge import causes_of_rules, places_not_evaluated

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class Catalog:
    """The custom resources of a server.

    `served`: all resources of the server, those of every server first.
    """

    def __init__(self) -> None:
        self.served: tuple[ServedResource, ...] = SERVED
        self._defined: dict[str, tuple[ServedResource, ...]] = {}
        self._by_name: dict[tuple[str, str, str], ServedResource] = {}

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        """The custom resource of that name; None when there is none."""
        return self._by_name.get((group, version, plural))

    def of(self, definition: str) -> tuple[ServedResource, ...]:
        """The resources that a definition makes, by its name."""
        return self._defined.get(definition, ())

    def one_of_each(self) -> Iterator[ServedResource]:
        """One resource for each collection of the store."""
        yield from (resource for resource in SERVED if not resource.storage)
        yield from (resources[0] for resources in self._defined.values() if resources)

    def define(self, definition: str, resources: tuple[ServedResource, ...]) -> None:
        """Serve these resources in place of those that the definition made before."""
        self._defined[definition] = resources
        defined = [resource for each in self._defined.values() for resource in each]
        defined.sort(key=lambda one: (one.group, definitions.priority(one.version), one.plural))
        self.served = (*SERVED, *defined)
        self._by_name = {(one.group, one.version, one.plural): one for one in defined}


class DefinitionRules(KindRules):
    """See the module. The server sets `add_rules`."""

    has_generation = True

    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource)
        self.catalog = Catalog()
        self.add_rules: Callable[[str, KindRules], None] = lambda key, rules: None
        """Takes the store key and the rules of a new resource."""
        self._rules: dict[str, CustomRules] = {}

    # --- writes -----------------------------------------------------------------------------------------------------

    def check(self, call: ResourceCall, value: Json) -> None:
        """Complete and prune the definition, and check the types of its fields. Raises StatusError."""
        value["spec"] = definitions.with_names(value.get("spec") or {})
        unknown: list[str] = []
        value.update(with_defaults(pruned(value, DEFINITION, unknown), DEFINITION))
        for name in unknown:
            value.pop(name, None)
        causes = causes_of(value, DEFINITION)
        for path, schema in () if causes else _schemas(value):
            pruned(schema, SCHEMA, unknown, path, is_resource=False)
            causes += causes_of(schema, SCHEMA, path)
        tell_of_unknown(call, unknown)
        if causes:
            raise invalid(DEFINITIONS, value["metadata"]["name"], causes)

    def prepare(self, call: ResourceCall, value: Json) -> None:
        self._accept(call, value, list(definitions.faults_of(value)))
        _hold(value["metadata"])
        value["status"] = {
            "storedVersions": [definitions.storage_version(value["spec"])],
            "acceptedNames": value["spec"]["names"],
        }
        self._set(value["status"], "NamesAccepted", "NoConflicts", "no conflicts found")
        message = "the initial names have been accepted"
        self._set(value["status"], "Established", "InitialNamesAccepted", message)

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        self._accept(call, new, [*definitions.faults_of(new), *definitions.faults_of_change(old, new)])
        if call.target.subresource:
            new.setdefault("status", old["status"])
            return
        if "deletionTimestamp" not in old["metadata"]:
            _hold(new["metadata"])
        stored, storage = old["status"]["storedVersions"], definitions.storage_version(new["spec"])
        new["status"] = {
            **old["status"],
            "storedVersions": stored if storage in stored else [*stored, storage],
            "acceptedNames": new["spec"]["names"],
        }

    change_status = change

    def _accept(self, call: ResourceCall, value: Json, causes: list[tuple[str, str, str]]) -> None:
        """Refuse a definition with faults, and warn of unsupported parts. Raises StatusError (422)."""
        schemas, program = _schemas(value), self.core.rule_program
        rules = [each for path, schema in schemas for each in places_of_cel(schema, path)]
        causes = causes or causes_of_rules(program, rules)
        if causes:
            raise invalid(DEFINITIONS, value["metadata"]["name"], causes)
        for places, what in (
            (places_not_evaluated(program, rules), "rules in CEL" + ("" if program else ", as actorlet[cel] would")),
            (
                [at for path, schema in schemas for at in places_not_read(schema, path)],
                "patterns with classes of Unicode or quotes",
            ),
        ):
            if places:
                others = f" and {len(places) - 1} more" if len(places) > 1 else ""
                text = f"this simulated server does not evaluate {what}: objects that break them are accepted"
                call.warnings.append(f"{places[0]}{others}: {text}")
        if value["spec"]["conversion"]["strategy"] == "Webhook":
            text = "this simulated server calls no webhook, and needs none here"
            call.warnings.append(f"spec.conversion.strategy: {text}")

    def _set(self, status: Json, kind: str, reason: str, message: str) -> None:
        condition = {
            "type": kind,
            "status": "True",
            "lastTransitionTime": self.core.timestamp(),
            "reason": reason,
            "message": message,
        }
        others = (each for each in status.get("conditions") or () if each.get("type") != kind)
        status["conditions"] = [*others, condition]

    # --- effects ----------------------------------------------------------------------------------------------------

    def created(self, version: Version) -> None:
        name, spec = version.name, version.object["spec"]
        self.catalog.define(name, definitions.resources_of(spec))
        api_version = f"{spec['group']}/{definitions.storage_version(spec)}"
        rules = self._rules[name] = CustomRules(self.core, api_version, lambda: self._end_if_empty(name))
        self.add_rules(name, rules)
        # Objects may look different now, so that watchers have to list them again.
        self.core.store.of[name].end_watches()

    def changed(self, old: Version, new: Version) -> None:
        if "deletionTimestamp" in new.object["metadata"]:
            if not definitions.is_true(new.object, "Terminating"):
                self._begin_end(new)
        elif new.object["spec"] != old.object["spec"]:
            self.created(new)

    def removed(self, last: Version) -> None:
        self.catalog.define(last.name, ())
        self._rules.pop(last.name, None)
        collection = self.core.store.of[last.name]
        for version in tuple(collection.all()):
            # Only where somebody removed the finalizer that keeps the definition until they are gone.
            self.core.store.remove(last.name, *version.key)
        collection.end_watches()
        collection.forget()
        collection.forgotten = self.core.store.revision

    def _begin_end(self, version: Version) -> None:
        value, status = version.object, dict(version.object["status"])
        self._rules[version.name].ending = True
        self._set(status, "Terminating", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
        self.core.store.put(DEFINITIONS.store_key, {**value, "metadata": dict(value["metadata"]), "status": status})
        for resource in self.catalog.of(version.name)[:1]:
            self.core.empty(resource, "")
        self._end_if_empty(version.name)

    def _end_if_empty(self, name: str) -> None:
        """Remove the own finalizer of a terminating definition once it has no objects."""
        store = self.core.store
        version = store.get(DEFINITIONS.store_key, "", name)
        if version is None or len(store.of[name]) or not definitions.is_true(version.object, "Terminating"):
            return
        finalizers = version.object["metadata"].get("finalizers") or ()
        left = [each for each in finalizers if each != CLEANUP]
        if left and len(left) < len(finalizers):
            metadata = {**version.object["metadata"], "finalizers": left}
            store.put(DEFINITIONS.store_key, {**version.object, "metadata": metadata})
        elif len(left) < len(finalizers):
            self.removed(store.remove(DEFINITIONS.store_key, "", name))


def _hold(metadata: Json) -> None:
    """Keep the definition until its objects are gone."""
    finalizers = metadata.get("finalizers") or []
    if CLEANUP not in finalizers:
        metadata["finalizers"] = [*finalizers, CLEANUP]


def _schemas(definition: Json) -> list[tuple[str, Json]]:
    """The path and content of every schema of the definition."""
    versions = enumerate(definition["spec"]["versions"])
    return [(f"spec.versions[{at}].schema.openAPIV3Schema", definitions.schema_of(version)) for at, version in versions]
