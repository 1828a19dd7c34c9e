"""The JSON views of a node's local endpoint.

`actorlet pods` and `actorlet actors` read them back here.

`/pods` is a PodList of the API, with the published status of each pod; those from memory are marked (`AGREED`).
`/actors` is the kernel's report. `/events` and `/problems` are lists. `/health` is status 200 or 503 and names the late
actors. `/explain/POD` is an `Explanation`, or status 404 and a sentence. `/what-if` takes a manifest and gives a
`WhatIf`. The status is 503 while the node does not know its pods yet.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from actors.kernel import SystemReport
from actors.messages.history import KnownPod, PodStory
from actors.messages.island import IslandState
from actors.messages.pods import SourceProblem
from actors.node.node import NodeAgent
from cli.inspect.explanation import Explanation, explanation_of, refusal_explained, stamp
from cli.inspect.lane_words import places_of
from cli.inspect.pod_choice import NoSuchPodError, choose, refusals_of
from cli.inspect.what_if import REFUSES, WhatIf, asked, what_if
from config.documents.codec import from_builtins
from config.objects import Pod, PodStatus
from config.pods.verdicts.verdict import LOG_LINES, crashed_containers
from runtime.http_server.endpoints import pod_list
from runtime.http_server.local_endpoint import Inquiry, Question, Reply, View

PODS, ACTORS, EVENTS, PROBLEMS, HEALTH = "/pods", "/actors", "/events", "/problems", "/health"
EXPLAIN = "/explain/"
WHAT_IF = "/what-if"
AGREED = "island.actorlet.dev/agreed"
"""An annotation of shown pods from memory: when the API server agreed last."""
UNKNOWN = "which pods there are is not known now: the agent is beginning, or busy; `actorlet actors` may say with what"
UNREAD_MAX = 3
LOGS_MAX = 3
Others = Callable[[], Sequence[Pod]]
_NOBODY_CAN_SAY = Reply(msgspec.json.encode({"error": UNKNOWN}), 503)


class PodsUnknownError(NoSuchPodError):
    """The pod may exist: the node does not know its pods yet."""


def no_others() -> tuple[Pod, ...]:
    """Of an agent that does not know what no node took."""
    return ()


def views_of(node: NodeAgent, others: Others = no_others) -> Mapping[str, View]:
    """All views of `node` by path. `others`: pods that no node took, which are shown beside its own."""

    def health() -> Reply:
        late = node.late_actors()
        body = msgspec.json.encode({"healthy": not late, "lateActors": late})
        return Reply(body, 503 if late else 200)

    def pods() -> Reply:
        found = node.every_pod()
        return _NOBODY_CAN_SAY if found is None else Reply(pod_list((*marked(found, node.island()), *others())))

    return {
        PODS: pods,
        ACTORS: lambda: Reply(msgspec.json.encode(node.report())),
        EVENTS: lambda: Reply(msgspec.json.encode(node.events())),
        PROBLEMS: lambda: Reply(msgspec.json.encode(node.problems())),
        HEALTH: health,
    }


def questions_of(node: NodeAgent, others: Others = no_others) -> Mapping[str, Question]:
    """The views of `node` that take a name in their path. `others`: as for `views_of`."""

    def explain(wanted: str) -> Reply:
        try:
            return Reply(msgspec.json.encode(explanation(node, wanted, others())))
        except PodsUnknownError:
            return _NOBODY_CAN_SAY
        except NoSuchPodError as error:
            return Reply(msgspec.json.encode({"error": str(error)}), 404)

    return {EXPLAIN: explain}


def inquiries_of(node: NodeAgent) -> Mapping[str, Inquiry]:
    """The views of `node` that take a document."""
    return {WHAT_IF: partial(asked, node)}


def explanation(node: NodeAgent, wanted: str, others: Sequence[Pod] = (), *, with_refusal: bool = True) -> Explanation:
    """Explain the pod that `wanted` names, of the node or of the others.

    `with_refusal`: say what excluded a refused pod, and who would have had to go. That may take some seconds.

    Raises NoSuchPodError, or its subclass PodsUnknownError.
    """
    found = node.every_pod()
    pods = {pod.metadata.uid: pod for pod in (*others, *(found or ()))}
    known = {pod.uid: pod for pod in node.known_pods()}
    for uid, each in pods.items():
        # A pod without history exists all the same.
        known.setdefault(uid, KnownPod(uid, each.metadata.namespace, each.metadata.name, gone=False))
    problems = node.problems()
    refusals = refusals_of(wanted, problems, node.plan.facts.name)
    try:
        chosen = choose(wanted, tuple(known.values()), node.plan.facts.name)
    except NoSuchPodError as nobody:
        if refusals:
            return refusal_explained(wanted, refusals, node.wall_ns())
        if found is None:
            raise PodsUnknownError(UNKNOWN) from None
        raise NoSuchPodError(f"{nobody}{_unread(problems)}{_unremembered(node.island())}") from None
    story = node.story(chosen.uid) or PodStory(chosen.uid, chosen.namespace, chosen.name, "", 0, (), 0, ())
    doing = node.worker_waits_for(chosen.uid)
    lanes = tuple(places_of(chosen.uid, node.lanes()))
    pod = pods.get(chosen.uid)
    logs = {} if pod is None else _logs_of(node, pod)
    refusal = _refusal_of(node, pod) if with_refusal and pod is not None else None
    island = node.island()
    agreed_ns = island.agreed_wall_ns if island is not None and chosen.uid in island.uids else 0
    return explanation_of(story, pod, doing, node.wall_ns(), tuple(map(str, refusals)), lanes, logs, refusal, agreed_ns)


def _refusal_of(node: NodeAgent, pod: Pod) -> tuple[WhatIf, int] | None:
    """What excluded a pod that admission refused, and when (wall ns).

    None also for a refusal that `--what-if` does not foresee.
    """
    if (pod.status or PodStatus()).phase != "Failed":
        return None
    refusal = node.refusal(pod.metadata.uid)
    told = what_if(pod, refusal.node) if refusal is not None else None
    return None if refusal is None or told is None or told.verdict != REFUSES else (told, refusal.wall_ns)


def _logs_of(node: NodeAgent, pod: Pod) -> dict[str, tuple[str, ...]]:
    """What the first containers that have ended said last."""
    crashed = itertools.islice(crashed_containers(pod), LOGS_MAX)
    return {each.name: node.end_of_log(pod, each, LOG_LINES) for each in crashed}


def _unread(problems: Sequence[SourceProblem]) -> str:
    """Manifests that may describe the pod, and cannot be read."""
    unread = sorted({problem.origin for problem in problems if problem.fatal and not problem.pods})
    return f"; which pods {', '.join(unread[:UNREAD_MAX])} describes cannot be read" if unread else ""


def _unremembered(island: IslandState | None) -> str:
    """Why an island node starts nothing from memory."""
    if island is None or not island.refusal:
        return ""
    return f"; the API server is away, and nothing is started from memory: {island.refusal}"


def marked(pods: Sequence[Pod], island: IslandState | None) -> Iterator[Pod]:
    """The pods; those that are desired from memory have the annotation `AGREED`."""
    for pod in pods:
        meta = pod.metadata
        if island is not None and meta.uid in island.uids:
            annotations = {**meta.annotations, AGREED: stamp(island.agreed_wall_ns)}
            pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(meta, annotations=annotations))
        yield pod


def pods_in(document: bytes) -> tuple[Pod, ...]:
    """The pods of a `/pods` document. Raises ValueError for any other document."""
    tree = msgspec.json.decode(document)
    if not isinstance(tree, dict) or not isinstance(tree.get("items"), list):
        raise ValueError("the answer is not a PodList")
    return tuple(from_builtins(item, Pod) for item in tree["items"])


def report_in(document: bytes) -> SystemReport:
    """The report of an `/actors` document. Raises msgspec.ValidationError for any other document."""
    return msgspec.json.decode(document, type=SystemReport)
