"""Behaviour annotations: what each value means, and what is said about a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.cri.errors import StatusCode
from simulation.cri.behaviour import KNOBS, PREFIX, BehaviourError, at, parse_behaviour
from simulation.cri.behaviour_values import CallKind, CallRule, Curve

SECOND = 10**9


@pytest.mark.parametrize(
    ("knob", "text", "value"),
    [
        ("run-for", "10s", (10 * SECOND,)),
        ("run-for", "1m30s, 250ms, forever", (90 * SECOND, SECOND // 4, None)),
        ("run-for", "0", (0,)),
        ("exit-code", "1,1,0", (1, 1, 0)),
        ("start-delay", "1.5s", (3 * SECOND // 2,)),
        ("oom-after", "never, 1h", (None, 3600 * SECOND)),
        ("stop-delay", "30s", 30 * SECOND),
        ("stop-exit-code", "143", 143),
        ("ignore-stop-signal", "true", True),
        ("image-size", "1.5Gi", 3 * 2**29),
        ("pull-rate", "10M", 10_000_000),
        ("output", "one\ntwo", ("one", "two")),
        ("output-every", "500us", 500_000),
        ("output-size", "1Mi", 2**20),
        ("termination-message", "bye", "bye"),
        ("memory", "64Mi", Curve(((0, 64 * 2**20),))),
        ("disk", "1Ki, 1m=2Ki", Curve(((0, 1024), (60 * SECOND, 2048)))),
        ("processes", "5s=3, 1m=4", Curve(((5 * SECOND, 3), (60 * SECOND, 4)))),
        ("cpu", "250m", 250),
        ("cpu", "1.5", 1500),
        ("exec-exit-code", "1,0", (1, 0)),
        ("exec-delay", "2s", 2 * SECOND),
        ("exec-output", "ready", "ready"),
        ("sandbox-lost-after", "1m", 60 * SECOND),
        ("fail", "StartContainer*2", (CallRule(CallKind.FAIL, "StartContainer", 2),)),
        ("fail", "PullImage=NOT_FOUND", (CallRule(CallKind.FAIL, "PullImage", None, StatusCode.NOT_FOUND),)),
        (
            "hang",
            "StopContainer*3, ContainerStatus",
            (CallRule(CallKind.HANG, "StopContainer", 3), CallRule(CallKind.HANG, "ContainerStatus")),
        ),
        ("lie", "StopPodSandbox*3", (CallRule(CallKind.LIE, "StopPodSandbox", 3),)),
        ("late", "RunPodSandbox=5s*1", (CallRule(CallKind.LATE, "RunPodSandbox", 1, delay_ns=5 * SECOND),)),
    ],
)
def test_a_knob_reads_its_value(knob: str, text: str, value: object) -> None:
    behaviour = parse_behaviour({PREFIX + knob: text})
    assert getattr(behaviour.pod, knob.replace("-", "_")) == value


@pytest.mark.parametrize(
    ("key", "text", "reason"),
    [
        ("run-fro", "1s", "there is no knob 'run-fro'; did you mean run-for?"),
        ("run-for", "soon", "'soon' is not a duration"),
        ("run-for", "10", "'10' is not a duration"),
        ("run-for", "10s,", "'' is not a duration"),
        ("run-for", "-1s", "'-1s' is below zero"),
        ("run-for", "99999999h", "beyond 292 years"),
        ("exit-code", "256", "'256' is not an exit code; write a number from 0 to 255"),
        ("exit-code", "²", "is not an exit code"),
        ("ignore-stop-signal", "yes", "'yes' is neither true nor false"),
        ("memory", "much", "'much' is not a quantity"),
        ("memory", "1Mi, 2Mi", "'2Mi' does not say when; write it as 1m=2Mi"),
        ("disk", "1m=1Mi, 30s=2Mi", "'30s=2Mi' does not come after what stands before it"),
        ("inodes", "1.5", "'1.5' is not a count; write a number such as 3"),
        ("pull-rate", "0", "moves nothing"),
        ("cpu", "-1", "'-1' is below zero"),
        ("fail", "Start", "'Start' is not a verb of the CRI"),
        (
            "fail",
            "StartContainer=OK",
            "'OK' is not a failure; a failure of StartContainer is one of no-space,",
        ),
        ("fail", "StartContainer=ELSE", "'ELSE' is not a failure"),
        ("fail", "ListContainers", "called for no single pod"),
        ("fail", "", "is not a rule on a verb"),
        ("fail.app", "RunPodSandbox", "called for the whole pod; write the rule without .app"),
        ("hang", "StopContainer=5s", "a hang takes none"),
        ("lie", "StopContainer=5s", "a lie takes none"),
        ("late", "StopContainer", "does not say how late; write it as StopContainer=5s"),
        ("run-for.", "1s", "no container is named after the dot"),
        ("sandbox-lost-after.app", "1s", "a matter of the whole pod"),
        ("image-size.app", "1Mi", "a matter of the whole pod"),
    ],
)
def test_a_wrong_annotation_is_named_with_its_reason(key: str, text: str, reason: str) -> None:
    with pytest.raises(BehaviourError) as caught:
        parse_behaviour({PREFIX + key: text})
    assert str(caught.value).startswith(f'$.metadata.annotations["{PREFIX}{key}"]: ')
    assert reason in str(caught.value)


def test_every_wrong_annotation_is_named_at_once() -> None:
    with pytest.raises(BehaviourError) as caught:
        parse_behaviour({PREFIX + "run-for": "x", PREFIX + "cpu": "y", PREFIX + "memory": "1Mi"})
    assert "run-for" in str(caught.value)
    assert "cpu" in str(caught.value)
    assert "memory" not in str(caught.value)


def test_a_value_for_one_container_replaces_the_one_for_all() -> None:
    behaviour = parse_behaviour({PREFIX + "run-for": "1s", PREFIX + "cpu": "1", PREFIX + "run-for.app": "2s"})
    assert behaviour.of("app").run_for == (2 * SECOND,)
    assert behaviour.of("app").cpu == 1000
    assert behaviour.of("other").run_for == (SECOND,)


def test_annotations_of_others_are_passed_over() -> None:
    assert parse_behaviour({"example.com/run-for": "nonsense"}).pod.run_for == (None,)


def test_the_last_value_of_a_list_goes_on_for_ever() -> None:
    assert [at((1, 2), attempt) for attempt in range(4)] == [1, 2, 2, 2]


def test_the_documentation_has_every_knob() -> None:
    text = (Path(__file__).parents[3] / "docs/reference/simulated-runtime.md").read_text()
    documented = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert sorted(documented) == sorted(KNOBS)


@pytest.mark.parametrize(("seconds", "amount"), [(0, 100), (10, 100), (15, 150), (20, 200), (30, 0), (99, 0)])
def test_a_curve_goes_straight_between_its_points_and_stays_outside(seconds: int, amount: int) -> None:
    curve = Curve(((10 * SECOND, 100), (20 * SECOND, 200), (30 * SECOND, 0)))
    assert curve.at(seconds * SECOND) == amount
