"""Manifests that a test applies to a real API server.

The server says which kinds it serves, so custom resources are known.
"""

from __future__ import annotations

import msgspec

from runtime.io.event_loop import leave_to_others
from simulation.apiserver.requests.bodies import APPLY
from simulation.cluster.applied import FIRST, QUERY, Json, no_such_kind, objects_in
from simulation.cluster.orders import OrderError
from simulation.planes.remote import Remote, RemoteError

LOOKS = 300
"""How often the kind of a definition in the same manifests is looked for, in tenths of a second."""


async def apply(remote: Remote, path: str, namespace: str) -> list[str]:
    """Apply what a file or a folder has; returns `deployment.apps/web` of each. Raises OrderError."""
    applied, faults = [], []
    defined = False
    for place, value in objects_in(path):
        try:
            applied.append(await _apply(remote, value, namespace, looks=LOOKS if defined else 1))
        except (OrderError, RemoteError) as error:
            faults.append(f"{place}: {error}")
        defined = defined or value["kind"] in FIRST
    if faults:
        raise OrderError("\n".join(faults))
    return applied


async def _apply(remote: Remote, value: Json, namespace: str, *, looks: int) -> str:
    """Raises OrderError, RemoteError."""
    group, _, version = value["apiVersion"].rpartition("/")
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    resource = await _resource(remote, root, value["kind"])
    while resource is None:
        looks -= 1
        if looks <= 0:
            raise OrderError(no_such_kind(value))
        await leave_to_others(0.1)
        resource = await _resource(remote, root, value["kind"])
    metadata = value.get("metadata") or {}
    where = f"/namespaces/{metadata.get('namespace') or namespace}" if resource["namespaced"] else ""
    path, name = f"{root}{where}/{resource['name']}", metadata.get("name", "")
    text = msgspec.json.encode(value)
    if name:
        await remote.ask("PATCH", f"{path}/{name}", text, query=QUERY, content_type=APPLY)
    else:
        await remote.ask("POST", path, text, query=QUERY[2:])
    singular = resource.get("singularName") or value["kind"].lower()
    return f"{singular}{'.' if group else ''}{group}/{name}"


async def _resource(remote: Remote, root: str, kind: str) -> Json | None:
    """The resource of that kind, as discovery has it."""
    try:
        found = await remote.ask("GET", root)
    except RemoteError as error:
        if error.code == 404:
            return None
        raise
    return next((one for one in found["resources"] if one["kind"] == kind and "/" not in one["name"]), None)
