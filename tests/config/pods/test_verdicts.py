"""Each verdict on a pod, by the status that leads to it; the page of verdicts has the same causes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from config.pods.verdicts.images import image_fault, registry_of
from config.pods.verdicts.verdict import Clues, crashed_containers, verdicts_of
from config.pods.words import trouble
from tests.config.pods.test_volume_verdicts import ERRORS
from tests.config.pods_made import START_NS, ended, pod, running, waiting

PAGE = Path(__file__).parents[3] / "docs/reference/verdicts.md"
SECOND_NS = 10**9
SIDECAR = [{"name": "proxy", "image": "i", "restartPolicy": "Always"}]


def last(exit_code: int, reason: str = "Error", message: str = "", seconds: int = 2) -> dict[str, Any]:
    """A last state: it ran for so long."""
    over = f"2026-01-02T03:04:{5 + seconds:02d}Z"
    told = {"exitCode": exit_code, "reason": reason, "message": message}
    return {"lastState": {"terminated": {**told, "startedAt": "2026-01-02T03:04:05Z", "finishedAt": over}}}


def crash(exit_code: int, reason: str = "Error", message: str = "", restarts: int = 3) -> dict[str, Any]:
    return waiting("c0", "CrashLoopBackOff", "back-off 40s", restartCount=restarts, **last(exit_code, reason, message))


def pull(error: str) -> dict[str, Any]:
    return waiting("c0", "ImagePullBackOff", f'Back-off pulling image "i": ErrImagePull: {error}')


CONTAINERS: list[tuple[dict[str, Any], str, str]] = [
    (
        crash(1, message="panic: no file\n"),
        "Crash",
        "it ended with exit code 1 after about 2 s, 4 times; it said: panic: no file",
    ),
    (crash(1, restarts=0), "Crash", "it ended with exit code 1 after about 2 s"),
    (
        crash(139),
        "Crash",
        "it ended with exit code 139 (SIGSEGV: it crashed: invalid memory access) after about 2 s, 4 times",
    ),
    (crash(137), "Crash", "it ended with exit code 137 (SIGKILL: it was killed) after about 2 s, 4 times"),
    (
        crash(137, "OOMKilled"),
        "OutOfMemory",
        "it was killed: it used more memory than there was for it (exit code 137)",
    ),
    (crash(0, "Completed"), "EndsByItself", "it ended by itself with exit code 0 after about 2 s, 4 times"),
    (crash(127), "CannotStart", "its command was not found (exit code 127) after about 2 s, 4 times"),
    (crash(128, "StartError", "exec: no"), "CannotStart", "it could not be started (exit code 128)"),
    (crash(1, message="exec /app: exec format error"), "ImageArchitecture", "its program is for another processor"),
    (waiting("c0", "CrashLoopBackOff", "back-off"), "Crash", "it has ended, and how is not known any more"),
    (ended("c0", 3, "Error"), "Crash", "it ended with exit code 3"),
    (pull("docker.io/library/i:1: not found"), "ImageNotFound", "the registry docker.io has no such image or tag"),
    (pull("pull access denied"), "ImageForbidden", "gives it to nobody with these credentials"),
    (pull("dial tcp: lookup r.example: no such host"), "ImageRegistryUnreachable", "cannot be reached"),
    (pull("no match for platform in manifest"), "ImageArchitecture", "no variant for the processor"),
    (pull("429 Too Many Requests"), "ImageRateLimited", "refuses more pulls for now"),
    (
        pull("x509: certificate signed by unknown authority"),
        "ImageRegistryCertificate",
        "does not trust the certificate",
    ),
    (pull("SignatureValidationFailed: no"), "ImageSignature", "its signature is not valid"),
    (pull("write /x: no space left on device"), "DiskFull", "the disk of the node is full"),
    (pull("something new"), "ImagePull", "its image i cannot be pulled"),
    (waiting("c0", "ErrImageNeverPull", "no"), "ImageNeverPull", "its image i is not on the node"),
    (waiting("c0", "InvalidImageName", "no"), "InvalidImageName", "its image i is no name of an image"),
    (
        waiting("c0", "CreateContainerConfigError", "$.x: couldn't find key k in ConfigMap ns/c; its keys are a, b"),
        "MissingKey",
        "it refers to the key k, which ConfigMap ns/c does not have; its keys are a, b",
    ),
    (
        waiting("c0", "CreateContainerConfigError", '$.x: secret "s" not found; create it'),
        "MissingObject",
        "it refers to the Secret s, which does not exist",
    ),
    (waiting("c0", "CreateContainerConfigError", "$.x: it is odd"), "Configuration", "$.x: it is odd"),
    (waiting("c0", "CreateContainerError", "mount: no"), "CannotStart", "it cannot be started"),
    (waiting("c0", "Odd", "it is odd"), "Odd", "it is odd"),
]


@pytest.mark.parametrize(("status", "cause", "text"), CONTAINERS, ids=lambda value: str(value)[:40])
def test_a_container_that_does_not_run_has_a_verdict(status: dict[str, Any], cause: str, text: str) -> None:
    (verdict,) = verdicts_of(pod({"phase": "Running", "containerStatuses": [status]}))
    assert (verdict.cause, verdict.subject) == (cause, "container c0")
    assert text in verdict.text
    assert cause == "Odd" or verdict.advice
    assert "uid" not in verdict.text.lower()


WHOLE: list[tuple[dict[str, Any], str, str]] = [
    (
        {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory. "},
        "Evicted",
        "The node was low",
    ),
    ({"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough cpu"}, "OutOfcpu", "enough cpu"),
    (
        {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/1 nodes are available: 1 Insufficient cpu.",
                }
            ],
        },
        "Unschedulable",
        "no node takes it: 0/1 nodes are available: 1 Insufficient cpu",
    ),
    (
        {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
        "SchedulingGated",
        "it waits for its scheduling gates",
    ),
    ({"phase": "Pending"}, "NoNode", "no scheduler has given it a node yet"),
    (
        {
            "phase": "Running",
            "containerStatuses": [running("c0")],
            "conditions": [
                {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": "no condition x"}
            ],
        },
        "ReadinessGate",
        "it runs and is not ready: no condition x",
    ),
]


@pytest.mark.parametrize(("status", "cause", "text"), WHOLE, ids=lambda value: str(value)[:40])
def test_a_pod_that_nobody_runs_has_one_verdict(status: dict[str, Any], cause: str, text: str) -> None:
    (verdict,) = verdicts_of(pod(status, node="" if cause == "NoNode" else "n"))
    assert (verdict.cause, verdict.subject) == (cause, "the pod")
    assert text in verdict.text
    assert verdict.advice
    assert str(verdict) == verdict.text


def test_a_probe_that_does_not_succeed_is_named() -> None:
    made = pod({"phase": "Running", "containerStatuses": [running("c0", ready=False)]})
    assert verdicts_of(made) == ()
    probe = {"exec": {"command": ["true"]}}
    document = {"containerStatuses": [running("c0", ready=False, started=False)], "phase": "Running"}
    for field, cause in (("startupProbe", "StartupProbe"), ("readinessProbe", "ReadinessProbe")):
        (verdict,) = verdicts_of(pod(document, probes={field: probe}))
        assert verdict.cause == cause


def test_an_agent_tells_more_than_the_status() -> None:
    made = pod({"phase": "Running", "containerStatuses": [crash(143)]})
    clues = Clues(frozenset({"c0"}), {"c0": START_NS + 52 * SECOND_NS}, {"c0": ("one", "two\x1b[2J")})
    (verdict,) = verdicts_of(made, START_NS + 40 * SECOND_NS, clues)
    assert verdict.cause == "LivenessProbe"
    stopped = "it was stopped because its liveness probe failed (exit code 143) after about 2 s, 4 times"
    assert verdict.text == f"{stopped}; it is started again in 12 s"
    assert verdict.log == ("one", "two\\x1b[2J")


def test_init_containers_and_sidecars_are_called_so() -> None:
    init = [{"name": "first", "image": "i"}, *SIDECAR]
    statuses = [
        waiting("first", "CrashLoopBackOff", "", **last(1)),
        waiting("proxy", "CrashLoopBackOff", "", **last(2)),
    ]
    made = pod({"phase": "Pending", "initContainerStatuses": statuses}, init=init)
    assert [verdict.subject for verdict in verdicts_of(made)] == ["init container first", "sidecar proxy"]
    assert [status.name for status in crashed_containers(made)] == ["first", "proxy"]


def test_a_pod_that_begins_or_runs_or_has_succeeded_has_none() -> None:
    for status in (
        {"phase": "Pending", "containerStatuses": [waiting("c0", "ContainerCreating")]},
        {"phase": "Running", "containerStatuses": [running("c0")]},
        {"phase": "Succeeded", "containerStatuses": [ended("c0", 0, "Completed")]},
    ):
        assert verdicts_of(pod(status)) == ()


def test_the_memory_limit_that_was_too_small_is_named() -> None:
    made = pod({"phase": "Running", "containerStatuses": [crash(137, "OOMKilled")]}, limits={"memory": "64Mi"})
    assert "its limit of 64Mi" in verdicts_of(made)[0].text


def test_what_an_image_is_called_says_nothing_about_its_error() -> None:
    image = "registry.example/denied-timeout:404"
    assert image_fault(f'failed to pull "{image}": something new', image) is None
    assert registry_of("registry.example:5000/a/b:1") == "registry.example:5000"


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "within a second"), (1, "within two seconds"), (2, "after about 2 s")]
)
def test_a_crash_is_as_long_as_its_whole_seconds_allow(seconds: int, told: str) -> None:
    status = waiting("c0", "CrashLoopBackOff", "back-off", restartCount=0, **last(1, seconds=seconds))
    (verdict,) = verdicts_of(pod({"phase": "Running", "containerStatuses": [status]}))
    assert verdict.text.startswith(f"it ended with exit code 1 {told}")


def test_trouble_has_the_same_words() -> None:
    made = pod({"phase": "Running", "containerStatuses": [crash(1)]})
    assert trouble(made) == "CrashLoopBackOff: container c0: it ended with exit code 1 after about 2 s, 4 times"


def test_the_page_has_each_cause_that_happens_here() -> None:
    """The page lists the causes; each is made to happen above, or is named for the reason of a status."""
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    happen = {cause for _, cause, _ in (*CONTAINERS, *WHOLE)} - {"Odd", "OutOfcpu"}
    happen |= {cause for _, cause, _, _ in ERRORS}
    assert listed == happen | {"LivenessProbe", "StartupProbe", "ReadinessProbe", "OutOf"}
