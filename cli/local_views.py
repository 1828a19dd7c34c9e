"""What a node shows at its local endpoint, as JSON; and how `actorlet pods` and `actorlet actors` read it back.

`/pods` is a PodList of the API, with the published status of each pod. `/actors` is the kernel's report; `/events`
and `/problems` are lists; `/health` is status 200 or 503 and names the actors that are late.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.kernel import SystemReport
from actors.node import Node
from config.codec import encode, from_builtins
from config.objects import Pod
from runtime.local_endpoint import Reply, View

PODS, ACTORS, EVENTS, PROBLEMS, HEALTH = "/pods", "/actors", "/events", "/problems", "/health"


def views_of(node: Node) -> Mapping[str, View]:
    """Everything there is to see of `node`."""

    def health() -> Reply:
        late = node.late_actors()
        body = msgspec.json.encode({"healthy": not late, "lateActors": late})
        return Reply(body, 503 if late else 200)

    return {
        PODS: lambda: Reply(pods_document(node.pods())),
        ACTORS: lambda: Reply(msgspec.json.encode(node.report())),
        EVENTS: lambda: Reply(msgspec.json.encode(node.events())),
        PROBLEMS: lambda: Reply(msgspec.json.encode(node.problems())),
        HEALTH: health,
    }


def pods_document(pods: tuple[Pod, ...]) -> bytes:
    """A PodList with every field of the pods, known here or not."""
    items = b",".join(map(encode, pods))
    return b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[' + items + b"]}"


def pods_in(document: bytes) -> tuple[Pod, ...]:
    """The pods of a `/pods` document. Raises ValueError when it is none."""
    tree = msgspec.json.decode(document)
    if not isinstance(tree, dict) or not isinstance(tree.get("items"), list):
        raise ValueError("the answer is no PodList")
    return tuple(from_builtins(item, Pod) for item in tree["items"])


def report_in(document: bytes) -> SystemReport:
    """The report of an `/actors` document. Raises msgspec.ValidationError when it is none."""
    return msgspec.json.decode(document, type=SystemReport)
