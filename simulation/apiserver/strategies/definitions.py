"""CustomResourceDefinitions: their schemas are checked, and their names accepted at once.

Names of different definitions are not compared. `controllers.definitions` serves what they define.
"""

from __future__ import annotations

from simulation.apiserver.kinds import definitions
from simulation.apiserver.kinds.approvals import faults_of_approval
from simulation.apiserver.kinds.table import DEFINITIONS
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.schemas.shapes import pruned, with_defaults
from simulation.apiserver.schemas.structural import DEFINITION, SCHEMA, causes_of, places_not_read, places_of_cel
from simulation.apiserver.status import Json, invalid
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.strategy import Strategy, tell_of_unknown
from simulation.validations.judge import causes_of_rules, places_not_evaluated

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"


class DefinitionStrategy(Strategy):
    def decode(self, call: ResourceCall, before: Json | None, value: Json) -> None:
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
            raise invalid(DEFINITIONS, value["metadata"].get("name", ""), causes)

    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        """`decode` needs the defaults already."""

    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().prepare(call, before, value)
        spec = value["spec"]
        if before is None:
            # The controller accepts the names.
            status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
            value["status"] = {**status, "storedVersions": [definitions.storage_version(spec)]}
        elif call.target.subresource:
            value.setdefault("status", before["status"])
        else:
            stored, storage = before["status"]["storedVersions"], definitions.storage_version(spec)
            versions = stored if storage in stored else [*stored, storage]
            value["status"] = {**before["status"], "storedVersions": versions, "acceptedNames": spec["names"]}

    def holders(self, old: Version) -> tuple[str, ...]:
        """The first deletion keeps the definition until its objects are gone."""
        return () if "deletionTimestamp" in old.object["metadata"] else (CLEANUP,)

    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        causes = [*faults_of_approval(before, value), *definitions.faults_of(value)]
        if before is not None:
            causes += definitions.faults_of_change(before, value)
        self._accept(call, value, causes)

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
                "patterns, as the library google-re2 would",
            ),
        ):
            if places:
                others = f" and {len(places) - 1} more" if len(places) > 1 else ""
                text = f"this simulated server does not evaluate {what}: objects that break them are accepted"
                call.warnings.append(f"{places[0]}{others}: {text}")


def with_condition(status: Json, now: str, kind: str, reason: str, message: str, is_true: str = "True") -> Json:
    """The status with that condition, in the place of the one before.

    `is_true`: as the condition writes it.
    """
    made = {"type": kind, "status": is_true, "lastTransitionTime": now, "reason": reason, "message": message}
    known: list[Json] = status.get("conditions") or []
    was = next((each for each in known if each.get("type") == kind), None)
    if was is None:
        return {**status, "conditions": [*known, made]}
    if was["status"] == is_true:
        made["lastTransitionTime"] = was["lastTransitionTime"]
    return {**status, "conditions": [made if each is was else each for each in known]}


def _schemas(definition: Json) -> list[tuple[str, Json]]:
    """The path and content of every schema of the definition."""
    versions = enumerate(definition["spec"]["versions"])
    return [(f"spec.versions[{at}].schema.openAPIV3Schema", definitions.schema_of(version)) for at, version in versions]
