"""How much an agent remembers: the entries of its actors' tables, and its live objects.

For simulated nodes. Sizes do not depend on the machine, so tests can hold them to a bound: `benchmarks.simulated_week`,
`tests/simulation/test_long_life.py`.
"""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sized
from types import ModuleType
from typing import Any

from actors.kernel import Actor, ActorRef
from simulation.node.simulated_node import SimulatedNode
from simulation.world.world import World

_OURS = ("actors.", "runtime.")
_TABLES = (dict, list, set, frozenset, deque, tuple, Mapping)
_OF_THE_KERNEL = frozenset({"actor_inbox", "actor_ref", "ref", "log", "_cell"})


def tables(world: World) -> Counter[str]:
    """Entries by table, such as `StatusManagerActor._pods`, of all nodes together.

    A table is what a field holds, with what its entries hold. Mailboxes are tables too. Bytes count as one.
    """
    found: Counter[str] = Counter()
    for node in world.nodes.values():
        for name, table in _roots(node):
            found[name] += len(table) if isinstance(table, Sized) else 0
    return found


def live_objects() -> Counter[str]:
    """Instances of classes of the agent, by class, in the whole process."""
    gc.collect()
    classes = (type(each) for each in gc.get_objects())
    return Counter(f"{each.__module__}.{each.__qualname__}" for each in classes if _is_ours(each))


def _roots(node: SimulatedNode) -> Iterator[tuple[str, Any]]:
    seen: set[int] = set()
    yield from _within("Meters", node.node.meters, seen)
    for cell in node.node.system.root.walk():
        name = cell.actor_class.__name__
        yield f"{name} mailbox", cell.mailbox.waiting()
        if cell.actor is not None:
            yield from _within(name, cell.actor, seen)


def _within(name: str, value: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """All tables that `value` leads to, each once. It does not lead to other actors."""
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, _TABLES):
            yield name, value
            held = [*value.keys(), *value.values()] if isinstance(value, Mapping) else list(value)
            waiting += [(name, each) for each in held if _leads_on(each)]
        else:
            waiting += [(f"{name}.{field}", each) for field, each in _fields(value) if _leads_on(each)]


def _leads_on(value: Any) -> bool:
    return isinstance(value, _TABLES) or (
        _is_ours(type(value)) and not isinstance(value, (ActorRef, Actor, ModuleType, type))
    )


def _is_ours(cls: type) -> bool:
    return isinstance(cls.__module__, str) and cls.__module__.startswith(_OURS)


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                yield name, getattr(value, name)
    for name in getattr(value, "__struct_fields__", ()):
        yield name, getattr(value, name)
    for name, held in getattr(value, "__dict__", {}).items():
        if name not in _OF_THE_KERNEL:
            yield name, held
