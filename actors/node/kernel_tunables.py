"""How a node needs its kernel to be set (spec 9.8), and what is done where it is not.

A machine that runs more than it can hold must kill processes and go on, not panic; one that has failed for good must
come back by itself; and containers of root have keys each. The agent sets that, unless `protectKernelDefaults` says
that whoever looks after the machine has done so: then a difference is a reason not to start.
"""

from __future__ import annotations

from dataclasses import dataclass

from config.documents.codec import DocumentError
from runtime.host.kernel_parameters import KernelParameters

WANTED: tuple[tuple[str, int], ...] = (
    ("vm.overcommit_memory", 1),  # memory is promised freely: limits are kept by cgroups
    ("vm.panic_on_oom", 0),  # a process is killed, the node goes on
    ("kernel.panic", 10),  # seconds until a machine that has panicked starts again
    ("kernel.panic_on_oops", 1),  # rather start again than go on with a broken kernel
    ("kernel.keys.root_maxkeys", 1_000_000),  # each container has a key ring, and most of them are root's
    ("kernel.keys.root_maxbytes", 25_000_000),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A parameter that is not as it should be."""

    name: str
    wanted: int
    found: int


def differences(parameters: KernelParameters) -> tuple[Difference, ...]:
    """What is set otherwise. A parameter that this kernel does not have cannot be wrong."""
    found = ((name, wanted, parameters.get(name)) for name, wanted in WANTED)
    return tuple(Difference(name, wanted, is_) for name, wanted, is_ in found if is_ is not None and is_ != wanted)


def protected_faults(found: tuple[Difference, ...]) -> tuple[DocumentError, ...]:
    """Why an agent that must not touch the kernel cannot start."""
    return tuple(
        DocumentError(
            "$.protectKernelDefaults",
            f"{each.name} is {each.found} on this machine, not {each.wanted}",
            f"run `sysctl -w {each.name}={each.wanted}`, or set it to false and let the agent do so",
        )
        for each in found
    )


def set_all(parameters: KernelParameters, found: tuple[Difference, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Set them: what has been changed, and what could not be, both for the log."""
    changed, failed = [], []
    for each in found:
        fault = parameters.set(each.name, each.wanted)
        if fault:
            failed.append(f"{each.name} stays {each.found}, a node needs {each.wanted}: {fault}")
        else:
            changed.append(f"{each.name} is {each.wanted} now, it was {each.found}")
    return tuple(changed), tuple(failed)
