"""What a gRPC server is told of traces: the `traceparent` of each call, by method."""

from __future__ import annotations

from typing import Any

from runtime.cri.transport import grpc


class TraceParents(grpc.aio.ServerInterceptor):
    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        metadata = dict(handler_call_details.invocation_metadata)
        self.calls.append((handler_call_details.method, metadata.get("traceparent", "")))
        return await continuation(handler_call_details)

    def of(self, method: str) -> list[str]:
        return [parent for name, parent in self.calls if name == method]
