"""The kernel parameters that a node needs (spec 9.8), and how they are set or checked.

An overloaded machine must kill processes and go on, not panic; a panicked one must restart by itself; and root's
containers need a key ring each. The agent sets the parameters. With `protectKernelDefaults` the administrator sets
them, and a difference keeps the agent from starting.
"""

from __future__ import annotations

from dataclasses import dataclass

from config.documents.codec import DocumentError
from runtime.host.kernel_parameters import KernelParameters

WANTED: tuple[tuple[str, int], ...] = (
    ("vm.overcommit_memory", 1),  # promise memory freely: cgroups enforce the limits
    ("vm.panic_on_oom", 0),  # kill a process, keep the node running
    ("kernel.panic", 10),  # seconds until a panicked machine restarts
    ("kernel.panic_on_oops", 1),  # restart rather than go on with a broken kernel
    ("kernel.keys.root_maxkeys", 1_000_000),  # each container has a key ring, most of them as root
    ("kernel.keys.root_maxbytes", 25_000_000),
)


@dataclass(frozen=True, slots=True)
class TunableDifference:
    """A parameter with the wrong value."""

    name: str
    wanted: int
    found: int


def differences(parameters: KernelParameters) -> tuple[TunableDifference, ...]:
    """The parameters with wrong values. One that this kernel does not have is never wrong."""
    found = ((name, wanted, parameters.get(name)) for name, wanted in WANTED)
    return tuple(
        TunableDifference(name, wanted, is_) for name, wanted, is_ in found if is_ is not None and is_ != wanted
    )


def protected_faults(found: tuple[TunableDifference, ...]) -> tuple[DocumentError, ...]:
    """The faults that keep the agent from starting when it must not touch the kernel."""
    return tuple(
        DocumentError(
            "$.protectKernelDefaults",
            f"{each.name} is {each.found} on this machine, not {each.wanted}",
            f"run `sysctl -w {each.name}={each.wanted}`, or set it to false and let the agent do so",
        )
        for each in found
    )


def set_all(
    parameters: KernelParameters, found: tuple[TunableDifference, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Set the parameters. Returns the changes and the failures, as texts for the log."""
    changed, failed = [], []
    for each in found:
        fault = parameters.set(each.name, each.wanted)
        if fault:
            failed.append(f"{each.name} stays {each.found}, a node needs {each.wanted}: {fault}")
        else:
            changed.append(f"{each.name} is {each.wanted} now, it was {each.found}")
    return tuple(changed), tuple(failed)
