"""Every kind of probe in every way, on containerd (spec 5, 3.10).

Startup, readiness and liveness by command, HTTP, port and gRPC; thresholds, delays, and the grace of a probe.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from config.objects import ContainerStatus
from tests.real.agent import Agent
from tests.real.health_server import host_volumes, serving
from tests.real.pods import STAY, Life, Truth, container, pod

WAYS = ("exec", "http", "tcp", "grpc")
ASKED = ("started", "ready", "alive")
TCP_PORTS = {"started": 9001, "ready": 9002, "alive": 9003}
LISTENS_WHILE_THERE = (
    "listens() { while :; do until test -e /state/tcp/$1; do sleep 0.1; done; httpd -f -p $2 -h /tmp & "
    "while test -e /state/tcp/$1; do sleep 0.1; done; kill $!; done; }; "
)
"""A function of the shell: something listens at port $2 while the file $1 is there."""
SERVES = {
    "exec": STAY,
    "http": f"httpd -p 8080 -h /state/http; {STAY}",
    "tcp": LISTENS_WHILE_THERE + "".join(f"listens {what} {port} & " for what, port in TCP_PORTS.items()) + STAY,
}
BY_ORDER = (
    "cd /state; if mv order taken 2>/dev/null; then cat taken > want; echo 3 > left; fi; "
    "want=$(cat want 2>/dev/null || echo 1); left=$(cat left 2>/dev/null || echo 0); r=$want; "
    "if test $left -gt 0; then test $left -eq 3 && r=$((1 - want)); echo $((left - 1)) > left; "
    "else r=$((1 - $(cat last 2>/dev/null || echo 0))); fi; echo $r > last; echo $r >> calls; exit $r"
)
"""A probe whose good (0) and bad (1) answers alternate.

After an order it gives the other one, twice the one that was ordered, and alternates again.
"""
STATE = {"name": "state", "mountPath": "/state"}


def question(way: str, what: str) -> dict[str, Any]:
    """A probe that succeeds while the file `what` of that way is there."""
    questions: dict[str, dict[str, Any]] = {
        "exec": {"exec": {"command": ["test", "-e", f"/state/exec/{what}"]}},
        "http": {"httpGet": {"port": 8080, "path": f"/{what}"}},
        "tcp": {"tcpSocket": {"port": TCP_PORTS[what]}},
        "grpc": {"grpc": {"port": 9000, "service": what}},
    }
    return questions[way]


def asked(way: str, **fields: Any) -> dict[str, Any]:
    """The three probes of a container that is asked in that way. A busy machine has time for each answer."""
    fields = {"timeoutSeconds": 60, **fields}
    return {
        "startupProbe": {"periodSeconds": 1, "failureThreshold": 100, **question(way, "started"), **fields},
        "readinessProbe": {"periodSeconds": 1, "failureThreshold": 1, **question(way, "ready"), **fields},
        "livenessProbe": {"periodSeconds": 1, "failureThreshold": 1, **question(way, "alive"), **fields},
    }


def answering(way: str) -> dict[str, Any]:
    probes = asked(way)
    if way == "grpc":
        return serving(way, 9000, "/state/grpc", [STATE], **probes)
    return container(way, SERVES[way], volumeMounts=[STATE], **probes)


def said(agent: Agent, name: str, way: str) -> list[str]:
    """Events about one container."""
    return [
        f"{each.event.reason}: {each.event.message}"
        for each in agent.events_of(name)
        if each.event.field_path == f"spec.containers{{{way}}}"
    ]


def statuses(agent: Agent, name: str) -> dict[str, ContainerStatus]:
    return {each.name: each for each in agent.status(name).container_statuses}


def test_5_each_kind_of_probe_asked_in_each_way(agent: Agent, truth: Truth) -> None:
    state = agent.directory / "state"
    for way in WAYS:
        (state / way).mkdir(parents=True)

    def put(what: str) -> None:
        for way in WAYS:
            (state / way / what).touch()

    def take(what: str) -> None:
        for way in WAYS:
            (state / way / what).unlink()

    volumes = [{"name": "state", "hostPath": {"path": str(state)}}, *host_volumes()]
    agent.drop("kinds.json", pod("kinds", *map(answering, WAYS), volumes=volumes))
    agent.start()
    agent.await_running("kinds")

    def await_all(field: str, value: bool) -> None:
        def so() -> bool:
            return all(getattr(each, field) is value for each in statuses(agent, "kinds").values())

        agent.await_that(so, f"not all have {field} {value}")

    def await_said(text: str) -> None:
        for way in WAYS:
            agent.await_that(
                lambda: any(text in each for each in said(agent, "kinds", way)),  # noqa: B023
                f"{text} is not said of {way}: {said(agent, 'kinds', way)}",
            )

    await_said("Unhealthy: Startup probe failed")
    assert {(each.started, each.ready) for each in statuses(agent, "kinds").values()} == {(False, False)}
    assert not any("Readiness" in each for way in WAYS for each in said(agent, "kinds", way)), "asked once it started"
    put("alive")
    put("started")
    await_all("started", True)
    await_said("Unhealthy: Readiness probe failed")
    put("ready")
    await_all("ready", True)
    assert {each.type: each.status for each in agent.status("kinds").conditions}["Ready"] == "True"
    first = {way: truth.life("kinds", way).key for way in WAYS}
    take("ready")
    await_all("ready", False)
    assert {way: truth.life("kinds", way).key for way in WAYS} == first, "what is not ready is not killed"
    put("ready")
    await_all("ready", True)
    take("started")  # which nobody asks of what has started, and everybody of what comes after it
    take("alive")
    await_said("Unhealthy: Liveness probe failed")
    for way in WAYS:
        agent.await_that(lambda: truth.lives("kinds", way)[-1].attempt == 1, f"{way} is not restarted")  # noqa: B023
    await_said(" failed liveness probe, will be restarted")
    agent.await_that(
        lambda: all((each.restart_count, each.started) == (1, False) for each in statuses(agent, "kinds").values()),
        "what has just begun has not started",
    )
    assert not any(each.ready for each in statuses(agent, "kinds").values())


def test_5_a_startup_probe_that_fails_ends_the_container(agent: Agent, truth: Truth) -> None:
    """The restart policy decides what happens next."""
    strict = {"periodSeconds": 1, "failureThreshold": 1}
    ways: dict[str, dict[str, Any]] = {
        "exec": {"exec": {"command": ["false"]}},
        "http": {"httpGet": {"port": 8080}},
        "tcp": {"tcpSocket": {"port": 8080}},
        "grpc": {"grpc": {"port": 8080}},
    }
    containers = [container(way, startupProbe={**strict, **how}) for way, how in ways.items()]
    # The last one would end with its pod, as with a kubelet.
    agent.drop("never.json", pod("never", *containers, container("stays"), restartPolicy="Never"))
    agent.drop("again.json", pod("again", container(startupProbe={**strict, **ways["exec"]})))
    agent.start()
    for way in ways:
        lives = partial(truth.lives, "never", way)
        agent.await_that(lambda: any(each.status.finished_at for each in lives()), f"{way} has not ended")  # noqa: B023
        assert [life.attempt for life in truth.lives("never", way)] == [0]
        assert any(f"Container {way} failed startup probe" in each for each in said(agent, "never", way))
    agent.await_that(lambda: truth.lives("again")[-1].attempt >= 1, "it is not started again")


def test_5_delay_thresholds_and_grace_of_a_probe(agent: Agent, truth: Truth) -> None:
    state = agent.directory / "state"
    state.mkdir()
    now = "cut -d' ' -f1 /proc/uptime"
    late = container(
        "late",
        f"{now} > /state/late; {STAY}",
        volumeMounts=[STATE],
        readinessProbe={
            "initialDelaySeconds": 4,
            "periodSeconds": 1,
            "timeoutSeconds": 60,
            "exec": {"command": ["sh", "-c", f"{now} >> /state/late"]},
        },
    )
    counted = container(
        "counted",
        volumeMounts=[STATE],
        readinessProbe={
            "periodSeconds": 1,
            "successThreshold": 2,
            "failureThreshold": 2,
            "timeoutSeconds": 60,
            "exec": {"command": ["sh", "-c", BY_ORDER]},
        },
    )
    deaf = container(
        "deaf",
        "trap '' TERM; while :; do sleep 0.1; done",
        livenessProbe={
            "initialDelaySeconds": 1,
            "failureThreshold": 1,
            "terminationGracePeriodSeconds": 4,
            "exec": {"command": ["false"]},
        },
    )
    volumes = [{"name": "state", "hostPath": {"path": str(state)}}]
    agent.drop("times.json", pod("times", late, counted, volumes=volumes, terminationGracePeriodSeconds=60))
    agent.drop("deaf.json", pod("deaf", deaf, terminationGracePeriodSeconds=6000))
    agent.start()
    agent.await_running("times")

    def ready(name: str) -> bool:
        status = agent.container("times", name)
        return status is not None and bool(status.ready)

    agent.await_that(lambda: ready("late"), "it is not ready")
    began, *calls = map(float, (state / "late").read_text().split())
    assert calls[0] - began > 2.0, "the first is due when the delay is over"

    def results() -> list[str]:
        path = state / "calls"
        return path.read_text().split() if path.exists() else []

    def order(result: str) -> None:
        (state / "new").write_text(result)
        (state / "new").rename(state / "order")

    agent.await_that(lambda: len(results()) >= 5, f"{results()}")
    assert not ready("counted"), "one good answer after each bad one is not enough"
    for result, becomes in (("0", True), ("1", False)):
        order(result)
        agent.await_that(lambda: ready("counted") is becomes, f"two in a row: {results()}")  # noqa: B023
        answered = len(results())
        agent.await_that(lambda: len(results()) >= answered + 4, f"{results()}")  # noqa: B023
        assert ready("counted") is becomes, "one other answer after each of these changes nothing"

    def ends() -> list[Life]:
        return [life for life in truth.lives("deaf", "deaf") if life.status.finished_at]

    agent.await_that(lambda: bool(ends()), "it does not end")
    ended = ends()[0].status
    killing = agent.events_of("deaf", "Killing")[0]
    waited_s = (ended.finished_at - killing.first_wall_ns) / 1e9
    assert ended.exit_code == 137
    assert waited_s > 2.0, "the grace of the probe; that of the pod is longer than this test"
