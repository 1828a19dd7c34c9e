"""Manifests over HTTP: the `ManifestDoor` of a node, for the node's server.

See `runtime.http_server.manifest_door.ManifestDoor`.

A refusal is a Status of the API, with the path and the reason of every fault. An answer to accepted manifests lists
each pod with the name and the UID that it has on the node.
"""

from __future__ import annotations

from typing import Any

import msgspec

from actors.messages.manifests import ManifestChange, ManifestsRefused, ManifestsTaken
from actors.messages.pods import SourceProblem
from actors.node.node import NodeAgent
from runtime.http_server.local_endpoint import Reply

NOBODY = "the node is not ready to take manifests; try again in a while"


class NodeManifests:
    """See the module. `node` None: there is none yet."""

    def __init__(self, node: NodeAgent | None = None) -> None:
        self.node = node

    def take(self, content: bytes) -> Reply:
        answer = None if self.node is None else self.node.take_manifests(content)
        if answer is None or isinstance(answer, ManifestsRefused):
            return _refused(answer)
        created = any(pod.change is ManifestChange.CREATED for pod in answer.pods)
        return _told({"pods": answer.pods}, 201 if created else 200)

    def listed(self) -> Reply:
        held = None if self.node is None else self.node.held_manifests()
        if held is None:
            return _refused(None)
        items = b",".join(each.content for each in held)
        return Reply(b'{"kind":"List","apiVersion":"v1","metadata":{},"items":[' + items + b"]}\n")

    def shown(self, namespace: str, name: str) -> Reply:
        held = None if self.node is None else self.node.held_manifests()
        if held is None:
            return _refused(None)
        found = next((each.content for each in held if (each.namespace, each.name) == (namespace, name)), None)
        return _missing(namespace, name) if found is None else Reply(found + b"\n")

    def withdraw(self, namespace: str, name: str) -> Reply:
        answer = None if self.node is None else self.node.withdraw_manifest(namespace, name)
        if not isinstance(answer, ManifestsTaken):
            return _refused(answer)
        return _told({"pods": answer.pods}, 200) if answer.pods else _missing(namespace, name)


def _refused(answer: ManifestsRefused | None) -> Reply:
    if answer is None:
        return _status(503, "ServiceUnavailable", NOBODY)
    if answer.unable:
        return _status(500, "InternalError", "\n".join(map(str, answer.problems)))
    return _status(422, "Invalid", "\n".join(map(str, answer.problems)), answer.problems)


def _missing(namespace: str, name: str) -> Reply:
    return _status(404, "NotFound", f"no manifest of a pod {namespace}/{name} was handed to this node")


def _status(code: int, reason: str, message: str, problems: tuple[SourceProblem, ...] = ()) -> Reply:
    document: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    if problems:
        causes = [{"field": each.path, "message": each.reason, "reason": "FieldValueInvalid"} for each in problems]
        document["details"] = {"causes": causes}
    return _told(document, code)


def _told(document: object, status: int) -> Reply:
    return Reply(msgspec.json.encode(document) + b"\n", status)
