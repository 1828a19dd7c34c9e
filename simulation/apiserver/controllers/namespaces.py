"""Namespaces: what is in every one of them, and their end, which deletes all that is in them.

Plays the part of the namespace controller: a deleted namespace is Terminating until its last object is gone. Every
namespace gets the service account `default` and the ConfigMap `kube-root-ca.crt`.
"""

from __future__ import annotations

from simulation.apiserver.core import SECOND_NS
from simulation.apiserver.kinds.catalog import Catalog
from simulation.apiserver.kinds.table import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS
from simulation.apiserver.pipeline.context import Context, Follower
from simulation.apiserver.store.store import Version
from simulation.apiserver.verbs.delete import empty

ROOT_CA_MAP = "kube-root-ca.crt"
_ROOT_CA_WORDS = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints"


class NamespaceController(Follower):
    def __init__(self, context: Context, catalog: Catalog) -> None:
        self._context = context
        self._core = context.core
        self._catalog = catalog

    def created(self, version: Version) -> None:
        annotations = {"annotations": {"kubernetes.io/description": _ROOT_CA_WORDS}}
        data = {"data": {"ca.crt": self._core.options.root_ca}}
        for resource, name, metadata, rest in (
            (SERVICE_ACCOUNTS, "default", {}, {}),
            (CONFIG_MAPS, ROOT_CA_MAP, annotations, data),
        ):
            core = self._core
            identity = {"name": name, "namespace": version.name, "uid": core.new_uid()}
            own = {**identity, "creationTimestamp": core.timestamp(), **metadata}
            head = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": own}
            core.store.put(resource.store_key, {**head, **rest})

    def changed(self, old: Version, new: Version) -> None:
        metadata = new.object["metadata"]
        phase = (new.object.get("status") or {}).get("phase")
        if "deletionTimestamp" in metadata and phase != "Terminating":
            metadata = {name: part for name, part in metadata.items() if name != "deletionGracePeriodSeconds"}
            terminating = {**new.object, "metadata": metadata, "status": {"phase": "Terminating"}}
            self._core.store.put(NAMESPACES.store_key, terminating)
            self._core.after(1, lambda: self._end(new.name, new.uid))

    def _end(self, name: str, uid: str) -> None:
        store = self._core.store
        version = store.get(NAMESPACES.store_key, "", name)
        if version is None or version.uid != uid:
            return
        for resource in self._catalog.one_of_each():
            if resource.namespaced and resource.stored:
                empty(self._context, resource, name)
        if any(collection.holds(name) for collection in store.collections()):
            self._core.after(SECOND_NS, lambda: self._end(name, uid))
        else:
            store.remove(NAMESPACES.store_key, "", name)
