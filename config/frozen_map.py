"""`FrozenMap`: an immutable mapping, for values that several actors hold."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import TypeVar

K = TypeVar("K")
V_co = TypeVar("V_co", covariant=True)


class FrozenMap(Mapping[K, V_co]):
    """A copy of a mapping or of pairs, in their order. Equal to every mapping with the same items."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V_co] | Iterable[tuple[K, V_co]] = ()) -> None:
        self._items: dict[K, V_co] = dict(items._items if isinstance(items, FrozenMap) else items)

    def __or__(self, others: Mapping[K, V_co]) -> FrozenMap[K, V_co]:
        """A map with the items of both; those of `others` win."""
        both: FrozenMap[K, V_co] = FrozenMap()
        both._items = self._items | (others._items if isinstance(others, FrozenMap) else dict(others))
        return both

    def __getitem__(self, key: K) -> V_co:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, FrozenMap) else other)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"

    # A dict's views are faster than those of Mapping.

    def keys(self) -> KeysView[K]:
        return self._items.keys()

    def values(self) -> ValuesView[V_co]:
        return self._items.values()

    def items(self) -> ItemsView[K, V_co]:
        return self._items.items()
