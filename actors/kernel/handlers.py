"""Handlers by message type: `@handles` marks a method of an actor.

`part` gives parts of an actor handlers of their own.

The table of an actor class is made once, with the class, so an idle actor pays nothing for it. It holds the handlers of
the actor, of its parts, and of their parts in turn. Two handlers of one message type are a `TypeError`, but a subclass
may replace a handler of its base.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Generic, NoReturn, Self, TypeVar, cast, overload

H = TypeVar("H", bound=Callable[..., Any])
P = TypeVar("P")

Handler = Callable[[Any, Any], Any]
"""Called with the actor and the message."""

_MARK = "__handles_messages__"


def handles(*message_types: type[Any]) -> Callable[[H], H]:
    """Mark a method as the handler of messages of exactly these types. It may be sync or `async def`."""
    if not message_types:
        raise TypeError("handles() needs at least one message type")

    def mark(function: H) -> H:
        setattr(function, _MARK, message_types)
        return function

    return mark


def part(part_class: type[P]) -> P:
    """Declare an attribute that holds a part with handlers of its own.

    Use it in the body of an actor class or a part.

    The constructor sets the attribute to a `part_class`, or a subclass of it. Messages then reach the handlers of that
    object. A method that a subclass of `part_class` overrides is called there.
    """
    return cast(P, _PartAttribute(part_class))


class _PartAttribute(Generic[P]):
    def __init__(self, part_class: type[P]) -> None:
        self.part_class = part_class
        self.name = ""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any]) -> NoReturn: ...
    def __get__(self, instance: object, owner: type[Any]) -> Self:
        if instance is None:
            return self
        raise AttributeError(f"{owner.__name__}.__init__ has not set its part {self.name}")


def handlers_of_class(actor_class: type[Any]) -> dict[type[Any], Handler]:
    """The handlers of an actor class and its parts, by message type. Raises TypeError for two of one type."""
    return {
        message_type: _handler_of_part(path) if "." in path else getattr(actor_class, path)
        for message_type, path in _method_paths(actor_class).items()
    }


def _handler_of_part(path: str) -> Handler:
    find_method = attrgetter(path)

    def handle(actor: Any, message: Any) -> Any:
        return find_method(actor)(message)

    handle.__qualname__ = handle.__name__ = path
    return handle


def _method_paths(owner: type[Any]) -> dict[type[Any], str]:
    """The handler of each type, as a path from an instance: `sweep`, or `probes.judged` for a part."""
    paths: dict[type[Any], str] = {}
    attributes: dict[str, Any] = {}
    for base in reversed(owner.__mro__):
        attributes.update(vars(base))
        of_base: dict[type[Any], str] = {}
        for name, attribute in vars(base).items():
            for message_type in getattr(attribute, _MARK, ()):
                _add(of_base, message_type, name, owner)
        paths.update(of_base)
    for name, attribute in attributes.items():
        if isinstance(attribute, _PartAttribute):
            for message_type, path in _method_paths(attribute.part_class).items():
                _add(paths, message_type, f"{name}.{path}", owner)
    return paths


def _add(paths: dict[type[Any], str], message_type: type[Any], path: str, owner: type[Any]) -> None:
    other = paths.setdefault(message_type, path)
    if other != path:
        raise TypeError(f"{owner.__name__} handles {message_type.__name__} twice: in {other} and in {path}")
