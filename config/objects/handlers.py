"""What is run or asked in a container: lifecycle hooks and probes."""

from __future__ import annotations

from config.objects.base import ApiStruct, Int32, Int64, written


class ExecAction(ApiStruct, frozen=True):
    """core/v1 ExecAction."""

    command: tuple[str, ...] = ()


class GRPCAction(ApiStruct, frozen=True):
    """core/v1 GRPCAction."""

    port: Int32 = written(0)
    service: str | None = None


class HTTPHeader(ApiStruct, frozen=True):
    """core/v1 HTTPHeader."""

    name: str = written("")
    value: str = written("")


class HTTPGetAction(ApiStruct, frozen=True):
    """core/v1 HTTPGetAction."""

    host: str | None = None
    http_headers: tuple[HTTPHeader, ...] = ()
    path: str | None = None
    port: Int32 | str | None = None
    scheme: str | None = None


class TCPSocketAction(ApiStruct, frozen=True):
    """core/v1 TCPSocketAction."""

    host: str | None = None
    port: Int32 | str | None = None


class SleepAction(ApiStruct, frozen=True):
    """core/v1 SleepAction."""

    seconds: Int64 = written(0)


class LifecycleHandler(ApiStruct, frozen=True):
    """core/v1 LifecycleHandler."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None
    tcp_socket: TCPSocketAction | None = None


class Lifecycle(ApiStruct, frozen=True):
    """core/v1 Lifecycle."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: str | None = None


class Probe(ApiStruct, frozen=True):
    """core/v1 Probe."""

    exec: ExecAction | None = None
    failure_threshold: Int32 | None = None
    grpc: GRPCAction | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: Int32 | None = None
    period_seconds: Int32 | None = None
    success_threshold: Int32 | None = None
    tcp_socket: TCPSocketAction | None = None
    termination_grace_period_seconds: Int64 | None = None
    timeout_seconds: Int32 | None = None
