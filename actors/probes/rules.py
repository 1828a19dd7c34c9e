"""The arithmetic of probes: when one is due, when an answer counts, what is asked, what is said (spec 5). Pure.

Times are monotonic nanoseconds unless a name says wall. The states of a probe are in `actors.probes.state`.
"""

from __future__ import annotations

import enum

import msgspec

from actors.model.expansion import expand
from config.objects import Container, Probe
from runtime.io.network import address
from runtime.probes import Check, ExecCheck, GrpcCheck, HttpCheck, Outcome, ProbeAnswer, TcpCheck

SECOND_NS = 1_000_000_000
LATE_NS = SECOND_NS
"""An answer that comes so long after its timeout was held up on our side: it says nothing of the container."""
LATE_EXEC_NS = 5 * SECOND_NS
"""The runtime keeps the time of a command, and has to end the command before it can say so."""
OVERDUE_NS = 15 * SECOND_NS
"""A check that has not ended so long after its timeout is given up."""
MAX_TRIES = 3
"""A check that could not be made is made again at once, this often in all."""
ADOPTED_JITTER_NS = SECOND_NS
"""At most so long until the first check of a container of which nobody knows whether it is ready."""
DEFAULT_PERIOD_S = 10
DEFAULT_TIMEOUT_S = 1
DEFAULT_SUCCESSES = 1
DEFAULT_FAILURES = 3


class ProbeKind(enum.StrEnum):
    """What a probe decides about; in the order in which they begin."""

    STARTUP = "startup"
    READINESS = "readiness"
    LIVENESS = "liveness"

    @property
    def heading(self) -> str:
        """As events begin with it."""
        return self.capitalize()

    @property
    def ends_containers(self) -> bool:
        """Whether its failure kills. Such a probe is of no use once the pod ends."""
        return self is not ProbeKind.READINESS

    @property
    def initial(self) -> bool | None:
        """What holds before the first verdict: it lives, it is not ready, nobody knows whether it has started."""
        return _INITIAL[self]


_INITIAL: dict[ProbeKind, bool | None] = {
    ProbeKind.STARTUP: None,
    ProbeKind.READINESS: False,
    ProbeKind.LIVENESS: True,
}


class Terms(msgspec.Struct, frozen=True):
    """What a probe's author asks for, with every default filled in."""

    kind: ProbeKind
    initial_delay_ns: int = 0
    period_ns: int = DEFAULT_PERIOD_S * SECOND_NS
    timeout_ns: int = DEFAULT_TIMEOUT_S * SECOND_NS
    successes: int = DEFAULT_SUCCESSES
    failures: int = DEFAULT_FAILURES


def terms_of(kind: ProbeKind, probe: Probe) -> Terms:
    """Zero means the default, as everywhere in the API; but no delay is no delay."""
    return Terms(
        kind,
        (probe.initial_delay_seconds or 0) * SECOND_NS,
        (probe.period_seconds or DEFAULT_PERIOD_S) * SECOND_NS,
        (probe.timeout_seconds or DEFAULT_TIMEOUT_S) * SECOND_NS,
        DEFAULT_SUCCESSES if kind.ends_containers else probe.success_threshold or DEFAULT_SUCCESSES,
        probe.failure_threshold or DEFAULT_FAILURES,
    )


def probes_of(container: Container) -> tuple[tuple[ProbeKind, Probe], ...]:
    """Those it has."""
    every = (
        (ProbeKind.STARTUP, container.startup_probe),
        (ProbeKind.READINESS, container.readiness_probe),
        (ProbeKind.LIVENESS, container.liveness_probe),
    )
    return tuple((kind, probe) for kind, probe in every if probe is not None)


# --- when -----------------------------------------------------------------------------------------------------------


def first_due_ns(terms: Terms, running_for_ns: int, now_ns: int) -> int:
    """When the first check is due of a container that has run for so long: at once, or after its initial delay."""
    return now_ns + max(0, terms.initial_delay_ns - running_for_ns)


def jitter_ns(terms: Terms, agent_up_ns: int, chance: float, *, unknown: bool) -> int:
    """What is put on top of that, so that an agent that has just started does not ask everybody at once.

    `chance`: 0 to 1. `unknown`: it ran before the agent did, and nobody knows whether it is ready.
    """
    if agent_up_ns >= terms.period_ns:
        return 0
    return int(chance * (min(terms.period_ns, ADOPTED_JITTER_NS) if unknown else terms.period_ns))


def next_due_ns(terms: Terms, due_ns: int, now_ns: int) -> int:
    """The first time of the probe's grid that is still to come. What was missed is not made up for."""
    behind_ns = max(0, now_ns - due_ns)
    return due_ns + terms.period_ns * (behind_ns // terms.period_ns + 1)


def judged(check: Check | None, answer: ProbeAnswer, elapsed_ns: int, timeout_ns: int) -> ProbeAnswer:
    """The answer, or LATE where it is so late that this node, and not the container, has been slow.

    An agent that was stopped for a minute finds every check of before timed out: nobody is killed for that.
    """
    slack_ns = LATE_EXEC_NS if isinstance(check, ExecCheck) else LATE_NS
    if elapsed_ns <= timeout_ns + slack_ns:
        return answer
    return ProbeAnswer(Outcome.LATE, f"answered after {elapsed_ns / SECOND_NS:.1f} s, which is too late to count")


# --- what is asked --------------------------------------------------------------------------------------------------


class CheckImpossibleError(ValueError):
    """The question cannot be put: an unknown name of a port, or an address that is not there yet."""


def check_of(container: Container, probe: Probe, pod_ip: str) -> Check:
    """What to ask. Raises CheckImpossibleError."""
    if probe.exec is not None:
        # Only what stands in the pod itself is known here, as it is to every agent of Kubernetes.
        known = {each.name: each.value or "" for each in container.env}
        return ExecCheck(tuple(expand(word, known) for word in probe.exec.command))
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
    """A number, a number as text, or the name of one of the container's ports. Raises CheckImpossibleError."""
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


class Said(msgspec.Struct, frozen=True):
    """An event, always of type Warning."""

    reason: str
    message: str


def said_of(kind: ProbeKind, answer: ProbeAnswer) -> Said | None:
    """The event of one answer; None where there is nothing to tell."""
    if answer.outcome is Outcome.FAILURE:
        return Said("Unhealthy", f"{kind.heading} probe failed: {answer.text}")
    if answer.outcome is Outcome.WARNING:
        return Said("ProbeWarning", f"{kind.heading} probe warning: {answer.text}")
    if answer.outcome is Outcome.UNKNOWN:
        text = f"{kind.heading} probe errored and resulted in unknown state: {answer.text}"
        return Said("Unhealthy", text)
    return None
