"""Which custom resources a server has: those of the definitions whose names were free.

Owns the names: of two definitions in one group that want the same one, it stays with whoever had it. Refuses to know
where definitions come from and what becomes of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from simulation.apiserver.custom.resources import priority, resources_of
from simulation.apiserver.resources import SERVED, ServedResource
from simulation.apiserver.status import Json

_FIELDS: Mapping[str, str] = {
    "plural": "PluralConflict",
    "singular": "SingularConflict",
    "shortNames": "ShortNamesConflict",
    "kind": "KindConflict",
    "listKind": "ListKindConflict",
}


class NameConflict(msgspec.Struct, frozen=True):
    """A name that somebody else has. `reason` as in the condition NamesAccepted."""

    reason: str
    message: str


class Catalog:
    """See the module. `served`: all resources of the server, those that all servers have first."""

    def __init__(self) -> None:
        self.served: tuple[ServedResource, ...] = SERVED
        self._defined: dict[str, tuple[ServedResource, ...]] = {}
        self._names: dict[str, tuple[str, Json]] = {}
        self._by_name: dict[tuple[str, str, str], ServedResource] = {}

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        """The custom resource of that name; None when there is none."""
        return self._by_name.get((group, version, plural))

    def of(self, definition: str) -> tuple[ServedResource, ...]:
        """The resources that a definition makes, by its name."""
        return self._defined.get(definition, ())

    def one_of_each(self) -> Iterator[ServedResource]:
        """For everything that is stored, one resource of those that show it."""
        yield from (resource for resource in SERVED if not resource.storage)
        yield from (resources[0] for resources in self._defined.values() if resources)

    def conflict(self, definition: str, group: str, names: Json) -> NameConflict | None:
        """The first of these names that another resource of the group has."""
        taken = self._taken(group, definition)
        for field, reason in _FIELDS.items():
            for name in _each(names, field):
                if name in taken[field in ("kind", "listKind")]:
                    return NameConflict(reason, f'"{name}" is already in use')
        return None

    def _taken(self, group: str, definition: str) -> tuple[set[str], set[str]]:
        """The names of resources, and those of kinds."""
        resources: set[str] = set()
        kinds: set[str] = set()
        for other, (its_group, names) in self._names.items():
            if other != definition and its_group == group:
                resources.update(*(_each(names, field) for field in ("plural", "singular", "shortNames")))
                kinds.update(*(_each(names, field) for field in ("kind", "listKind")))
        for served in SERVED:
            if served.group == group:
                resources.update((served.plural, served.singular, *served.short_names))
                kinds.update((served.kind, served.list_kind))
        return resources, kinds

    def define(self, definition: str, spec: Json, names: Json) -> None:
        """Serve what the definition says under these names, in place of what it said before."""
        self._defined[definition] = resources_of(spec, names)
        self._names[definition] = (spec["group"], names)
        self._note()

    def forget(self, definition: str) -> None:
        """Serve it no more."""
        self._defined.pop(definition, None)
        self._names.pop(definition, None)
        self._note()

    def _note(self) -> None:
        defined = [resource for resources in self._defined.values() for resource in resources]
        defined.sort(key=lambda one: (one.group, priority(one.version), one.plural))
        self.served = (*SERVED, *defined)
        self._by_name = {(one.group, one.version, one.plural): one for one in defined}


def _each(names: Json, field: str) -> Iterable[str]:
    found = names.get(field)
    return () if not found else found if isinstance(found, list) else (found,)
