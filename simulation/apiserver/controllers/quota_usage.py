"""Quotas: their status says what they limit, and how much of that is used.

Plays the part of the controller `resourcequota`. A new or changed quota is counted at once. When an object in its
namespace goes, or changes so that it uses another amount, all quotas there are counted a moment later. Each five
minutes they are counted anyway, so a status that somebody else has written does not stay. What a request takes is not
counted here but charged by admission (`admission.resource_quota`). Only what a quota names is watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simulation.apiserver.core import SECOND_NS
from simulation.apiserver.kinds.table import QUOTAS, ServedResource
from simulation.apiserver.pipeline.context import Context, Follower
from simulation.apiserver.status import Json
from simulation.apiserver.store.selection import EVERYTHING
from simulation.apiserver.store.store import DELETED, MODIFIED, Version, Watcher
from simulation.quotas.counts import Count, count_of, resources_of
from simulation.quotas.quota import used_now
from simulation.quotas.resource_lists import Amounts

LOOKS_AFTER_NS = 100 * 10**6
COUNTS_AGAIN_NS = 300 * SECOND_NS
"""`--resource-quota-sync-period` of a kube-controller-manager."""


class QuotaUsage(Follower):
    """`served`: the resources of the server at this time."""

    def __init__(self, context: Context, served: Callable[[], Iterable[ServedResource]]) -> None:
        self._core = context.core
        self._quotas = context.collection(QUOTAS)
        self._served = served
        self._watchers: dict[tuple[str, str], Watcher] = {}
        """By namespace and store key."""
        self._seen: dict[tuple[str, str], dict[str, Amounts]] = {}
        """What each object used when it was counted last, by its name. Keys as of watchers."""
        self._waits: set[str] = set()
        """Namespaces that will be looked at."""
        self._counts_again: set[str] = set()
        """Namespaces with quotas."""

    def created(self, version: Version) -> None:
        self._look(version.namespace)
        if version.namespace not in self._counts_again:
            self._counts_again.add(version.namespace)
            self._count_again_later(version.namespace)

    def _count_again_later(self, namespace: str) -> None:
        self._core.after(COUNTS_AGAIN_NS, lambda: self._count_again(namespace))

    def _count_again(self, namespace: str) -> None:
        if self._quotas.holds(namespace):
            self._look(namespace)
            self._count_again_later(namespace)
        else:
            self._counts_again.discard(namespace)

    def changed(self, old: Version, new: Version) -> None:
        if old.object.get("spec") != new.object.get("spec"):
            self._look(new.namespace)

    def removed(self, last: Version) -> None:
        self._follow(last.namespace, self._counted(last.namespace))

    def _look(self, namespace: str) -> None:
        """Count all quotas of a namespace, and follow what they count."""
        counted = self._counted(namespace)
        self._follow(namespace, counted)
        now_s, objects = self._core.wall_ns() / SECOND_NS, []
        for key, count in counted.items():
            values = {one.name: one.object for one in self._core.store.of[key].in_namespace(namespace)}
            self._seen[namespace, key] = {name: count.usage(value, now_s) for name, value in values.items()}
            objects.append((count, values.values()))
        for quota in self._quotas.in_namespace(namespace):
            hard = (quota.object.get("spec") or {}).get("hard") or {}
            self._put(quota.object, {"hard": hard, "used": used_now(quota.object, objects, now_s)})

    def _put(self, quota: Json, found: Json) -> None:
        status = {name: amounts for name, amounts in found.items() if amounts}
        if status != quota.get("status"):
            self._core.store.put(QUOTAS.store_key, {**quota, "metadata": dict(quota["metadata"]), "status": status})

    def _counted(self, namespace: str) -> dict[str, Count]:
        """How the objects are counted that the quotas of a namespace name, by store key."""
        names: set[str] = set()
        for quota in self._quotas.in_namespace(namespace):
            names.update((quota.object.get("spec") or {}).get("hard") or ())
        wanted = resources_of(names)
        stored = {one.group_resource: one.store_key for one in self._served() if one.namespaced and one.stored}
        found = {stored[name]: count_of(name) for name in sorted(wanted & stored.keys())}
        return {key: count for key, count in found.items() if count is not None}

    # --- what is counted ----------------------------------------------------------------------------------------------

    def _follow(self, namespace: str, counted: dict[str, Count]) -> None:
        """Watch these objects of a namespace, and no others."""
        for place in [place for place in self._watchers if place[0] == namespace and place[1] not in counted]:
            self._seen.pop(place, None)
            self._watchers.pop(place).end()
        for key, count in counted.items():
            if (namespace, key) not in self._watchers:
                self._watch(namespace, key, count)

    def _watch(self, namespace: str, key: str, count: Count) -> None:
        place, store = (namespace, key), self._core.store
        watcher = self._watchers[place] = store.watch(key, namespace, EVERYTHING, store.revision)

        def ended(_: object) -> None:
            if self._watchers.get(place) is watcher:  # It was cut, so something may have been missed.
                del self._watchers[place]
                self._look_soon(namespace)

        watcher.start(lambda kind, version: self._told(place, count, kind, version), ended)

    def _told(self, place: tuple[str, str], count: Count, kind: str, version: Version) -> None:
        known = self._seen.setdefault(place, {})
        if kind == DELETED:
            known.pop(version.name, None)
            self._look_soon(version.namespace)
            return
        usage = count.usage(version.object, self._core.wall_ns() / SECOND_NS)
        if kind == MODIFIED and usage != known.get(version.name):
            self._look_soon(version.namespace)
        known[version.name] = usage

    def _look_soon(self, namespace: str) -> None:
        if namespace not in self._waits:
            self._waits.add(namespace)
            self._core.after(LOOKS_AFTER_NS, lambda: self._look_late(namespace))

    def _look_late(self, namespace: str) -> None:
        self._waits.discard(namespace)
        self._look(namespace)
