"""The drivers of this node over gRPC."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from runtime.dra.capability import DraDriver
from runtime.dra.client import GrpcDraDriver
from runtime.dra.registered import RegisteredDrivers


def grpc_drivers(asked: Callable[[str, str, str, int], None] | None = None) -> RegisteredDrivers:
    """Drivers at their sockets. `asked`: as `client.Asked`, with the name of the driver before it."""

    def connect(name: str, endpoint: str, service: str) -> DraDriver:
        if asked is None:
            return GrpcDraDriver(endpoint, service)
        return GrpcDraDriver(endpoint, service, partial(asked, name))

    return RegisteredDrivers(connect)
