"""The grpc probe: `grpc.health.v1.Health/Check` without TLS; SERVING is success (spec 5).

The timeout is for connecting and asking together. A server that does not know the protocol has failed.
"""

from __future__ import annotations

import asyncio

from runtime.cri.transport import grpc
from runtime.io.network import address
from runtime.probes.capability import NS_PER_SECOND, PROBE_USER_AGENT, GrpcCheck, ProbeAnswer, ProbeOutcome
from runtime.probes.health_v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

CHECK = "/grpc.health.v1.Health/Check"
_OPTIONS = [
    ("grpc.primary_user_agent", PROBE_USER_AGENT),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),  # each probe dials anew, whatever the one before it has met
]


async def ask_grpc(check: GrpcCheck, timeout_ns: int) -> ProbeAnswer:
    """On the loop."""
    where, seconds = address(check.host, check.port), timeout_ns / NS_PER_SECOND
    try:
        async with asyncio.timeout(seconds), grpc.aio.insecure_channel(where, options=_OPTIONS) as channel:
            call = channel.unary_unary(
                CHECK,
                request_serializer=HealthCheckRequest.SerializeToString,
                response_deserializer=HealthCheckResponse.FromString,
            )
            response = await call(HealthCheckRequest(service=check.service), timeout=seconds)
    except TimeoutError:
        return _timed_out(where, seconds)
    except grpc.RpcError as failure:
        return _failed(failure.code(), failure.details() or "", where, seconds)
    if response.status == HealthCheckResponse.SERVING:
        return ProbeAnswer(ProbeOutcome.SUCCESS)
    try:
        name = HealthCheckResponse.ServingStatus.Name(response.status)
    except ValueError:
        name = str(response.status)
    return ProbeAnswer(ProbeOutcome.FAILURE, f'service unhealthy (responded with "{name}")')


def _failed(code: object, details: str, where: str, seconds: float) -> ProbeAnswer:
    if code == grpc.StatusCode.UNIMPLEMENTED:
        text = f"this server does not implement the grpc health protocol (grpc.health.v1.Health): {details}"
        return ProbeAnswer(ProbeOutcome.FAILURE, text)
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return _timed_out(where, seconds)
    if code == grpc.StatusCode.UNAVAILABLE:
        return ProbeAnswer(ProbeOutcome.FAILURE, f'failed to connect service "{where}": {details}')
    name = getattr(code, "name", str(code))
    return ProbeAnswer(ProbeOutcome.FAILURE, f"rpc failed with {name}: {details}")


def _timed_out(where: str, seconds: float) -> ProbeAnswer:
    return ProbeAnswer(ProbeOutcome.FAILURE, f'timeout: service "{where}" has not answered within {seconds:g}s')
