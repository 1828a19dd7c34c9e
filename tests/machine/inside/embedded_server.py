"""Runs inside a machine: the embedded API server, for the agent of that machine.

It keeps nothing over a reboot.
"""

from __future__ import annotations

import signal
import sys
from importlib.util import find_spec
from pathlib import Path

DIRECTORY, ADMIN, NODE, PORT = "/run/api", "/run/admin.kubeconfig", "machine-1", 6443


def main() -> None:
    package = find_spec("actorlet")
    assert package is not None
    assert package.origin is not None
    sys.path.insert(0, str(Path(package.origin).parent / "_floors"))
    from cli.simulated.embedded_api import ApiServerOptions, embedded_api

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with embedded_api(ApiServerOptions(DIRECTORY, ADMIN, port=PORT, nodes=(NODE,))):
        signal.pause()


if __name__ == "__main__":
    main()
