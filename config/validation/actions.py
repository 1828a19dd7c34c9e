"""Rules for probes and hooks of a container (spec 3.11, 5).

Pure; faults go to the `DocumentPlace`.
"""

from __future__ import annotations

from collections.abc import Mapping

from config.documents.places import DocumentPlace
from config.objects import Container, ExecAction, HTTPGetAction, LifecycleHandler, PodSpec, Probe, TCPSocketAction
from config.values.name_rules import check, header_name, port_name

_STOP_SIGNALS_OF_WINDOWS = ("SIGTERM", "SIGKILL")


def check_probe(at: DocumentPlace, probe: object, *, liveness: bool) -> None:
    """`liveness` is set for startup probes as well: both need a success threshold of one."""
    if not isinstance(probe, Probe):
        return
    _check_one_action(
        at, {"exec": probe.exec, "httpGet": probe.http_get, "tcpSocket": probe.tcp_socket, "grpc": probe.grpc}
    )
    if probe.grpc is not None and not 1 <= probe.grpc.port <= 65535:
        (at / "grpc" / "port").fault(f"must be between 1 and 65535, not {probe.grpc.port}")
    _check_actions(at, probe.exec, probe.http_get, probe.tcp_socket)
    for field, number in (
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ):
        (at / field).at_least(number, 0)
    grace = probe.termination_grace_period_seconds
    (at / "terminationGracePeriodSeconds").at_least(grace, 1)
    if liveness and probe.success_threshold not in (None, 0, 1):
        (at / "successThreshold").fault(f"must be 1, not {probe.success_threshold}", "remove it")
    if not liveness and grace is not None:
        (at / "terminationGracePeriodSeconds").fault("a readiness probe ends nothing", "remove it")


def check_lifecycle(at: DocumentPlace, container: Container, spec: PodSpec | None) -> None:
    """Check the hooks, and the stop signal, which needs `spec.os` (KEP-4960)."""
    lifecycle = container.lifecycle
    if lifecycle is None:
        return
    if lifecycle.post_start is not None:
        _check_handler(at / "postStart", lifecycle.post_start)
    if lifecycle.pre_stop is not None:
        _check_handler(at / "preStop", lifecycle.pre_stop)
        sleep = lifecycle.pre_stop.sleep
        grace = spec.termination_grace_period_seconds if spec is not None else None
        if sleep is not None and grace is not None and sleep.seconds > grace:
            (at / "preStop" / "sleep" / "seconds").fault(
                f"{sleep.seconds} is longer than the grace period of {grace}", "raise terminationGracePeriodSeconds"
            )
    if lifecycle.stop_signal is not None and spec is not None:
        system = spec.os.name if spec.os is not None else None
        if system is None:
            (at / "stopSignal").fault("needs $.spec.os.name", "set os: {name: linux}")
        elif not lifecycle.stop_signal.startswith("SIG"):
            (at / "stopSignal").fault(f"{lifecycle.stop_signal!r} is not a signal", "write it like SIGUSR1")
        elif system == "windows":
            (at / "stopSignal").one_of(lifecycle.stop_signal, _STOP_SIGNALS_OF_WINDOWS)


def _check_handler(at: DocumentPlace, handler: LifecycleHandler) -> None:
    actions = {
        "exec": handler.exec,
        "httpGet": handler.http_get,
        "tcpSocket": handler.tcp_socket,
        "sleep": handler.sleep,
    }
    _check_one_action(at, actions)
    _check_actions(at, handler.exec, handler.http_get, handler.tcp_socket)
    if handler.sleep is not None:
        (at / "sleep" / "seconds").at_least(handler.sleep.seconds, 0)


def _check_one_action(at: DocumentPlace, actions: Mapping[str, object]) -> None:
    given = [name for name, action in actions.items() if action is not None]
    if not given:
        at.fault("has no action", f"add one of {', '.join(actions)}")
    for name in given[1:]:
        (at / name).fault(f"cannot stand beside {given[0]}", "keep one of them")


def _check_actions(
    at: DocumentPlace, exec_: ExecAction | None, http: HTTPGetAction | None, tcp: TCPSocketAction | None
) -> None:
    if exec_ is not None:
        (at / "exec" / "command").required(exec_.command)
    if http is not None:
        _check_port(at / "httpGet" / "port", http.port)
        (at / "httpGet" / "scheme").one_of(http.scheme, ("HTTP", "HTTPS"))
        for place, header in (at / "httpGet").items("httpHeaders", http.http_headers):
            check(place / "name", header_name(header.name))
    if tcp is not None:
        _check_port(at / "tcpSocket" / "port", tcp.port)


def _check_port(at: DocumentPlace, port: int | str | None) -> None:
    if port is None:
        at.required(port, "name the port or give its number")
    elif isinstance(port, str):
        check(at, port_name(port))
    elif not 1 <= port <= 65535:
        at.fault(f"must be between 1 and 65535, not {port}")
