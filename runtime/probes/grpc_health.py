"""The grpc probe: `grpc.health.v1.Health/Check` without TLS; SERVING is success (spec 5).

The timeout is for connecting and asking together. A server that does not know the protocol has failed.
"""

from __future__ import annotations

import asyncio

from google.protobuf.message import DecodeError

from runtime.cri import StatusCode
from runtime.http_client.call_bytes import CallBytes
from runtime.io.connecting import connected
from runtime.io.held_bytes import HeldBytes
from runtime.io.network import address, reason_of
from runtime.probes.capability import NS_PER_SECOND, PROBE_USER_AGENT, GrpcCheck, ProbeAnswer, ProbeOutcome
from runtime.probes.grpc_call import CALL_BYTES_AT_MOST, GrpcCallError, unary_call
from runtime.probes.health_v1.health_pb2 import HealthCheckRequest, HealthCheckResponse

CHECK = "/grpc.health.v1.Health/Check"
_NS_PER_MS = 1_000_000


async def ask_grpc(check: GrpcCheck, timeout_ns: int, held: HeldBytes | None = None) -> ProbeAnswer:
    """Make a gRPC check. Runs on the loop. `held`: the memory of all probes of this loop."""
    where, seconds = address(check.host, check.port), timeout_ns / NS_PER_SECOND
    call = CallBytes(held or HeldBytes(), CALL_BYTES_AT_MOST)
    try:
        async with asyncio.timeout(seconds):
            message = await _exchange(check, where, timeout_ns // _NS_PER_MS, call)
        response = HealthCheckResponse.FromString(message)
    except TimeoutError:
        return _timed_out(where, seconds)
    except OSError as failure:
        return ProbeAnswer(ProbeOutcome.FAILURE, f'failed to connect service "{where}": {reason_of(failure)}')
    except GrpcCallError as failure:
        return _failed(failure, where, seconds)
    except DecodeError:
        return ProbeAnswer(ProbeOutcome.FAILURE, "rpc failed with INTERNAL: the answer is not a HealthCheckResponse")
    finally:
        call.end()
    if response.status == HealthCheckResponse.SERVING:
        return ProbeAnswer(ProbeOutcome.SUCCESS)
    try:
        name = HealthCheckResponse.ServingStatus.Name(response.status)
    except ValueError:
        name = str(response.status)
    return ProbeAnswer(ProbeOutcome.FAILURE, f'service unhealthy (responded with "{name}")')


async def _exchange(check: GrpcCheck, where: str, timeout_ms: int, call: CallBytes) -> bytes:
    request = HealthCheckRequest(service=check.service).SerializeToString()
    line = await connected(check.host, check.port)
    try:
        return await unary_call(line, where, CHECK, request, PROBE_USER_AGENT, timeout_ms, call)
    finally:
        line.close()


def _failed(failure: GrpcCallError, where: str, seconds: float) -> ProbeAnswer:
    status, details = failure.status, failure.details
    if status is StatusCode.UNIMPLEMENTED:
        text = f"this server does not implement the grpc health protocol (grpc.health.v1.Health): {details}"
        return ProbeAnswer(ProbeOutcome.FAILURE, text)
    if status is StatusCode.DEADLINE_EXCEEDED:
        return _timed_out(where, seconds)
    if status is StatusCode.UNAVAILABLE:
        return ProbeAnswer(ProbeOutcome.FAILURE, f'failed to connect service "{where}": {details}')
    return ProbeAnswer(ProbeOutcome.FAILURE, f"rpc failed with {status.name}: {details}")


def _timed_out(where: str, seconds: float) -> ProbeAnswer:
    return ProbeAnswer(ProbeOutcome.FAILURE, f'timeout: service "{where}" has not answered within {seconds:g}s')
