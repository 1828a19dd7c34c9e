"""A server of gRPC's health protocol that runs in a container.

It uses the interpreter and the libraries of the tests.

`serving` makes the container: what the interpreter needs of the host is mounted read only. Run as a program with a
port and a directory, it says of a service that it is SERVING while the directory holds a file of its name.
"""

from __future__ import annotations

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from runtime.cri.transport import grpc
from runtime.probes.health_v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from tests.real.images import BUSYBOX

TREE = Path(__file__).parents[2]


def serving(name: str, port: int, directory: str, mounts: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """A container of such a server."""
    return {
        "name": name,
        "image": BUSYBOX,
        "command": [sys.executable, "-m", "tests.real.health_server", str(port), directory],
        "workingDir": str(TREE),
        "env": [{"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "volumeMounts": [*mounts, *({"name": name, "mountPath": path, "readOnly": True} for name, path in _host())],
        **fields,
    }


def host_volumes() -> list[dict[str, Any]]:
    """For the pod of such a container."""
    return [{"name": name, "hostPath": {"path": path}} for name, path in _host()]


def _host() -> list[tuple[str, str]]:
    """Directories of this machine with the interpreter, its libraries and the project."""
    wanted = ["/usr", "/lib", "/lib64", sys.base_prefix, sys.prefix, str(TREE)]
    outer = [path for path in dict.fromkeys(wanted) if not any(_below(path, each) for each in wanted)]
    return [(f"host-{number}", path) for number, path in enumerate(outer) if Path(path).exists()]


def _below(path: str, other: str) -> bool:
    return path != other and Path(path).is_relative_to(other)


def _serve(port: int, directory: Path) -> None:
    def check(request: HealthCheckRequest, context: Any) -> HealthCheckResponse:
        there = (directory / request.service).exists()
        return HealthCheckResponse(status=HealthCheckResponse.SERVING if there else HealthCheckResponse.NOT_SERVING)

    handler = grpc.unary_unary_rpc_method_handler(
        check,
        request_deserializer=HealthCheckRequest.FromString,
        response_serializer=HealthCheckResponse.SerializeToString,
    )
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": handler}),)
    )
    server.add_insecure_port(f"0.0.0.0:{port}")
    server.start()
    # The first process of a container ignores what it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server.wait_for_termination()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), Path(sys.argv[2]))
