"""The resources of one server: those of every server, and those that its definitions make."""

from __future__ import annotations

from collections.abc import Iterator

from simulation.apiserver.kinds.definitions import priority
from simulation.apiserver.kinds.table import SERVED, ServedResource


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

    def stored_of(self, definition: str) -> tuple[ServedResource, ...]:
        """One resource of a definition, that in whose version objects are stored, if it is served."""
        return tuple(sorted(self.of(definition), key=lambda one: not one.stores)[:1])

    def one_of_each(self) -> Iterator[ServedResource]:
        """One resource for each collection of the store."""
        yield from (resource for resource in SERVED if not resource.storage)
        yield from (one for definition in self._defined for one in self.stored_of(definition))

    def define(self, definition: str, resources: tuple[ServedResource, ...]) -> None:
        """Serve these resources in place of those that the definition made before."""
        self._defined[definition] = resources
        defined = [resource for each in self._defined.values() for resource in each]
        defined.sort(key=lambda one: (one.group, priority(one.version), one.plural))
        self.served = (*SERVED, *defined)
        self._by_name = {(one.group, one.version, one.plural): one for one in defined}
