"""What is run or asked in a container: lifecycle hooks and probes."""

from __future__ import annotations

from config.objects.base import ApiStruct, written


class ExecAction(ApiStruct, frozen=True):
    """core/v1 ExecAction."""

    command: tuple[str, ...] = ()


class GRPCAction(ApiStruct, frozen=True):
    """core/v1 GRPCAction."""

    port: int = written(0)
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
    port: int | str | None = None
    scheme: str | None = None


class TCPSocketAction(ApiStruct, frozen=True):
    """core/v1 TCPSocketAction."""

    host: str | None = None
    port: int | str | None = None


class SleepAction(ApiStruct, frozen=True):
    """core/v1 SleepAction."""

    seconds: int = written(0)


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
    failure_threshold: int | None = None
    grpc: GRPCAction | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: int | None = None
    period_seconds: int | None = None
    success_threshold: int | None = None
    tcp_socket: TCPSocketAction | None = None
    termination_grace_period_seconds: int | None = None
    timeout_seconds: int | None = None
