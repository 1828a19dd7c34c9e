"""The observer's view of a node, part by part: `runtime.http_server.observer.ObserverView`.

    node              name, version, time of the look, late actors
    condition/TYPE    of the Node object
    actor/PATH        one actor: state, mailbox, restarts, last failure, slowest handler
    lane/NAME         one lane: calls that run, wait and hang, and of whom
    pod/UID           one pod, as `actorlet pods` shows it
    numa/N, share/UID who has CPUs and memory alone (`cli.run.observer_shares`)
    problem/N         what the sources cannot use

The bytes of an unchanged part stay the same. So a part shows times of day and no ages; the page computes ages from
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from actors.kernel import LaneReport
from actors.kernel.inspection import ActorInfo
from actors.node.node import NodeAgent
from cli.inspect.explanation import stamp
from cli.inspect.local_views import explanation
from cli.inspect.pod_choice import NoSuchPodError
from cli.run.observer_shares import NUMA, SHARE, share_parts
from config.objects import Pod, PodStatus
from config.pods.identity import source_of
from config.pods.words import FROM_MEMORY, has_arrived, pod_line, trouble

NOTICEABLE_NS = 1_000_000_000
"""Shorter waits are left out: they are over at the next look."""
MILLISECOND_NS = 1_000_000
SHOWN_KEYS = 20
"""Of each lane: those that have the next turns, or whose calls hang."""
POD = "pod/"
NOTHING: Mapping[str, bytes] = {}


def look(node: NodeAgent, version: str, before: Mapping[str, bytes] = NOTHING) -> Mapping[str, bytes]:
    """All parts that the observer page shows: name -> JSON.

    While the node does not know its pods yet, the pods of the look `before` are shown again. So it is with shares.
    """
    wall_ns = node.wall_ns()
    report = node.report()
    late = [each.path for each in node.late_actors()]
    parts: dict[str, Any] = {
        "node": {
            "name": node.plan.facts.name,
            "version": version,
            "late": late,
            "deadLetters": report.dead_letters,
            "stuck": len(report.stuck),
        }
    }
    for verdict in node.conditions():
        parts[f"condition/{verdict.type}"] = verdict
    for actor in report.actors:
        parts[f"actor/{actor.path or '/'}"] = _actor(actor, wall_ns, actor.path in late)
    for lane in report.lanes:
        parts[f"lane/{lane.name}"] = _lane(lane)
    pods, island = node.pods_if_known(), node.island()
    for pod in pods or ():
        is_remembered = island is not None and pod.metadata.uid in island.uids
        parts[f"{POD}{pod.metadata.uid}"] = _pod(pod, wall_ns, is_remembered)
    for number, problem in enumerate(node.problems()):
        parts[f"problem/{number}"] = {"text": str(problem), "fatal": problem.fatal, "source": problem.source}
    shares = node.shares()
    parts |= share_parts(shares) if shares is not None else {}
    found = {key: msgspec.json.encode(part) for key, part in parts.items()}
    unknown = (*((POD,) if pods is None else ()), *((NUMA, SHARE) if shares is None else ()))
    if unknown:
        found |= {key: part for key, part in before.items() if key.startswith(unknown)}
    return found


def timeline(node: NodeAgent, uid: str) -> bytes | None:
    """The history that `actorlet explain` shows of that pod, without the long search of a refusal."""
    try:
        return msgspec.json.encode(explanation(node, uid, with_refusal=False))
    except NoSuchPodError:
        return None


def _actor(actor: ActorInfo, wall_ns: int, late: bool) -> Mapping[str, Any]:
    return {
        "class": actor.actor_class,
        "state": actor.state,
        "late": late,
        "mailbox": actor.mailbox_depth,
        "oldest": _since(wall_ns, actor.oldest_age_ns),
        "dropped": actor.mailbox_dropped,
        "handled": actor.handled,
        "restarts": actor.restarts,
        "slowest": actor.slowest_handler,
        "slowestMs": round(actor.slowest_ns / MILLISECOND_NS, 1),
        "failure": actor.last_failure,
        "waitingFor": actor.waiting_for if actor.handling_for_ns >= NOTICEABLE_NS else "",
        "handlingSince": _since(wall_ns, actor.handling_for_ns),
    }


def _lane(lane: LaneReport) -> Mapping[str, Any]:
    troubled = [key for key in lane.keys if key.waiting or key.hanging]
    return {
        "running": lane.running,
        "waiting": lane.waiting,
        "hanging": lane.hanging,
        "size": lane.size,
        "perKey": lane.per_key,
        "threads": lane.threads,
        "full": lane.exhausted,
        "lost": [{"key": key, "call": call} for key, call, _ in lane.written_off],
        "keys": troubled[:SHOWN_KEYS],
        "moreKeys": len(troubled[SHOWN_KEYS:]),
    }


def _since(wall_ns: int, age_ns: int) -> str:
    """When it began, to the second; empty while it is young."""
    if age_ns < NOTICEABLE_NS:
        return ""
    return stamp((wall_ns - age_ns) // NOTICEABLE_NS * NOTICEABLE_NS)


def _pod(pod: Pod, wall_ns: int, is_remembered: bool) -> Mapping[str, Any]:
    line = pod_line(pod, wall_ns)
    status = pod.status or PodStatus()
    arrived = has_arrived(pod)
    return {
        "namespace": line.namespace,
        "name": line.name,
        "ready": line.ready,
        "status": f"{line.status} {FROM_MEMORY}" if is_remembered else line.status,
        "restarts": int(line.restarts.partition(" ")[0] or 0),
        "since": status.start_time or "",
        "ip": line.ip,
        "source": source_of(pod) or "",
        "well": arrived and line.status in ("Running", "Completed", "Succeeded"),
        "why": "" if arrived else trouble(pod),
    }
