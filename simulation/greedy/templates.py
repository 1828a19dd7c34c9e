"""Documents in which one part grows: a list, a map or a text.

A template is JSON data in which texts may have the words below in them. `rendered` makes the document of a size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

NUMBER = "{n}"
"""In a text: the number of the item."""
ADDRESS = "{address}"
"""In a text: an address of its own for each item."""

Json = Any


class WholeNumber(msgspec.Struct):
    """The number of the item in the place of a number: from 1 to `at_most`, and again."""

    at_most: int


class ManyItems(msgspec.Struct):
    """As many items of a list as wanted. It stands in a list, which may have others before it."""

    item: Json


class ManyEntries(msgspec.Struct):
    """As many entries of a map as wanted, in place of the map."""

    key: str
    value: Json


class LargeText(msgspec.Struct):
    """A text as long as wanted, which begins and ends as `word` does around its number."""

    word: str


def rendered(template: Json, size: int, number: int = 0) -> Json:
    """The document with so many items or entries, or with a text of so many characters."""
    if isinstance(template, dict):
        return {key: rendered(value, size, number) for key, value in template.items()}
    if isinstance(template, list):
        return [each for item in template for each in _items(item, size, number)]
    if isinstance(template, ManyEntries):
        return {_text(template.key, each): rendered(template.value, size, each) for each in range(size)}
    if isinstance(template, LargeText):
        return _text(template.word.replace(NUMBER, "n" * max(1, size - len(template.word) + len(NUMBER))), number)
    if isinstance(template, WholeNumber):
        return 1 + number % template.at_most
    return _text(template, number) if isinstance(template, str) else template


def _items(item: Json, size: int, number: int) -> Iterator[Json]:
    if isinstance(item, ManyItems):
        yield from (rendered(item.item, size, each) for each in range(size))
    else:
        yield rendered(item, size, number)


def _text(word: str, number: int) -> str:
    if "{" not in word:
        return word
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    return word.replace(NUMBER, str(number)).replace(ADDRESS, address)
