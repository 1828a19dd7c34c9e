"""A scenario of a recorded night. Pure.

It has the pods, how their containers ended, which calls failed, and when.

What a scenario cannot say is left out: objects beside pods, images, the API server's trouble, and files. A volume that
needs those is an `emptyDir`. Each pod that was started twice is asked to be `steady`, which is the rule that it breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from config.documents.codec import to_builtins
from config.objects import Container, Pod
from config.values.durations import format_duration_ns
from runtime.cri.errors import StatusCode
from simulation.cri.behaviour_values import MAX_TIMES
from simulation.relived.seen import POD_WIDE, Attempt, Night, SeenPod, restarted
from simulation.scenarios.faults import AgentKills, AnyFault, RuntimeOutage
from simulation.scenarios.pods import IMAGE, ContainerMix, PodMix, VolumeMix
from simulation.scenarios.scenario import Scenario

MS = 1_000_000
SECOND_NS = 1_000_000_000
NAME_AT_MOST = 40
FOREVER = "forever"
_KINDS = ("emptyDir", "hostPath", "configMap", "secret", "downwardAPI", "nfs")
_KEPT = ("ports", "readinessProbe", "livenessProbe", "startupProbe", "lifecycle", "resources", "restartPolicy")
"""Fields of a container that decide how it lives.

Its command and environment mean nothing to a simulated one.
"""
_NO_NAME = re.compile(r"[^a-z0-9-]+")


def scenario_of(night: Night, node: str, part: str = "") -> Scenario | None:
    """The night as a scenario, with the pods that have `part` in their names. None without any such pod."""
    pods = [pod for pod in night.pods.values() if part in f"{pod.pod.metadata.namespace}/{pod.pod.metadata.name}"]
    if not pods:
        return None
    used: set[str] = set()
    mixes = tuple(_mix(pod, _name(pod.pod.metadata.name, used)) for pod in pods)
    return Scenario(
        about=f"What happened on node {node}, from a record.",
        pods=mixes,
        faults=tuple(_faults(night)),
        lasts=_shown(-(-night.ends_ns // SECOND_NS) * SECOND_NS),
    )


def _name(name: str, used: set[str]) -> str:
    short = _NO_NAME.sub("-", name)[:NAME_AT_MOST].strip("-") or "pod"
    found, number = short, 1
    while found in used:
        number += 1
        found = f"{short[: NAME_AT_MOST - 4]}-{number}"
    used.add(found)
    return found


def _mix(seen: SeenPod, name: str) -> PodMix:
    pod, spec = seen.pod, seen.pod.spec
    arrived = _shown(seen.arrived_ns)
    lives = None if seen.deleted_ns is None else _shown(max(MS, seen.deleted_ns - seen.arrived_ns))
    return PodMix(
        name=name,
        count=1,
        containers=tuple(_container(each, seen) for each in spec.containers),
        volumes=_volumes(pod),
        restart_policy=spec.restart_policy or "Always",  # type: ignore[arg-type]
        grace_seconds=max(1, spec.termination_grace_period_seconds or 1),
        behaviour=_rules(seen, POD_WIDE) | _of_init_containers(seen),
        spec={"initContainers": [_bare(each) for each in spec.init_containers]} if spec.init_containers else {},
        arrives=(arrived, arrived),
        lives=None if lives is None else (lives, lives),
        steady=any(True for _ in restarted(seen)),
    )


def _container(container: Container, seen: SeenPod) -> ContainerMix:
    attempts = seen.attempts.get(container.name) or {}
    return ContainerMix(
        name=container.name,
        image=container.image or IMAGE,
        runs_for=_runs(attempts),
        exit_code=_codes(attempts),
        behaviour=_rules(seen, container.name) | _ooms(_in_order(attempts)) | _unhealthy(container, attempts.values()),
        spec={name: value for name, value in _bare(container).items() if name not in ("name", "image")},
    )


def _runs(attempts: Mapping[int, Attempt]) -> str:
    return _each(FOREVER if each.oom else _run(each) for each in _in_order(attempts)) or FOREVER


def _codes(attempts: Mapping[int, Attempt]) -> str:
    return _each(str(each.exit_code) for each in _in_order(attempts)) or "0"


def _of_init_containers(seen: SeenPod) -> dict[str, str]:
    """The knobs of containers that a mix does not describe. One that nobody saw ends at once."""
    found: dict[str, str] = {}
    for container in seen.pod.spec.init_containers or ():
        attempts = seen.attempts.get(container.name) or {0: Attempt(MS)}
        found[f"run-for.{container.name}"] = _runs(attempts)
        found[f"exit-code.{container.name}"] = _codes(attempts)
    return found


def _bare(container: Container) -> dict[str, Any]:
    plain: dict[str, Any] = to_builtins(container)
    return {"name": container.name, "image": container.image or IMAGE} | {
        name: value for name, value in plain.items() if name in _KEPT
    }


def _in_order(attempts: Mapping[int, Attempt]) -> list[Attempt]:
    """One for each number from 0; one that nobody saw was like the one after it."""
    found: list[Attempt] = []
    for number in sorted(attempts):
        found += [attempts[number]] * (number + 1 - len(found))
    return found


def _run(attempt: Attempt) -> str:
    """In round numbers, so that attempts that are alike are one value."""
    if attempt.ran_ns is None:
        return FOREVER
    unit_ns = 100 * MS if attempt.ran_ns >= SECOND_NS else 10 * MS
    return _shown(max(MS, round(attempt.ran_ns / unit_ns) * unit_ns))


def _each(values: Iterable[str]) -> str:
    """A value for each attempt; the last one goes on, so equal ones at the end are one."""
    found = list(values)
    while len(found) > 1 and found[-1] == found[-2]:
        found.pop()
    return ",".join(found)


def _ooms(attempts: list[Attempt]) -> dict[str, str]:
    if not any(each.oom for each in attempts):
        return {}
    return {"oom-after": _each(_run(each) if each.oom else "never" for each in attempts)}


def _unhealthy(container: Container, attempts: Iterable[Attempt]) -> dict[str, str]:
    """The knob of a container that was stopped because of its liveness probe: it fails from some time on."""
    probe = container.liveness_probe
    stopped_ns = next((each.stopped_ns for each in attempts if each.stopped_ns is not None), None)
    if probe is None or stopped_ns is None:
        return {}
    period_ns = (probe.period_seconds or 10) * SECOND_NS
    asked = (stopped_ns - (probe.initial_delay_seconds or 0) * SECOND_NS) // period_ns
    well = min(MAX_TIMES, asked - (probe.failure_threshold or 3))
    return {"liveness-probe": f"ok*{well},fail" if well > 0 else "fail"}


def _rules(seen: SeenPod, container: str) -> dict[str, str]:
    """The knobs of the calls that failed. A call that came to its deadline hung."""
    hung, refused = [], []
    for (name, verb, code), times in sorted(seen.failed.items(), key=lambda each: (each[0][0], each[0][1])):
        if name == container:
            times = min(times, MAX_TIMES)
            if code is StatusCode.DEADLINE_EXCEEDED:
                hung.append(f"{verb}*{times}")
            else:
                refused.append(f"{verb}={code.name}*{times}")
    found = {"hang": ", ".join(hung), "fail": ", ".join(refused)}
    return {knob: text for knob, text in found.items() if text}


def _volumes(pod: Pod) -> tuple[VolumeMix, ...]:
    found = []
    for number, volume in enumerate(pod.spec.volumes or ()):
        plain: dict[str, Any] = to_builtins(volume)
        if "projected" in plain:  # of service accounts; a simulated container reads none
            continue
        kind: Any = next((each for each in _KINDS if each in plain), "emptyDir")
        found.append(VolumeMix(name=f"volume-{number}", kind=kind))
    return tuple(found)


def _faults(night: Night) -> Iterable[AnyFault]:
    if night.agents_ns:
        longest = max(began_ns - ended_ns for ended_ns, began_ns in night.agents_ns)
        ends = tuple(_shown(ended_ns) for ended_ns, _ in night.agents_ns)
        yield AgentKills(at=ends, away=("0s", _shown(max(MS, longest))))
    for stretch in night.away:
        yield RuntimeOutage(at=_shown(stretch.from_ns), lasts=_shown(max(SECOND_NS, stretch.to_ns - stretch.from_ns)))


def _shown(ns: int) -> str:
    """To the millisecond."""
    return format_duration_ns(ns // MS * MS)
