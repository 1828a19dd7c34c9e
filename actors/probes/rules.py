"""The arithmetic of probes (spec 5): due times, waits, what to check, which event. Pure.

Times are monotonic nanoseconds unless a name says wall. The states of a probe are in `actors.probes.state`.
"""

from __future__ import annotations

import enum

import msgspec

from actors.model.expansion import ExpansionTooLongError, expand_all
from config.objects import Container, Probe
from runtime.io.network import address
from runtime.probes import Check, ExecCheck, GrpcCheck, HttpCheck, ProbeAnswer, ProbeOutcome, TcpCheck

SECOND_NS = 1_000_000_000
OVERDUE_NS = 15 * SECOND_NS
"""A check that has not ended this long after its timeout is given up."""
OVERDUE_EXEC_NS = 135 * SECOND_NS
"""Longer for commands: the runtime may take two minutes more than the command."""
MAX_TRIES = 3
"""A check that gave no verdict is repeated at once, up to this many tries in all."""
ADOPTED_JITTER_NS = SECOND_NS
"""The longest delay of the first check of a container whose readiness is unknown."""
DEFAULT_PERIOD_S = 10
DEFAULT_TIMEOUT_S = 1
DEFAULT_SUCCESSES = 1
DEFAULT_FAILURES = 3


class ProbeKind(enum.StrEnum):
    """The kind of a probe, in the order in which probes begin."""

    STARTUP = "startup"
    READINESS = "readiness"
    LIVENESS = "liveness"

    @property
    def heading(self) -> str:
        """The first words of its events."""
        return self.capitalize()

    @property
    def ends_containers(self) -> bool:
        """Whether its failure kills the container. Such a probe is useless once the pod ends."""
        return self is not ProbeKind.READINESS

    @property
    def initial(self) -> bool | None:
        """The result before the first verdict: alive, not ready, unknown whether started."""
        return _INITIAL[self]


_INITIAL: dict[ProbeKind, bool | None] = {
    ProbeKind.STARTUP: None,
    ProbeKind.READINESS: False,
    ProbeKind.LIVENESS: True,
}


class Terms(msgspec.Struct, frozen=True):
    """The settings of a probe, with every default filled in."""

    kind: ProbeKind
    initial_delay_ns: int = 0
    period_ns: int = DEFAULT_PERIOD_S * SECOND_NS
    timeout_ns: int = DEFAULT_TIMEOUT_S * SECOND_NS
    successes: int = DEFAULT_SUCCESSES
    failures: int = DEFAULT_FAILURES


def terms_of(kind: ProbeKind, probe: Probe) -> Terms:
    """The terms of a probe. Zero means the default, as everywhere in the API, but a delay of zero is none."""
    return Terms(
        kind,
        (probe.initial_delay_seconds or 0) * SECOND_NS,
        (probe.period_seconds or DEFAULT_PERIOD_S) * SECOND_NS,
        (probe.timeout_seconds or DEFAULT_TIMEOUT_S) * SECOND_NS,
        DEFAULT_SUCCESSES if kind.ends_containers else probe.success_threshold or DEFAULT_SUCCESSES,
        probe.failure_threshold or DEFAULT_FAILURES,
    )


def probes_of(container: Container) -> tuple[tuple[ProbeKind, Probe], ...]:
    """The probes of a container."""
    every = (
        (ProbeKind.STARTUP, container.startup_probe),
        (ProbeKind.READINESS, container.readiness_probe),
        (ProbeKind.LIVENESS, container.liveness_probe),
    )
    return tuple((kind, probe) for kind, probe in every if probe is not None)


# --- when -----------------------------------------------------------------------------------------------------------


def first_due_ns(terms: Terms, running_for_ns: int, now_ns: int) -> int:
    """When the first check of a container is due: at once, or after its initial delay.

    `running_for_ns`: how long it has run.
    """
    return now_ns + max(0, terms.initial_delay_ns - running_for_ns)


def first_tick_ns(terms: Terms, ticks_from_ns: int, earliest_ns: int, now_ns: int) -> int:
    """The first tick of a probe's timer that is not before `earliest_ns`.

    The timer begins at `ticks_from_ns` and ticks once a period. A tick at `now_ns` has passed, unless it is
    the timer's first.
    """
    passed = (now_ns - ticks_from_ns) // terms.period_ns + 1 if now_ns > ticks_from_ns else 0
    waited = -(-max(0, earliest_ns - ticks_from_ns) // terms.period_ns)
    return ticks_from_ns + max(passed, waited) * terms.period_ns


def jitter_ns(terms: Terms, agent_up_ns: int, chance: float, *, unknown: bool) -> int:
    """The delay added to the first check, so that a new agent does not start all checks at once.

    `chance`: 0 to 1. `unknown`: the container is older than the agent, and its readiness is unknown; then the delay is
    a second at most.
    """
    if agent_up_ns >= terms.period_ns:
        return 0
    return int(chance * (min(terms.period_ns, ADOPTED_JITTER_NS) if unknown else terms.period_ns))


def next_due_ns(terms: Terms, due_ns: int, now_ns: int) -> int:
    """The next due time on the probe's grid. Missed checks are not made up for."""
    behind_ns = max(0, now_ns - due_ns)
    return due_ns + terms.period_ns * (behind_ns // terms.period_ns + 1)


def given_up_after_ns(check: Check, timeout_ns: int) -> int:
    """How long to wait for the answer to a check before it is given up and does not count."""
    return timeout_ns + (OVERDUE_EXEC_NS if isinstance(check, ExecCheck) else OVERDUE_NS)


# --- what is asked --------------------------------------------------------------------------------------------------


class CheckImpossibleError(ValueError):
    """The check cannot be made: an unknown port name, or no address yet."""


def check_of(container: Container, probe: Probe, pod_ip: str) -> Check:
    """The check to make. Raises CheckImpossibleError."""
    if probe.exec is not None:
        # Use only values written in the pod itself, as every Kubernetes agent does.
        known = {each.name: each.value or "" for each in container.env}
        try:
            return ExecCheck(expand_all(probe.exec.command, known))
        except ExpansionTooLongError as failure:
            raise CheckImpossibleError(f"the command of the probe is {failure}") from failure
    http, tcp = probe.http_get, probe.tcp_socket
    if http is not None:
        where = address(http.host or _ip(pod_ip), port_of(container, http.port))
        path = http.path or "/"
        url = f"{(http.scheme or 'HTTP').lower()}://{where}{path if path.startswith('/') else f'/{path}'}"
        return HttpCheck(url, tuple((each.name, each.value) for each in http.http_headers))
    if tcp is not None:
        return TcpCheck(tcp.host or _ip(pod_ip), port_of(container, tcp.port))
    if probe.grpc is not None:
        return GrpcCheck(_ip(pod_ip), port_of(container, probe.grpc.port), probe.grpc.service or "")
    raise CheckImpossibleError("the probe says nothing of how to ask; give it exec, httpGet, tcpSocket or grpc")


def port_of(container: Container, port: int | str | None) -> int:
    """The port from a number, a number as text, or the name of a port of the container.

    Raises CheckImpossibleError.
    """
    number = port
    if isinstance(port, str):
        named = next((each.container_port for each in container.ports if each.name == port), None)
        number = named if named is not None else int(port) if port.isdecimal() else None
    if isinstance(number, int) and 0 < number < 65536:
        return number
    names = ", ".join(each.name for each in container.ports if each.name) or "none"
    raise CheckImpossibleError(f"couldn't find port {port!r} in container {container.name}; its named ports: {names}")


def _ip(pod_ip: str) -> str:
    if not pod_ip:
        raise CheckImpossibleError("the pod has no address yet")
    return pod_ip


# --- what is said ---------------------------------------------------------------------------------------------------


class ProbeEvent(msgspec.Struct, frozen=True):
    """An event, always of type Warning."""

    reason: str
    message: str


def said_of(kind: ProbeKind, answer: ProbeAnswer) -> ProbeEvent | None:
    """The event for one answer; None if it needs none."""
    if answer.outcome is ProbeOutcome.FAILURE:
        return ProbeEvent("Unhealthy", f"{kind.heading} probe failed: {answer.text}")
    if answer.outcome is ProbeOutcome.WARNING:
        return ProbeEvent("ProbeWarning", f"{kind.heading} probe warning: {answer.text}")
    if answer.outcome is ProbeOutcome.UNKNOWN:
        text = f"{kind.heading} probe errored and resulted in unknown state: {answer.text}"
        return ProbeEvent("Unhealthy", text)
    return None
