"""Serves what CustomResourceDefinitions define, and empties it before a definition goes.

Plays the part of several controllers. None of that takes time: a definition is served when its creation is answered,
and gone as soon as its last object is.
"""

from __future__ import annotations

from simulation.apiserver.kinds import definitions
from simulation.apiserver.kinds.approvals import approval_of
from simulation.apiserver.kinds.catalog import Catalog
from simulation.apiserver.kinds.table import DEFINITIONS
from simulation.apiserver.pipeline.context import Context, Follower
from simulation.apiserver.pipeline.write import write_value
from simulation.apiserver.requests.calls import ApiRequest, Target, call_to
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.converted import ConvertedStrategy
from simulation.apiserver.strategies.definitions import CLEANUP, with_condition
from simulation.apiserver.strategies.described import DescribedStrategy
from simulation.apiserver.verbs.delete import empty

_MANAGER = "kube-apiserver"
_CONFORMANT = "KubernetesAPIApprovalPolicyConformant"


class DefinitionController(Follower):
    def __init__(self, context: Context, catalog: Catalog) -> None:
        self._context = context
        self._store = context.core.store
        self._catalog = catalog
        self._strategies: dict[str, DescribedStrategy] = {}

    def created(self, version: Version) -> None:
        self._serve(version)
        self._accept(version)

    def _accept(self, version: Version) -> None:
        """Accept the names, and establish the definition: two writes, as upstream's controllers do."""
        spec, now = version.object["spec"], self._context.core.timestamp()
        words = "the initial names have been accepted"
        for kind, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", words),
        ):
            status = {**version.object["status"], "acceptedNames": spec["names"]}
            status = with_condition(status, now, kind, reason, message)
            version = self._write_status(version, status)
        self._tell_approval(version)

    def _tell_approval(self, version: Version) -> None:
        """Say whether Kubernetes has approved of a definition in one of its groups."""
        found, status = approval_of(version.object), version.object["status"]
        if found is not None:
            now = self._context.core.timestamp()
            told = with_condition(status, now, _CONFORMANT, found.reason, found.message, found.status)
            if told != status:
                self._write_status(version, told)

    def _write_status(self, version: Version, status: Json) -> Version:
        target = Target(DEFINITIONS, "", version.name, "status", DEFINITIONS.subresources["status"])
        call = call_to(target, ApiRequest("PUT", "", user_agent=_MANAGER), "update", {})
        value = {**version.object, "metadata": dict(version.object["metadata"]), "status": status}
        return write_value(self._context, call, version, value)

    def _serve(self, version: Version) -> None:
        name, spec = version.name, version.object["spec"]
        self._catalog.define(name, definitions.resources_of(spec))
        strategy = self._strategies[name] = self._strategy(spec)
        self._context.strategies[name] = strategy
        self._context.followers[name] = _Last(self, name)
        # Objects may look different now, so that watchers have to list them again.
        self._store.of[name].end_watches()

    def _strategy(self, spec: Json) -> DescribedStrategy:
        core, api_version = self._context.core, f"{spec['group']}/{definitions.storage_version(spec)}"
        if spec["conversion"]["strategy"] == "Webhook":
            return ConvertedStrategy(core, api_version, spec["conversion"]["webhook"])
        return DescribedStrategy(core, api_version)

    def changed(self, old: Version, new: Version) -> None:
        if "deletionTimestamp" in new.object["metadata"]:
            if not definitions.is_true(new.object, "Terminating"):
                self._begin_end(new)
            return
        if new.object["spec"] != old.object["spec"]:
            self._serve(new)
        if approval_of(new.object) != approval_of(old.object):
            self._tell_approval(new)

    def removed(self, last: Version) -> None:
        self._catalog.define(last.name, ())
        self._strategies.pop(last.name, None)
        collection = self._store.of[last.name]
        for version in tuple(collection.all()):
            # Only where somebody removed the finalizer that keeps the definition until they are gone.
            self._store.remove(last.name, *version.key)
        collection.end_watches()
        collection.forget()
        collection.forgotten = self._store.revision

    def _begin_end(self, version: Version) -> None:
        value, now = version.object, self._context.core.timestamp()
        self._strategies[version.name].ending = True
        reason, words = "InstanceDeletionInProgress", "CustomResource deletion is in progress"
        status = with_condition(value["status"], now, "Terminating", reason, words)
        self._put(value, dict(value["metadata"]), status)
        for resource in self._catalog.stored_of(version.name):
            empty(self._context, resource, "")
        self.end_if_empty(version.name)

    def end_if_empty(self, name: str) -> None:
        """Remove the own finalizer of a terminating definition once it has no objects."""
        version = self._store.get(DEFINITIONS.store_key, "", name)
        if version is None or len(self._store.of[name]) or not definitions.is_true(version.object, "Terminating"):
            return
        finalizers = version.object["metadata"].get("finalizers") or ()
        left = [each for each in finalizers if each != CLEANUP]
        if left and len(left) < len(finalizers):
            self._put(version.object, {**version.object["metadata"], "finalizers": left}, version.object["status"])
        elif len(left) < len(finalizers):
            self.removed(self._store.remove(DEFINITIONS.store_key, "", name))

    def _put(self, value: Json, metadata: Json, status: Json) -> None:
        self._store.put(DEFINITIONS.store_key, {**value, "metadata": metadata, "status": status})


class _Last(Follower):
    """Waits for the last object of a definition."""

    def __init__(self, controller: DefinitionController, definition: str) -> None:
        self._controller = controller
        self._definition = definition

    def removed(self, last: Version) -> None:
        self._controller.end_if_empty(self._definition)
