"""When probes are due, what they ask, which answers count and what is said of them (spec 5)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from actors.probes.rules import (
    CheckImpossibleError,
    ProbeEvent,
    ProbeKind,
    Terms,
    check_of,
    first_due_ns,
    first_tick_ns,
    given_up_after_ns,
    jitter_ns,
    next_due_ns,
    probes_of,
    said_of,
    terms_of,
)
from config.documents.codec import from_builtins
from config.objects import Container, Probe
from runtime.probes import Check, ExecCheck, GrpcCheck, HttpCheck, ProbeAnswer, ProbeOutcome, TcpCheck

SECOND = 10**9
STARTUP, READINESS, LIVENESS = ProbeKind.STARTUP, ProbeKind.READINESS, ProbeKind.LIVENESS
ANSWER = ProbeAnswer(ProbeOutcome.FAILURE, "no")


def made(**fields: Any) -> Container:
    ports = [{"name": "web", "containerPort": 8080}, {"containerPort": 9090}]
    return from_builtins({"name": "a", "image": "b", "ports": ports, **fields}, Container)


def asked(probe: dict[str, Any], ip: str = "10.0.0.1", **container: Any) -> Check:
    return check_of(made(**container), from_builtins(probe, Probe), ip)


@pytest.mark.parametrize("kind", list(ProbeKind))
# (spec 5.2)
def test_spec_5_defaults_are_those_of_the_api(kind: ProbeKind) -> None:
    assert terms_of(kind, Probe()) == Terms(kind, 0, 10 * SECOND, SECOND, 1, 3)
    zero = Probe(initial_delay_seconds=0, period_seconds=0, timeout_seconds=0, success_threshold=0, failure_threshold=0)
    assert terms_of(kind, zero) == Terms(kind, 0, 10 * SECOND, SECOND, 1, 3)


# (spec 5.2)
def test_spec_5_only_readiness_may_need_more_than_one_success() -> None:
    probe = Probe(success_threshold=4, failure_threshold=5, initial_delay_seconds=6, period_seconds=7)
    assert terms_of(READINESS, probe).successes == 4
    assert terms_of(LIVENESS, probe).successes == terms_of(STARTUP, probe).successes == 1
    assert terms_of(READINESS, probe) == Terms(READINESS, 6 * SECOND, 7 * SECOND, SECOND, 4, 5)


# (spec 5.1)
def test_spec_5_a_container_has_the_probes_that_it_names_startup_first() -> None:
    probe = {"tcpSocket": {"port": 1}}
    container = made(livenessProbe=probe, readinessProbe=probe, startupProbe=probe)
    assert [kind for kind, _ in probes_of(container)] == [STARTUP, READINESS, LIVENESS]
    assert probes_of(made()) == ()


def test_a_command_that_multiplies_a_variable_is_never_made() -> None:
    probe = {"exec": {"command": ["$(A)" * 1000] * 1000}}
    with pytest.raises(CheckImpossibleError, match="command of the probe is longer than"):
        asked(probe, env=[{"name": "A", "value": "x" * 1000}])


@pytest.mark.parametrize(
    ("delay_s", "running_for_s", "due_in_s"), [(0, 0, 0), (5, 0, 5), (5, 2, 3), (5, 5, 0), (5, 3600, 0)]
)
# (spec 5.3)
def test_spec_5_the_initial_delay_counts_from_the_start_of_the_container(
    delay_s: int, running_for_s: int, due_in_s: int
) -> None:
    terms = Terms(READINESS, initial_delay_ns=delay_s * SECOND)
    assert first_due_ns(terms, running_for_s * SECOND, 100) == 100 + due_in_s * SECOND


@pytest.mark.parametrize(
    ("now_s", "earliest_s", "due_s"),
    [
        pytest.param(0, 0, 0, id="the first tick counts for a container that runs already"),
        pytest.param(-3, -3, 0, id="a young agent's timer begins later"),
        pytest.param(1, 1, 10, id="a container that started later waits for the next tick"),
        pytest.param(9.9, 9.9, 10, id="however near it is"),
        pytest.param(10, 10, 20, id="a tick at the very moment has passed"),
        pytest.param(2, 10, 10, id="a delay that ends with a tick"),
        pytest.param(2, 10.1, 20, id="a delay that ends after a tick"),
        pytest.param(33, 33, 40, id="a container that starts again"),
    ],
)
# (spec 5.5)
def test_spec_5_a_probe_that_may_end_its_container_first_checks_at_a_tick_of_its_timer(
    now_s: float, earliest_s: float, due_s: float
) -> None:
    assert first_tick_ns(Terms(LIVENESS), 0, int(earliest_s * SECOND), int(now_s * SECOND)) == due_s * SECOND


@pytest.mark.parametrize(
    ("up_s", "unknown", "expected_s"), [(0, False, 5), (9, False, 5), (10, False, 0), (3600, True, 0), (0, True, 0.5)]
)
# (spec 5.4)
def test_spec_5_there_is_first_jitter_only_while_the_agent_is_younger_than_a_period(
    up_s: int, unknown: bool, expected_s: float
) -> None:
    assert jitter_ns(Terms(LIVENESS), up_s * SECOND, 0.5, unknown=unknown) == int(expected_s * SECOND)


@pytest.mark.parametrize(("now_s", "next_s"), [(0, 10), (0.1, 10), (9.9, 10), (10, 20), (65, 70)])
# (spec 5.6)
def test_spec_5_the_next_time_is_on_the_grid(now_s: float, next_s: int) -> None:
    assert next_due_ns(Terms(LIVENESS), 0, int(now_s * SECOND)) == next_s * SECOND


def test_spec_5_the_runtime_gets_two_minutes_more_than_a_command_before_a_check_is_given_up() -> None:
    assert given_up_after_ns(TcpCheck("h", 1), SECOND) == 16 * SECOND
    assert given_up_after_ns(ExecCheck(("x",)), SECOND) > 121 * SECOND


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ({"exec": {"command": ["a", "b"]}}, ExecCheck(("a", "b"))),
        ({"httpGet": {"port": 80}}, HttpCheck("http://10.0.0.1:80/")),
        ({"httpGet": {"port": "web", "path": "/x?y=1"}}, HttpCheck("http://10.0.0.1:8080/x?y=1")),
        ({"httpGet": {"port": 80, "path": "x"}}, HttpCheck("http://10.0.0.1:80/x")),
        ({"httpGet": {"port": 80, "host": "::1", "scheme": "HTTPS"}}, HttpCheck("https://[::1]:80/")),
        (
            {"httpGet": {"port": 80, "httpHeaders": [{"name": "A", "value": "b"}]}},
            HttpCheck("http://10.0.0.1:80/", (("A", "b"),)),
        ),
        ({"tcpSocket": {"port": "web"}}, TcpCheck("10.0.0.1", 8080)),
        ({"tcpSocket": {"port": "81", "host": "h"}}, TcpCheck("h", 81)),
        ({"grpc": {"port": 82}}, GrpcCheck("10.0.0.1", 82, "")),
        ({"grpc": {"port": 82, "service": "s"}}, GrpcCheck("10.0.0.1", 82, "s")),
    ],
)
# (spec 5.21, 5.28)
def test_spec_5_a_probe_becomes_a_request(probe: dict[str, Any], expected: Check) -> None:
    assert asked(probe) == expected


# (spec 5.31, 13.4.2)
def test_spec_5_a_command_knows_the_variables_that_stand_in_the_pod() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    command = ["$(A)", "$(B)", "$(C)", "$$(A)"]
    assert asked({"exec": {"command": command}}, env=env) == ExecCheck(("1", "", "$(C)", "$(A)"))


@pytest.mark.parametrize(
    ("probe", "ip", "text"),
    [
        (
            {"tcpSocket": {"port": "admin"}},
            "10.0.0.1",
            "couldn't find port 'admin' in container a; its named ports: web",
        ),
        ({"tcpSocket": {"port": 0}}, "10.0.0.1", "couldn't find port 0"),
        ({"tcpSocket": {"port": 80}}, "", "the pod has no address yet"),
        ({}, "10.0.0.1", "give it exec, httpGet, tcpSocket or grpc"),
    ],
)
def test_spec_5_an_impossible_probe_says_why(probe: dict[str, Any], ip: str, text: str) -> None:
    with pytest.raises(CheckImpossibleError, match=re.escape(text)):
        asked(probe, ip)


@pytest.mark.parametrize(
    ("kind", "outcome", "said"),
    [
        (LIVENESS, ProbeOutcome.SUCCESS, None),
        (LIVENESS, ProbeOutcome.LATE, None),
        (LIVENESS, ProbeOutcome.FAILURE, ProbeEvent("Unhealthy", "Liveness probe failed: no")),
        (READINESS, ProbeOutcome.WARNING, ProbeEvent("ProbeWarning", "Readiness probe warning: no")),
        (
            STARTUP,
            ProbeOutcome.UNKNOWN,
            ProbeEvent("Unhealthy", "Startup probe errored and resulted in unknown state: no"),
        ),
    ],
)
# (spec 5.20)
def test_spec_5_events_have_the_words_that_people_look_for(
    kind: ProbeKind, outcome: ProbeOutcome, said: ProbeEvent | None
) -> None:
    assert said_of(kind, ProbeAnswer(outcome, "no")) == said
