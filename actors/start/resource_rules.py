"""How this node turns what pods ask for into limits, and how the texts of amounts are read. Pure.

Texts of quantities repeat from pod to pod, so each is parsed once.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from config.values.quantity import parse_quantity

DEFAULT_PERIOD_US = 100_000


class SwapRules(msgspec.Struct, frozen=True):
    """What containers may swap where the kernel counts it (spec 9.8). `limited`: LimitedSwap, else nothing at all.

    `capacity_bytes`: of the machine.
    """

    limited: bool = False
    capacity_bytes: int = 0


class MemoryRules(msgspec.Struct, frozen=True):
    """MemoryQoS (spec 10.3). `tiered`: what is asked for is kept for who asks. `throttling`: of what lies between the
    request and the limit, the part from which on a container is slowed down; `allocatable_bytes`: the limit of those
    that have none.
    """

    tiered: bool = False
    throttling: float = 0.9
    allocatable_bytes: int = 0


class ResourceRules(msgspec.Struct, frozen=True):
    """See the module. `memory_capacity_bytes` 0: not known. `page_sizes`: of huge pages, in bytes. `swap`, `memory`:
    None where the kernel or the configuration has none of it.
    """

    cpu_quota: bool = True
    cpu_period_us: int = DEFAULT_PERIOD_US
    memory_capacity_bytes: int = 0
    cgroup_version: int = 2
    single_process_oom_kill: bool = False
    page_sizes: tuple[int, ...] = ()
    swap: SwapRules | None = None
    memory: MemoryRules | None = None


@lru_cache(maxsize=4096)
def milli_cpu(text: str) -> int:
    """Thousandths of a CPU, rounded up."""
    return parse_quantity(text).milli_value()


@lru_cache(maxsize=4096)
def amount_bytes(text: str) -> int:
    """Whole bytes, rounded up."""
    return parse_quantity(text).value()
