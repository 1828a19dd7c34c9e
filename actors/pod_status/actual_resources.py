"""The resources that a running container really has, for its status (spec 4.2). Pure.

The runtime reports limits and weights of the kernel. Where they equal what the container was made with, the notation of
the spec is kept. The runtime may not report a value, and the kernel does not know memory requests: these are taken from
the time when the container was made. So a pod whose resources were changed since never shows the new value before it
applies.

A container with limits also shows the CPU or memory limit that it has from its pod. The same holds for requests. A
kubelet does so too.
"""

from __future__ import annotations

import msgspec

from actors.start.resources import amount_bytes, milli_cpu
from config.caches import KIB, kept
from config.objects import ResourceRequirements
from config.values.quantity import Suffixes, of_milli, of_value
from runtime.cri.messages import LinuxContainerResources

LEAST_LIMIT_MILLI = 10
"""The kernel's smallest quota; a lower limit in the spec becomes this one."""
LEAST_REQUEST_MILLI = 2
"""The request that the kernel's smallest weight stands for."""


def actual_resources(
    asked: ResourceRequirements | None, actual: LinuxContainerResources | None
) -> ResourceRequirements | None:
    """The resources of a running container made with `asked`.

    `actual` is None if the runtime reports nothing.
    """
    if asked is None or actual is None:
        return asked
    return _shown(asked, actual) if asked.limits or asked.requests else asked


def _shown(asked: ResourceRequirements, actual: LinuxContainerResources) -> ResourceRequirements:
    limits = dict(asked.limits)
    requests = dict(asked.requests)
    if limits and actual.cpu_quota > 0 and actual.cpu_period > 0:
        _put_cpu(limits, -(-actual.cpu_quota * 1000 // actual.cpu_period), LEAST_LIMIT_MILLI)
    if limits and actual.memory_limit_in_bytes > 0:
        limits["memory"] = _memory(limits.get("memory", "0"), actual.memory_limit_in_bytes)
    if requests and actual.cpu_shares > 0:
        _put_cpu(requests, -(-actual.cpu_shares * 1000 // 1024), LEAST_REQUEST_MILLI)
    if limits == asked.limits and requests == asked.requests:
        return asked
    return msgspec.structs.replace(asked, limits=limits, requests=requests)


def _put_cpu(amounts: dict[str, str], milli: int, least_milli: int) -> None:
    if "cpu" in amounts:
        amounts["cpu"] = _cpu(amounts["cpu"], milli, least_milli)
    elif milli > least_milli:
        amounts["cpu"] = str(of_milli(milli))


@kept(256 * KIB)
def _cpu(asked: str, milli: int, least_milli: int) -> str:
    wanted = milli_cpu(asked)
    unsaid = milli <= least_milli and wanted <= least_milli
    return asked if wanted == milli or unsaid else str(of_milli(milli))


@kept(256 * KIB)
def _memory(asked: str, actual_bytes: int) -> str:
    return asked if amount_bytes(asked) == actual_bytes else str(of_value(actual_bytes, Suffixes.BINARY))
