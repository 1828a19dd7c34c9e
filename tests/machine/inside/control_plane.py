"""Runs inside a machine: a control plane on loopback, for a node of that machine.

    control_plane.py DIRECTORY [FOLDER]

FOLDER has a real etcd, kube-apiserver and kube-controller-manager. Without it the embedded API server serves. DIRECTORY
gets `admin.conf`, `ca.crt`, `node.conf` of this machine's node, and `token`, with which a machine may join. `url` comes
last: then the server is ready. It serves until SIGTERM.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import sys
import time
from pathlib import Path

import actorlet

PORT = 6443
NODE = "machine-1"
TOKEN_ID, TOKEN_SECRET = "a1b2c3", "0123456789abcdef"


def main() -> None:
    """Serve what the command line says."""
    sys.path.insert(0, str(Path(actorlet.__file__).parent / "_floors"))
    directory = Path(sys.argv[1])
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    (directory / "url").unlink(missing_ok=True)
    if len(sys.argv) > 2:
        asyncio.run(_real(directory, sys.argv[2]))
    else:
        _embedded(directory)


def _embedded(directory: Path) -> None:
    from cli.simulated.embedded_api import ApiServerOptions, embedded_api

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    kubeconfig = str(directory / "admin.conf")
    options = ApiServerOptions(str(directory / "own"), kubeconfig, PORT, node_authorizer=True, nodes=(NODE,))
    with embedded_api(options) as served:
        shutil.copy(served.authority, directory / "ca.crt")
        shutil.copy(served.node_kubeconfigs[NODE], directory / "node.conf")
        found = re.search(r"token: *\"?([\w.]+)", (directory / "node.conf").read_text())
        assert found is not None
        (directory / "token").write_text(found[1])
        (directory / "url").write_text(served.url)
        signal.sigwait({signal.SIGTERM})


async def _real(directory: Path, folder: str) -> None:
    from simulation.planes.binaries import find_binaries
    from simulation.planes.control_plane import ADMIN, ControlPlane

    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    own = str(directory / "own")
    plane = ControlPlane(find_binaries(folder), own, time.time_ns(), scheduler=True, port=PORT, real_nodes=True)
    try:
        await plane.begin()
        plane.write_kubeconfig(str(directory / "admin.conf"), *ADMIN)
        plane.write_kubeconfig(str(directory / "node.conf"), f"system:node:{NODE}", "system:nodes")
        shutil.copy(plane.files.authority, directory / "ca.crt")
        # kubeadm's own form of a token (`bootstrap.kubernetes.io/token`).
        uses = {"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true"}
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": f"bootstrap-token-{TOKEN_ID}", "namespace": "kube-system"},
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {"token-id": TOKEN_ID, "token-secret": TOKEN_SECRET, **uses},
        }
        await plane.remote.ask("POST", "/api/v1/namespaces/kube-system/secrets", secret)
        (directory / "token").write_text(f"{TOKEN_ID}.{TOKEN_SECRET}")
        (directory / "url").write_text(plane.url)
        await ended.wait()
    finally:
        await plane.end()


if __name__ == "__main__":
    main()
