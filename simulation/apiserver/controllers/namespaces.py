"""Namespaces: what is in every one of them, and their end, which deletes all that is in them.

Plays the part of the namespace controller: a deleted namespace is Terminating until its last object is gone. Its pods
go first, so that nothing they use is taken from them; the rest follows once no pod is left. The conditions of the
namespace say what remains. At the end the finalizer `kubernetes` goes, and the namespace with its last finalizer.

Every namespace gets the service account `default` and the ConfigMap `kube-root-ca.crt`.
"""

from __future__ import annotations

from collections import Counter

from simulation.apiserver.controllers.namespace_conditions import Left, conditions_of
from simulation.apiserver.core import SECOND_NS
from simulation.apiserver.kinds.catalog import Catalog
from simulation.apiserver.kinds.table import CONFIG_MAPS, NAMESPACES, PODS, SERVICE_ACCOUNTS, ServedResource
from simulation.apiserver.pipeline.context import Context, Follower
from simulation.apiserver.store.store import Version
from simulation.apiserver.verbs.delete import empty

_OWN = "kubernetes"
"""The finalizer of this controller."""
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
        """Delete what is in it, look at what is left, and come back in a second unless that is nothing."""
        version = self._core.store.get(NAMESPACES.store_key, "", name)
        if version is None or version.uid != uid or _OWN not in (version.object["spec"].get("finalizers") or ()):
            return
        empty(self._context, PODS, name)
        left = Left() if self._number(PODS, name) else self._empty_all(name)
        if left.is_nothing and not self._number(PODS, name):
            self._finish(version)
            return
        before = version.object["status"]
        conditions = conditions_of(before.get("conditions") or (), left, self._core.timestamp())
        if conditions != before.get("conditions"):
            self._core.store.put(
                NAMESPACES.store_key, {**version.object, "status": {**before, "conditions": conditions}}
            )
        self._core.after(SECOND_NS, lambda: self._end(name, uid))

    def _empty_all(self, name: str) -> Left:
        remaining, finalizers = dict[str, int](), Counter[str]()
        for resource in self._catalog.one_of_each():
            if not resource.namespaced or not resource.stored:
                continue
            empty(self._context, resource, name)
            if number := self._number(resource, name):
                remaining[f"{resource.plural}.{resource.group}"] = number
                for each in self._core.store.of[resource.store_key].in_namespace(name):
                    finalizers.update(each.object["metadata"].get("finalizers") or ())
        return Left(remaining, finalizers)

    def _number(self, resource: ServedResource, name: str) -> int:
        return len(self._core.store.of[resource.store_key].in_namespace(name))

    def _finish(self, version: Version) -> None:
        """Take the finalizer away; the namespace ends with its last one."""
        store, value = self._core.store, version.object
        others = [each for each in value["spec"]["finalizers"] if each != _OWN]
        if others or value["metadata"].get("finalizers"):
            spec = {"finalizers": others} if others else {}
            conditions = conditions_of(value["status"].get("conditions") or (), Left(), self._core.timestamp())
            store.put(
                NAMESPACES.store_key, {**value, "spec": spec, "status": {**value["status"], "conditions": conditions}}
            )
        else:
            store.remove(NAMESPACES.store_key, "", version.name)
