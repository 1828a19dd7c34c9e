"""Namespaces: what is in every one of them, and their end, which deletes all that is in them.

Plays the part of the namespace controller: a deleted namespace is Terminating until its last object is gone. Every
namespace gets the service account `default` and the ConfigMap `kube-root-ca.crt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulation.apiserver.core import SECOND_NS, Core
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import CONFIG_MAPS, NAMESPACES, SERVED, SERVICE_ACCOUNTS, ServedResource
from simulation.apiserver.status import Json, forbidden
from simulation.apiserver.store import Version

FIRST = ("default", "kube-node-lease", "kube-public", "kube-system")
PROTECTED = ("default", "kube-public", "kube-system")
ROOT_CA_MAP = "kube-root-ca.crt"
_ROOT_CA_WORDS = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints"


class NamespaceRules(KindRules):
    """See the module. The server sets `resources`."""

    def __init__(self, core: Core, resource: ServedResource) -> None:
        super().__init__(core, resource)
        self.resources: Callable[[], Iterable[ServedResource]] = lambda: SERVED
        """One resource for each collection of the store."""

    def prepare(self, call: ResourceCall, value: Json) -> None:
        metadata = value["metadata"]
        metadata["labels"] = {"kubernetes.io/metadata.name": metadata["name"], **(metadata.get("labels") or {})}
        value["spec"] = {"finalizers": ["kubernetes"]}
        value["status"] = {"phase": "Active"}

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        new["spec"] = old["spec"]

    def change_status(self, call: ResourceCall, old: Json, new: Json) -> None:
        if call.target.subresource == "finalize":
            new["status"] = old["status"]

    def created(self, version: Version) -> None:
        annotations = {"annotations": {"kubernetes.io/description": _ROOT_CA_WORDS}}
        data = {"data": {"ca.crt": self.core.options.root_ca}}
        for resource, name, metadata, rest in (
            (SERVICE_ACCOUNTS, "default", {}, {}),
            (CONFIG_MAPS, ROOT_CA_MAP, annotations, data),
        ):
            core = self.core
            identity = {"name": name, "namespace": version.name, "uid": core.new_uid()}
            own = {**identity, "creationTimestamp": core.timestamp(), **metadata}
            head = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": own}
            core.store.put(resource.store_key, {**head, **rest})

    def grace(self, old: Version, options: Json) -> int:
        """A namespace goes when it is empty; see `changed`."""
        if old.name in PROTECTED:
            raise forbidden(NAMESPACES, old.name, "this namespace may not be deleted")
        return 1 if old.object["spec"].get("finalizers") else 0

    def changed(self, old: Version, new: Version) -> None:
        metadata = new.object["metadata"]
        phase = (new.object.get("status") or {}).get("phase")
        if "deletionTimestamp" in metadata and phase != "Terminating":
            metadata = {name: part for name, part in metadata.items() if name != "deletionGracePeriodSeconds"}
            self.core.store.put("namespaces", {**new.object, "metadata": metadata, "status": {"phase": "Terminating"}})
            self.core.after(1, lambda: self._end(new.name, new.uid))

    def _end(self, name: str, uid: str) -> None:
        store = self.core.store
        version = store.get("namespaces", "", name)
        if version is None or version.uid != uid:
            return
        for resource in self.resources():
            if resource.namespaced and resource.stored:
                self.core.empty(resource, name)
        if any(collection.holds(name) for collection in store.collections()):
            self.core.after(SECOND_NS, lambda: self._end(name, uid))
        else:
            self.removed(store.remove("namespaces", "", name))
