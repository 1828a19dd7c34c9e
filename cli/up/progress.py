"""The progress of a node of `actorlet up` as a value: whether all wanted pods are ready. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from actors.events.history_words import next_tries, volumes_error, wait_words
from actors.kernel import SystemReport
from actors.messages.history import PodWait
from actors.messages.pods import PullInProgress, SourceProblem
from actors.node.node import NodeAgent
from config.objects import Pod
from config.pods.verdicts.verdict import Clues, verdicts_of
from config.pods.words import has_arrived, pod_line, status_word, trouble

THE_POD = "the pod"
_AT_END = frozenset({"Running", "Succeeded", "Failed"})


@dataclass(frozen=True, slots=True)
class ProgressSnapshot:
    """The state of the node at `wall_ns`. `waits`: UID -> what a pod waits for."""

    pods: tuple[Pod, ...]
    pulls: tuple[PullInProgress, ...]
    problems: tuple[SourceProblem, ...]
    report: SystemReport
    wall_ns: int
    waits: Mapping[str, tuple[PodWait, ...]] = field(default_factory=dict)


def look_at(node: NodeAgent, wall_ns: int, others: Sequence[Pod] = ()) -> ProgressSnapshot:
    """Read the state of the node. Without a list of pods yet, it shows none.

    `others`: pods that no node took.
    """
    pods = (*(node.pods_if_known() or ()), *others)
    stories = {pod.metadata.uid: node.story(pod.metadata.uid) for pod in pods if not has_arrived(pod)}
    waits = {uid: story.waits for uid, story in stories.items() if story is not None}
    return ProgressSnapshot(pods, node.pulls(), node.problems(), node.report(), wall_ns, waits)


@dataclass(frozen=True, slots=True)
class ClusterProgress:
    """`arrived`: every wanted pod is ready or has succeeded, and there is no problem.

    `settled`: waiting changes nothing.

    `reasons` has a line for each thing that keeps `arrived` from being true.
    """

    arrived: bool
    settled: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The content of the manifests.

    `pods`: UID -> namespace/name. `refusals`: the errors of pods that cannot run.
    """

    pods: Mapping[str, str]
    refusals: tuple[str, ...] = ()


def progress(look: ProgressSnapshot, described: Wanted) -> ClusterProgress:
    wanted = described.pods
    seen = {pod.metadata.uid: pod for pod in look.pods}
    late = tuple(pod for uid in wanted if (pod := seen.get(uid)) is not None and not has_arrived(pod))
    reasons = [f"{name}: not taken up yet" for uid, name in wanted.items() if uid not in seen]
    reasons += [f"{pod.metadata.namespace}/{pod.metadata.name}: {_reason(look, pod)}" for pod in late]
    problems = [str(problem) for problem in look.problems if problem.fatal] or list(described.refusals)
    if not wanted and not problems:
        problems = ["the manifests describe no pod"]
    phases = {pod.status.phase if pod.status else None for uid, pod in seen.items() if uid in wanted}
    unready = any(pod.status is not None and pod.status.phase == "Running" for pod in late)
    settled = not wanted.keys() - seen.keys() and phases <= _AT_END and not unready
    return ClusterProgress(not reasons and not problems, settled, (*reasons, *problems))


def _reason(look: ProgressSnapshot, pod: Pod) -> str:
    """Why the pod is not ready. If its status has no message, also what it waits for."""
    told, word = trouble(pod), status_word(pod)
    waits = look.waits.get(pod.metadata.uid, ()) if told == word else ()
    return ": ".join((told, "; ".join(map(_waits_for, waits)))) if waits else told


def verdict_lines(look: ProgressSnapshot) -> Iterator[str]:
    """A line for each part of a pod that does not run: `default/web: container app: it ended ...`."""
    for pod in look.pods:
        if not has_arrived(pod):
            waits = look.waits.get(pod.metadata.uid, ())
            clues = Clues(next_try=next_tries(waits), volumes=volumes_error(waits))
            for verdict in verdicts_of(pod, look.wall_ns, clues):
                yield f"{pod.metadata.namespace}/{pod.metadata.name}: {verdict.whole}"


def _waits_for(wait: PodWait) -> str:
    return wait_words(wait) if wait.subject == THE_POD else f"{wait.subject}: {wait_words(wait)}"


def as_document(look: ProgressSnapshot, outcome: ClusterProgress) -> dict[str, Any]:
    """The document that `--output json` prints, one per line."""
    return {
        "arrived": outcome.arrived,
        "reasons": list(outcome.reasons),
        "pods": [msgspec.to_builtins(pod_line(pod, look.wall_ns)) for pod in look.pods],
        "pulls": [msgspec.to_builtins(pull) for pull in look.pulls],
        "problems": [str(problem) for problem in look.problems],
        "actors": len(look.report.actors),
        "restarts": sum(actor.restarts for actor in look.report.actors),
    }
