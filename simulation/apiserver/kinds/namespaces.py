"""Namespaces and what stands in every one of them; their end, which takes all that is in them along.

Plays the part of the namespace controller: a namespace that is deleted is Terminating until its last object is gone.
Gives every namespace its service account `default` and the ConfigMap `kube-root-ca.crt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from config.objects import ApiStruct, Namespace
from config.values.name_rules import dns_label
from simulation.apiserver.core import SECOND_NS, Core
from simulation.apiserver.kinds.rules import KindRules
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import CONFIG_MAPS, NAMESPACES, SERVED, SERVICE_ACCOUNTS, ServedResource
from simulation.apiserver.status import Json, forbidden
from simulation.apiserver.store import Version

FIRST = ("default", "kube-node-lease", "kube-public", "kube-system")
IMMORTAL = ("default", "kube-public", "kube-system")
ROOT_CA_MAP = "kube-root-ca.crt"
_FINALIZER = "kubernetes"

Empty = Callable[[ServedResource, str], None]
"""Delete every object of a resource in a namespace."""


class NamespaceRules(KindRules):
    """See the module. `empty` and `resources` are set by the server, which has the verbs."""

    struct: type[ApiStruct] | None = Namespace
    has_status = True
    name_fault = staticmethod(dns_label)

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.empty: Empty | None = None
        self.resources: Callable[[], Iterable[ServedResource]] = lambda: SERVED
        """One for each kind of objects that there may be."""

    def prepare(self, call: Call, value: Json) -> None:
        metadata = value["metadata"]
        metadata["labels"] = {"kubernetes.io/metadata.name": metadata["name"], **(metadata.get("labels") or {})}
        value["spec"] = {"finalizers": [_FINALIZER]}
        value["status"] = {"phase": "Active"}

    def change(self, call: Call, old: Json, new: Json) -> None:
        new["spec"] = old["spec"]

    def change_status(self, call: Call, old: Json, new: Json) -> None:
        if call.target.subresource == "finalize":
            new["status"] = old["status"]

    def created(self, version: Version) -> None:
        name = version.name
        self._give(SERVICE_ACCOUNTS, name, "default", {})
        annotation = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints"
        annotations = {"kubernetes.io/description": annotation}
        self._give(
            CONFIG_MAPS, name, ROOT_CA_MAP, {"data": {"ca.crt": self.core.options.root_ca}}, annotations=annotations
        )

    def _give(
        self, resource: ServedResource, namespace: str, name: str, rest: Json, annotations: Json | None = None
    ) -> None:
        core = self.core
        metadata: Json = {
            "name": name,
            "namespace": namespace,
            "uid": core.new_uid(),
            "creationTimestamp": core.timestamp(),
        }
        if annotations:
            metadata["annotations"] = annotations
        value = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata, **rest}
        core.store.put(resource.store_key, value)

    def grace(self, old: Version, options: Json) -> int:
        """A namespace goes when it is empty; see `changed`."""
        if old.name in IMMORTAL:
            raise forbidden(NAMESPACES, old.name, "this namespace may not be deleted")
        return 0 if not (old.object["spec"].get("finalizers")) else 1

    def changed(self, old: Version, new: Version) -> None:
        metadata = new.object["metadata"]
        if "deletionTimestamp" not in metadata:
            return
        if (new.object.get("status") or {}).get("phase") != "Terminating":
            metadata = {name: part for name, part in metadata.items() if name != "deletionGracePeriodSeconds"}
            self.core.store.put("namespaces", {**new.object, "metadata": metadata, "status": {"phase": "Terminating"}})
            self.core.after(1, lambda: self._end(new.name, new.uid))

    def _end(self, name: str, uid: str) -> None:
        store = self.core.store
        version = store.get("namespaces", "", name)
        if version is None or version.uid != uid:
            return
        if self.empty is not None:
            for resource in self.resources():
                if resource.namespaced and resource.stored:
                    self.empty(resource, name)
        if any(collection.holds(name) for collection in store.collections()):
            self.core.after(SECOND_NS, lambda: self._end(name, uid))
            return
        self.removed(store.remove("namespaces", "", name))
