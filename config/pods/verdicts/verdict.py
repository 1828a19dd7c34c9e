"""One verdict for each part of a pod that keeps it from running, worked out from its status.

An agent knows more than the status says: which container was stopped by its probe, what the log says, when the next try
is. It hands that over as `Clues`. Without them the verdicts are the same, and say less.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from config.objects import Container, ContainerState, ContainerStatus, Pod, PodStatus
from config.pods.identity import is_sidecar
from config.pods.verdicts.ends import STARTS_THAT_FAILED, end_of, lasted
from config.pods.verdicts.images import image_fault, registry_of
from config.pods.verdicts.volumes import volume_fault
from config.values.ages import SECOND_NS, spoken
from config.values.api_time import ns_of
from config.values.harmless_text import harmless_line

ORIGINAL_AT_MOST = 300
LOG_LINES, LOG_LINE_AT_MOST = 5, 200
THE_POD = "the pod"
CRASH_LOOP = "CrashLoopBackOff"
_BEGINNING = frozenset({"", "ContainerCreating", "PodInitializing"})
_PULLS = frozenset({"ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed"})
_MISSING = re.compile(r'(?P<kind>configmap|secret) "(?P<name>[^"]+)" not found', re.IGNORECASE)
_MISSING_KEY = re.compile(
    r"couldn't find key (?P<key>\S+) in (?P<whose>(ConfigMap|Secret) [^\s;]+)(?P<there>; .*)?", re.DOTALL
)
_REFUSED_ADVICE = {
    "Evicted": "free what ran short on the node, or ask for more of it in the requests",
    "NodeAffinity": "correct its nodeSelector or affinity, or the labels of the node",
    "NodeName": "correct its nodeName",
    "DeadlineExceeded": "raise its activeDeadlineSeconds, or let it end sooner",
    "Preempting": "ask for less, give it a higher priority, or add a node",
}


class Verdict(msgspec.Struct, frozen=True, rename="camel"):
    """Why a part of a pod does not run.

    `cause`: a word for tools (docs/reference/verdicts.md). `subject`: "init container db". `text` goes on after it.
    `advice`: what to do. `original`: the words of the runtime or registry, where they say more. `log`: its last lines.
    """

    cause: str
    subject: str
    text: str
    advice: str = ""
    original: str = ""
    log: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text if self.subject == THE_POD else f"{self.subject}: {self.text}"

    @property
    def whole(self) -> str:
        """With the original words, where there is one line for all."""
        return f"{self} ({self.original})" if self.original else str(self)


class Clues(msgspec.Struct, frozen=True):
    """What an agent knows beside the status, by name of the container.

    `by_liveness`: its last end followed a failed liveness probe. `next_try`: wall ns. `logs`: its last lines.
    `volumes`: why those of the pod cannot be made, or empty.
    """

    by_liveness: frozenset[str] = frozenset()
    next_try: Mapping[str, int] = {}
    logs: Mapping[str, tuple[str, ...]] = {}
    volumes: str = ""


NO_CLUES = Clues()


def verdicts_of(pod: Pod, wall_ns: int = 0, clues: Clues = NO_CLUES) -> tuple[Verdict, ...]:
    """All of them, in the order of the containers; none for a pod that runs, and for one that only begins."""
    status = pod.status or PodStatus()
    if status.phase == "Failed" and status.reason:
        return (_refused(status),)
    unscheduled = _unscheduled(pod, status)
    if unscheduled is not None:
        return (unscheduled,)
    found = [verdict for part in _parts(pod, status) if (verdict := part.verdict(wall_ns, clues)) is not None]
    if clues.volumes:
        found.insert(0, _no_volumes(clues.volumes))
    return (*found, *_gates(status, has_others=bool(found)))


def crashed_containers(pod: Pod) -> Iterator[ContainerStatus]:
    """The containers whose last end has a verdict: those whose logs are worth reading."""
    status = pod.status or PodStatus()
    for part in _parts(pod, status):
        if part.last_end() is not None and part.verdict(0, NO_CLUES) is not None:
            yield part.status


def ended_wall_ns(status: ContainerStatus) -> int | None:
    """When a container ended last, to the second; None if it is not known."""
    for state in (status.state, status.last_state):
        if state is not None and state.terminated is not None:
            return ns_of(state.terminated.finished_at)
    return None


def _refused(status: PodStatus) -> Verdict:
    reason, text = status.reason or "", (status.message or status.reason or "").rstrip(".")
    advice = _REFUSED_ADVICE.get(reason, "")
    if reason.startswith("OutOf"):
        advice = f"ask for less {reason.removeprefix('OutOf')}, free some on the node, or let another node take it"
    return Verdict(reason, THE_POD, _line(text), advice)


def _unscheduled(pod: Pod, status: PodStatus) -> Verdict | None:
    for condition in status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            if condition.reason == "SchedulingGated":
                gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
                text = f"it waits for its scheduling gates: {gates}" if gates else "it waits for its scheduling gates"
                return Verdict("SchedulingGated", THE_POD, _line(text), "whoever set a gate has to remove it")
            text = f"no node takes it: {condition.message or condition.reason or 'the scheduler does not say why'}"
            return Verdict(
                "Unschedulable", THE_POD, _line(text.rstrip(".")), "add or free a node, or let the pod ask for less"
            )
    if pod.spec.node_name or status.phase not in (None, "", "Pending"):
        return None
    if status.start_time or status.container_statuses or status.init_container_statuses:
        return None  # a static pod, which names no node
    return Verdict("NoNode", THE_POD, "no scheduler has given it a node yet", "start a scheduler, or set its nodeName")


def _no_volumes(error: str) -> Verdict:
    fault, original = volume_fault(error), _line(error)
    if fault.text:
        return Verdict(fault.cause, THE_POD, _line(fault.text), fault.advice, original)
    return Verdict(fault.cause, THE_POD, f"its volumes cannot be made: {original}", fault.advice)


class _Part:
    """One container of a pod, with what is known of it."""

    def __init__(self, pod: Pod, status: ContainerStatus, container: Container | None, kind: str) -> None:
        self.pod = pod
        self.status = status
        self.container = container
        self.subject = f"{kind} {status.name}"

    def verdict(self, wall_ns: int, clues: Clues) -> Verdict | None:
        state = self.status.state or ContainerState()
        if state.waiting is not None and (state.waiting.reason or "") not in _BEGINNING:
            return self._waits(state.waiting.reason or "", state.waiting.message or "", wall_ns, clues)
        if state.terminated is not None and state.terminated.exit_code:
            return self._ended(wall_ns, clues)
        if state.running is not None and not self.status.ready and self._is_lasting():
            return self._not_ready()
        return None

    def last_end(self) -> ContainerState | None:
        """The state of its last end, if it has ended."""
        for state in (self.status.state, self.status.last_state):
            if state is not None and state.terminated is not None:
                return state
        return None

    def _is_lasting(self) -> bool:
        return self.container is None or not self.subject.startswith("init ") or is_sidecar(self.container)

    def _waits(self, reason: str, message: str, wall_ns: int, clues: Clues) -> Verdict:
        if reason == CRASH_LOOP:
            return self._ended(wall_ns, clues)
        if reason in _PULLS:
            return self._no_image(message)
        original = _line(message)
        if reason == "ErrImageNeverPull":
            advice = "import the image on the node, or choose another imagePullPolicy"
            return Verdict("ImageNeverPull", self.subject, f"its image {self._image()} is not on the node", advice)
        if reason == "InvalidImageName":
            text = f"its image {self._image()} is no name of an image"
            return Verdict("InvalidImageName", self.subject, text, "correct the name", original)
        if (gone := _MISSING_KEY.search(message)) is not None:
            text = _line(
                f"it refers to the key {gone['key']}, which {gone['whose']} does not have{gone['there'] or ''}"
            )
            return Verdict("MissingKey", self.subject, text, "add the key, name one that is there, or mark it optional")
        if (missing := _MISSING.search(message)) is not None:
            kind = {"configmap": "ConfigMap", "secret": "Secret"}[missing["kind"].lower()]
            text = _line(f"it refers to the {kind} {missing['name']}, which does not exist")
            advice = "create it in the namespace of the pod, or mark the reference optional"
            return Verdict("MissingObject", self.subject, text, advice)
        if reason in STARTS_THAT_FAILED:
            text = f"it cannot be started: {original}" if original else "it cannot be started"
            return Verdict("CannotStart", self.subject, text, _START_ADVICE)
        if reason == "CreateContainerConfigError":
            text = original or "its configuration is not valid"
            return Verdict("Configuration", self.subject, text, "correct the field that is named")
        return Verdict(reason or "Waits", self.subject, original or f"it waits: {reason}")

    def _no_image(self, message: str) -> Verdict:
        image, original = self._image(), _line(message)
        fault = image_fault(message, self.container.image or "" if self.container is not None else "")
        if fault is None:
            return Verdict("ImagePull", self.subject, f"its image {image} cannot be pulled: {original}", _PULL_ADVICE)
        registry = registry_of(self.container.image or "") if self.container is not None else ""
        text = fault.text.replace("its registry", f"the registry {registry}") if registry else fault.text
        return Verdict(
            fault.cause, self.subject, _line(f"its image {image} cannot be pulled: {text}"), fault.advice, original
        )

    def _ended(self, wall_ns: int, clues: Clues) -> Verdict:
        state, name = self.last_end(), self.status.name
        ended = state.terminated if state is not None else None
        if ended is None:
            return Verdict(
                "Crash", self.subject, "it has ended, and how is not known any more", "mend what its log tells"
            )
        told = end_of(ended, self.container, by_liveness=name in clues.by_liveness)
        times = f", {self.status.restart_count + 1} times" if self.status.restart_count else ""
        said = f"; it said: {ended.message.strip()}" if ended.message and ended.message.strip() else ""
        again = ""
        until = clues.next_try.get(name)
        if until is not None and wall_ns:
            left_ns = until - wall_ns
            again = (
                f"; it is started again in {spoken(left_ns)}" if left_ns > SECOND_NS else "; it is started again now"
            )
        text = f"{_line(f'{told.text}{lasted(ended)}{times}{said}')}{again}"
        log = tuple(_line(line, LOG_LINE_AT_MOST) for line in clues.logs.get(name, ())[-LOG_LINES:])
        return Verdict(told.cause, self.subject, text, told.advice, log=log)

    def _not_ready(self) -> Verdict | None:
        container = self.container
        if container is not None and container.startup_probe is not None and not self.status.started:
            text, advice = "it runs, and its startup probe has not succeeded yet", "give it time, or correct the probe"
            return Verdict("StartupProbe", self.subject, text, advice)
        if container is not None and container.readiness_probe is not None:
            text, advice = "it runs, and its readiness probe does not succeed", "mend what the probe asks for"
            return Verdict("ReadinessProbe", self.subject, text, advice)
        return None

    def _image(self) -> str:
        name = (self.container.image if self.container is not None else None) or self.status.image or ""
        return _line(name, LOG_LINE_AT_MOST)


_PULL_ADVICE = "correct its name, or look at the registry and at the runtime"
_START_ADVICE = "correct its command, its mounts and its securityContext"


def _parts(pod: Pod, status: PodStatus) -> Iterator[_Part]:
    spec = pod.spec
    groups = (
        (spec.init_containers, status.init_container_statuses, "init container"),
        (spec.containers, status.container_statuses, "container"),
    )
    for containers, statuses, kind in groups:
        by_name = {container.name: container for container in containers}
        for each in statuses:
            container = by_name.get(each.name)
            is_side = container is not None and kind == "init container" and is_sidecar(container)
            yield _Part(pod, each, container, "sidecar" if is_side else kind)


def _gates(status: PodStatus, *, has_others: bool) -> Iterator[Verdict]:
    """What keeps a pod whose containers are all ready from being ready."""
    ready = next((each for each in status.conditions if each.type == "Ready" and each.status == "False"), None)
    if ready is None or has_others or status.phase != "Running" or ready.reason != "ReadinessGatesNotReady":
        return
    advice = "whoever sets the condition of its readinessGates has to set it to True"
    yield Verdict("ReadinessGate", THE_POD, _line(f"it runs and is not ready: {ready.message or ready.reason}"), advice)


def _line(text: str, at_most: int = ORIGINAL_AT_MOST) -> str:
    """One line for people."""
    return harmless_line(" ".join(text.split()), at_most)
