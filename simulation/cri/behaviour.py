"""The behaviour of a pod's containers on the simulated runtime, as its annotations say.

The key is `simulated.actorlet.dev/<knob>` for every container of the pod and, for one of them,
`simulated.actorlet.dev/<knob>.<container>`, which replaces the pod-wide value of that knob. Pure: no state, no clock. A
wrong annotation raises `BehaviourError`, which names each with its path and reason; the runtime then refuses the pod's
sandbox. `docs/reference/simulated-runtime.md` has the table for users.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from config.caches import KIB, MIB, kept
from config.values.nearest import did_you_mean
from runtime.cri.verbs import ALL_VERBS
from simulation.cri import behaviour_values as values

T = TypeVar("T")

PREFIX = "simulated.actorlet.dev/"

_MEMORY, _DISK, _INODES, _PROCESSES = (values.Curve(((0, amount),)) for amount in (16 * 2**20, 8192, 4, 1))


class BehaviourError(ValueError):
    """Annotations that say nothing sensible. The text has one reason per annotation, with its path."""


def knob(read: Callable[[str], T], otherwise: T) -> T:
    """A field of the behaviour. `read` parses its annotation, named as the field but with hyphens."""
    return field(default=otherwise, metadata={"read": read})


@dataclass(frozen=True, slots=True)
class ContainerBehaviour:
    """The behaviour of one container. Tuples hold one value per attempt; the last one repeats."""

    run_for: tuple[int | None, ...] = knob(values.each(values.run_time_ns), (None,))
    """ns from start to exit, None for ever."""
    exit_code: tuple[int, ...] = knob(values.each(values.exit_status), (0,))
    start_delay: tuple[int, ...] = knob(values.each(values.duration_ns), (0,))
    """ns that StartContainer takes."""
    oom_after: tuple[int | None, ...] = knob(
        values.each(lambda text: None if text == "never" else values.duration_ns(text)), (None,)
    )
    """ns from start to the OOM kill, None for never."""
    stop_delay: int = knob(values.duration_ns, 0)
    """ns from SIGTERM to exit."""
    stop_exit_code: int = knob(values.exit_status, 0)
    ignore_stop_signal: bool = knob(values.yes_or_no, False)
    fail: tuple[values.CallRule, ...] = knob(values.call_rules(values.CallKind.FAIL), ())
    fail_text: str = knob(str, "")
    """The text of every refused call; empty for the usual text of its failure."""
    hang: tuple[values.CallRule, ...] = knob(values.call_rules(values.CallKind.HANG), ())
    lie: tuple[values.CallRule, ...] = knob(values.call_rules(values.CallKind.LIE), ())
    late: tuple[values.CallRule, ...] = knob(values.call_rules(values.CallKind.LATE), ())
    image_size: int | None = knob(values.size_bytes, None)
    """Bytes; None takes the runtime's default. Pod-wide only, as a pull names no container."""
    pull_rate: int | None = knob(values.rate_bytes_per_s, None)
    """Bytes per second; None takes the runtime's default. Pod-wide only."""
    output: tuple[str, ...] = knob(values.lines, ())
    output_at: tuple[tuple[int, str], ...] = knob(values.timed_lines, ())
    """(ns since the start, line) of later output."""
    output_every: int = knob(values.duration_ns, 0)
    """ns between two times of the output; 0 writes it once, at the start."""
    output_size: int = knob(values.size_bytes, 0)
    """Bytes: so often is the output repeated each time that it has at least as many; 0: never."""
    termination_message: str = knob(str, "")
    memory: values.Curve = knob(values.curve(values.size_bytes), _MEMORY)  # noqa: RUF009
    """Bytes of the working set."""
    disk: values.Curve = knob(values.curve(values.size_bytes), _DISK)  # noqa: RUF009
    """Bytes of its writable layer, which stay when it ends."""
    inodes: values.Curve = knob(values.curve(values.count), _INODES)  # noqa: RUF009
    """Inodes of the writable layer."""
    processes: values.Curve = knob(values.curve(values.count), _PROCESSES)  # noqa: RUF009
    cpu: int = knob(values.cpu_milli, 10)
    """Thousandths of a core."""
    exec_exit_code: tuple[int, ...] = knob(values.each(values.exit_status), (0,))
    """One value per ExecSync; the last one repeats."""
    exec_delay: int = knob(values.duration_ns, 0)
    """ns that a command takes."""
    exec_output_held: int = knob(values.duration_ns, 0)
    """How long after a command its children keep its output open, which delays the answer of ExecSync."""
    exec_output: str = knob(str, "")
    exec_commands: tuple[values.CommandRule, ...] = knob(values.commands, ())
    """The first that matches a command decides its output and exit code; without one the two above do."""
    startup_probe: tuple[values.ProbeOperation, ...] = knob(values.probe_operations, ())
    """What comes of the first, second, ...

    startup probe, the last one for ever. Empty: network probes succeed, and commands are run by ExecSync. Each
    container begins with the first.
    """
    readiness_probe: tuple[values.ProbeOperation, ...] = knob(values.probe_operations, ())
    liveness_probe: tuple[values.ProbeOperation, ...] = knob(values.probe_operations, ())
    probe_delay: int = knob(values.duration_ns, 0)
    """ns that a probe over the network takes."""
    hook_call: tuple[values.HookOperation, ...] = knob(values.each(values.hook_operation), (values.HookOperation.OK,))
    """The outcomes of the first, second, ... HTTP call of a hook; the last one repeats."""
    hook_delay: int = knob(values.duration_ns, 0)
    """ns that such a call takes."""
    sandbox_lost_after: int | None = knob(values.duration_ns, None)
    """ns from RunPodSandbox until the sandbox is no longer ready, None for never. Pod-wide only."""

    @property
    def disturbs_calls(self) -> bool:
        """Some calls on it fail, hang, are not done or come late."""
        return bool(self.fail or self.hang or self.lie or self.late)


@dataclass(frozen=True, slots=True)
class PodBehaviour:
    """The pod-wide behaviour, and that of containers with annotations of their own."""

    pod: ContainerBehaviour
    named: Mapping[str, ContainerBehaviour]
    disturbs_calls: bool = False
    """Some calls on the pod, or on a container of it, are disturbed."""

    def of(self, container: str) -> ContainerBehaviour:
        """The behaviour of the container of that name."""
        return self.named.get(container, self.pod)


DEFAULT = PodBehaviour(ContainerBehaviour(), {})

KNOBS: Mapping[str, Callable[[str], Any]] = {
    field.name.replace("_", "-"): field.metadata["read"] for field in fields(ContainerBehaviour)
}
"""Every knob and how its value is read."""

_RULES = {kind.value for kind in values.CallKind}
_POD_ONLY = {"sandbox-lost-after", "image-size", "pull-rate"}

# A call is about what its request names; those that make something name it in another way.
_CALLS = [verb for verb in ALL_VERBS if not verb.streaming]
CONTAINER_CALLS = frozenset(
    {"CreateContainer", *(verb.name for verb in _CALLS if "container_id" in verb.request.__struct_fields__)}
)
POD_CALLS = frozenset(
    {
        "RunPodSandbox",
        "PullImage",
        *(verb.name for verb in _CALLS if "pod_sandbox_id" in verb.request.__struct_fields__),
    }
    - {"CreateContainer"}
)


def parse_behaviour(annotations: Mapping[str, str]) -> PodBehaviour:
    """The behaviour that a pod's annotations ask for; others than ours are passed over.

    Raises `BehaviourError`.
    """
    ours = [(key, text) for key, text in annotations.items() if key.startswith(PREFIX)]
    return _parsed(tuple(sorted(ours))) if ours else DEFAULT


@kept(MIB, 16 * KIB)
def _parsed(annotations: tuple[tuple[str, str], ...]) -> PodBehaviour:
    """Parse annotations, all of them ours.

    Cached: thousands of pods share the annotations of a few dozen mixes.
    """
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
    disturbs_calls = any(one.disturbs_calls for one in (for_all, *containers.values()))
    return PodBehaviour(for_all, containers, disturbs_calls)


_ALL_KNOBS = ", ".join(KNOBS)


def _read(knob: str, dot: str, container: str, text: str) -> Any:
    read = KNOBS.get(knob)
    if read is None:
        raise ValueError(f"there is no knob {knob!r}; {did_you_mean(knob, KNOBS, 'there are ' + ', '.join(KNOBS))}")
    if dot and not container:
        raise ValueError(f"no container is named after the dot; write it as {knob}.<container>")
    if dot and knob in _POD_ONLY:
        raise ValueError(f"{knob} is a matter of the whole pod; write it without .{container}")
    value = read(text)
    if knob in _RULES:
        _check_verbs(value, container)
    return value


def _check_verbs(rules: tuple[values.CallRule, ...], container: str) -> None:
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
