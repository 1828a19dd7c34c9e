"""What the containers of a pod do on the simulated runtime, as the pod's own annotations say it.

The key is `simulated.actorlet.dev/<knob>` for every container of the pod and, for one of them,
`simulated.actorlet.dev/<knob>.<container>`, which replaces the pod-wide value of that knob. Pure: no state, no clock.
A wrong annotation raises `BehaviourError`, which names each with its path and reason; the runtime then refuses the
pod's sandbox. `docs/simulated-runtime.md` has the table for users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, TypeVar

from simulation.cri.behaviour_values import (
    CallKind,
    CallRule,
    Curve,
    HookOperation,
    ProbeOperation,
    call_rules,
    count,
    cpu_milli,
    curve,
    duration_ns,
    each,
    exit_code,
    hook_operation,
    lines,
    probe_operations,
    rate_bytes_per_s,
    run_time_ns,
    size_bytes,
    yes_or_no,
)

T = TypeVar("T")

PREFIX = "simulated.actorlet.dev/"

_MEMORY, _DISK, _INODES, _PROCESSES = (Curve(((0, amount),)) for amount in (16 * 2**20, 8192, 4, 1))


class BehaviourError(ValueError):
    """Annotations that say nothing sensible. The text has one reason per annotation, with its path."""


@dataclass(frozen=True, slots=True)
class ContainerBehaviour:
    """What one container does. Tuples hold one value per attempt; the last one goes on for ever."""

    run_for: tuple[int | None, ...] = (None,)
    """ns from start to exit, None for ever."""
    exit_code: tuple[int, ...] = (0,)
    start_delay: tuple[int, ...] = (0,)
    """ns that StartContainer takes."""
    oom_after: tuple[int | None, ...] = (None,)
    """ns from start to the OOM kill, None for never."""
    stop_delay: int = 0
    """ns from SIGTERM to exit."""
    stop_exit_code: int = 0
    ignore_stop_signal: bool = False
    fail: tuple[CallRule, ...] = ()
    hang: tuple[CallRule, ...] = ()
    lie: tuple[CallRule, ...] = ()
    late: tuple[CallRule, ...] = ()
    image_size: int | None = None
    """Bytes; None takes the runtime's default. Pod-wide only, as a pull names no container."""
    pull_rate: int | None = None
    """Bytes per second; None takes the runtime's default. Pod-wide only."""
    output: tuple[str, ...] = ()
    output_every: int = 0
    """ns between two times of the output; 0 writes it once, at the start."""
    output_size: int = 0
    """Bytes: so often is the output repeated each time that it has at least as many; 0: never."""
    termination_message: str = ""
    memory: Curve = _MEMORY
    """Bytes of the working set."""
    disk: Curve = _DISK
    """Bytes of its writable layer, which stay when it ends."""
    inodes: Curve = _INODES
    """Of that layer."""
    processes: Curve = _PROCESSES
    cpu: int = 10
    """Thousandths of a core."""
    exec_exit_code: tuple[int, ...] = (0,)
    """One value per ExecSync, the last one goes on for ever."""
    exec_delay: int = 0
    """ns that a command takes."""
    exec_output: str = ""
    startup_probe: tuple[ProbeOperation, ...] = ()
    """What comes of the first, second, ... startup probe, the last one for ever. Empty: network probes succeed, and
    commands are run by ExecSync. Each container begins with the first."""
    readiness_probe: tuple[ProbeOperation, ...] = ()
    liveness_probe: tuple[ProbeOperation, ...] = ()
    hook_call: tuple[HookOperation, ...] = (HookOperation.OK,)
    """What comes of the first, second, ... HTTP call of a hook, the last one for ever."""
    hook_delay: int = 0
    """ns that such a call takes."""
    probe_delay: int = 0
    """ns that a probe over the network takes."""
    sandbox_lost_after: int | None = None
    """ns from RunPodSandbox until the sandbox is no longer ready, None for never. Pod-wide only."""

    @property
    def disturbs_calls(self) -> bool:
        """Some calls on it fail, hang, are not done or come late."""
        return bool(self.fail or self.hang or self.lie or self.late)


@dataclass(frozen=True, slots=True)
class PodBehaviour:
    """What the pod-wide annotations say, and what they become for the containers that are named apart."""

    pod: ContainerBehaviour
    named: Mapping[str, ContainerBehaviour]
    disturbs_calls: bool = False
    """Some calls on the pod, or on a container of it, are disturbed."""

    def of(self, container: str) -> ContainerBehaviour:
        """The behaviour of the container of that name."""
        return self.named.get(container, self.pod)


DEFAULT = PodBehaviour(ContainerBehaviour(), {})

KNOBS: Mapping[str, Callable[[str], Any]] = {
    "run-for": each(run_time_ns),
    "exit-code": each(exit_code),
    "start-delay": each(duration_ns),
    "oom-after": each(lambda text: None if text == "never" else duration_ns(text)),
    "stop-delay": duration_ns,
    "stop-exit-code": exit_code,
    "ignore-stop-signal": yes_or_no,
    "fail": call_rules(CallKind.FAIL),
    "hang": call_rules(CallKind.HANG),
    "lie": call_rules(CallKind.LIE),
    "late": call_rules(CallKind.LATE),
    "image-size": size_bytes,
    "pull-rate": rate_bytes_per_s,
    "output": lines,
    "output-every": duration_ns,
    "output-size": size_bytes,
    "termination-message": str,
    "memory": curve(size_bytes),
    "disk": curve(size_bytes),
    "inodes": curve(count),
    "processes": curve(count),
    "cpu": cpu_milli,
    "exec-exit-code": each(exit_code),
    "exec-delay": duration_ns,
    "exec-output": str,
    "startup-probe": probe_operations,
    "readiness-probe": probe_operations,
    "liveness-probe": probe_operations,
    "probe-delay": duration_ns,
    "hook-call": each(hook_operation),
    "hook-delay": duration_ns,
    "sandbox-lost-after": duration_ns,
}
"""Every knob and how its value is read. The field of `ContainerBehaviour` is the knob with underscores."""

assert {knob.replace("-", "_") for knob in KNOBS} == {field.name for field in fields(ContainerBehaviour)}

_RULES = {kind.value for kind in CallKind}
_POD_ONLY = {"sandbox-lost-after", "image-size", "pull-rate"}

CONTAINER_CALLS = frozenset(
    {
        "CreateContainer",
        "StartContainer",
        "StopContainer",
        "RemoveContainer",
        "ContainerStatus",
        "UpdateContainerResources",
        "ReopenContainerLog",
        "ExecSync",
        "Exec",
        "Attach",
        "ContainerStats",
        "CheckpointContainer",
    }
)
POD_CALLS = frozenset(
    {
        "RunPodSandbox",
        "StopPodSandbox",
        "RemovePodSandbox",
        "PodSandboxStatus",
        "PortForward",
        "PodSandboxStats",
        "UpdatePodSandboxResources",
        "PullImage",
    }
)


def parse_behaviour(annotations: Mapping[str, str]) -> PodBehaviour:
    """The behaviour that a pod's annotations ask for; others than ours are passed over. Raises `BehaviourError`."""
    ours = [(key, text) for key, text in annotations.items() if key.startswith(PREFIX)]
    return _parsed(tuple(sorted(ours))) if ours else DEFAULT


@lru_cache(maxsize=1024)
def _parsed(annotations: tuple[tuple[str, str], ...]) -> PodBehaviour:
    """Of annotations that are all ours. Pods come by the thousand, with the annotations of a few dozen mixes."""
    faults: list[str] = []
    pod: dict[str, Any] = {}
    named: dict[str, dict[str, Any]] = {}
    for key, text in annotations:
        knob, dot, container = key.removeprefix(PREFIX).partition(".")
        try:
            value = _read(knob, dot, container, text)
        except ValueError as error:
            faults.append(f'$.metadata.annotations["{key}"]: {error}')
            continue
        (named.setdefault(container, {}) if dot else pod)[knob.replace("-", "_")] = value
    if faults:
        raise BehaviourError("; ".join(faults))
    for_all = replace(DEFAULT.pod, **pod)
    containers = {name: replace(for_all, **own) for name, own in named.items()}
    disturbs_calls = any(each.disturbs_calls for each in (for_all, *containers.values()))
    return PodBehaviour(for_all, containers, disturbs_calls)


def _read(knob: str, dot: str, container: str, text: str) -> Any:
    read = KNOBS.get(knob)
    if read is None:
        raise ValueError(f"there is no knob {knob!r}; there are {', '.join(KNOBS)}")
    if dot and not container:
        raise ValueError(f"no container is named after the dot; write it as {knob}.<container>")
    if dot and knob in _POD_ONLY:
        raise ValueError(f"{knob} is a matter of the whole pod; write it without .{container}")
    value = read(text)
    if knob in _RULES:
        _check_verbs(value, container)
    return value


def _check_verbs(rules: tuple[CallRule, ...], container: str) -> None:
    """Rules name calls that are made for this pod, or for this container."""
    for rule in rules:
        if rule.verb in CONTAINER_CALLS:
            continue
        if rule.verb not in POD_CALLS:
            raise ValueError(f"{rule.verb} is called for no single pod, so no pod can disturb it")
        if container:
            raise ValueError(f"{rule.verb} is called for the whole pod; write the rule without .{container}")


def at(values: tuple[T, ...], attempt: int) -> T:
    """The value for an attempt, counted from 0; the last one goes on for ever."""
    return values[attempt] if attempt < len(values) else values[-1]
