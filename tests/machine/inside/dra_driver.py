"""Runs inside a machine: `tests.dra_driver.driver` as a service, until SIGTERM.

    dra_driver.py LOG

LOG gets a line for each call: the method, and the UIDs of its claims.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Event

_NEVER = Event()


def main(log: Path) -> None:
    package = find_spec("actorlet")
    assert package is not None
    assert package.origin is not None
    sys.path[:0] = [str(Path(package.origin).parent / "_floors")]
    from runtime.dra.capability import ClaimDevice, ClaimRef

    sample = import_module("driver").SampleDriver  # beside this file

    def device(_: ClaimRef) -> tuple[ClaimDevice, ...]:
        return (ClaimDevice("pool", "gpu-0", cdi=("vendor.example/gpu=gpu0",)),)

    with sample(Path("/var/lib/kubelet"), devices=device) as driver:
        told = 0
        while True:
            lines = [f"{method} {' '.join(uids)}\n" for method, uids in driver.calls[told:]]
            told += len(lines)
            with log.open("a") as file:
                file.writelines(lines)
            _NEVER.wait(0.5)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
