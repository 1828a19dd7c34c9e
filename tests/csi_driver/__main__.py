"""The test driver as a process of its own: `python -m tests.csi_driver --directory D --registry R`.

Serves `csi.v1` at `D/csi.sock`, then registers by serving at `R/<name>-reg.sock`; ends with SIGTERM, and then takes its
sockets away. SIGKILL leaves them, as it would those of any driver.
"""

from __future__ import annotations

import argparse
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from tests.csi_driver.service import ALL_ABILITIES, VERSIONS, Book, Driver, Handlers, Registration, Settings
from tests.csi_driver.volumes import Store


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.csi_driver")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--registry", type=Path)
    parser.add_argument("--name", default="test.csi.example")
    parser.add_argument("--node-id", default="the-node")
    parser.add_argument("--ability", action="append", dest="abilities")
    parser.add_argument("--max-volumes", type=int, default=0)
    parser.add_argument("--topology", default="")
    parser.add_argument("--version", action="append", dest="versions")
    parser.add_argument("--kind", default="CSIPlugin")
    given = parser.parse_args(arguments)
    directory: Path = given.directory
    socket = directory / "csi.sock"
    settings = Settings(
        name=given.name,
        node_id=given.node_id,
        endpoint=str(socket),
        abilities=ALL_ABILITIES if given.abilities is None else [each for each in given.abilities if each],
        max_volumes=given.max_volumes,
        topology=dict(part.split("=", 1) for part in given.topology.split(",") if part),
        versions=given.versions or VERSIONS,
        kind=given.kind,
        calls=directory / "calls",
        orders=directory / "orders",
    )
    book = Book(settings)
    servers = [_serve(socket, Handlers(Driver(settings, Store(directory / "store")).methods(), book))]
    sockets = [socket]
    if given.registry is not None:
        given.registry.mkdir(parents=True, exist_ok=True)
        sockets.append(given.registry / f"{given.name}-reg.sock")
        servers.append(_serve(sockets[-1], Handlers(Registration(settings).methods(), book)))
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    # First the sockets, so that nobody is told of a driver that does not answer any more.
    for path in reversed(sockets):
        path.unlink(missing_ok=True)
    for server in servers:
        server.stop(0).wait()
    return 0


def _serve(path: Path, handlers: Handlers) -> grpc.Server:
    path.unlink(missing_ok=True)
    server = grpc.server(ThreadPoolExecutor(16), handlers=(handlers,), options=[("grpc.so_reuseport", 0)])
    server.add_insecure_port(f"unix:{path}")
    server.start()
    return server


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    sys.exit(main(sys.argv[1:]))
