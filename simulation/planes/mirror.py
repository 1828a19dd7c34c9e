"""A copy of what the kit must know of a real API server, and the way of the kit's own changes to it.

The copy is an embedded API server that no client reaches. It follows some collections (`FOLLOWED`). What the kit asks
of it (the scheduler's bindings, taints, loads) changes the copy at once, so that the next decision knows of it. The
same request then goes to the real server. When that refuses, the collection is read again. So is each whose watch ends.
All runs on the one loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from actors.kernel.dispatcher import Dispatcher
from runtime.io.event_loop import leave_to_others
from simulation.apiserver.core import Options
from simulation.apiserver.requests.answers import Answer, JsonAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.planes.remote import Json, Remote, RemoteError

LOG = logging.getLogger("actorlet.cluster")

FOLLOWED: Mapping[str, tuple[str, str, str]] = {
    "namespaces": ("/api/v1/namespaces", "v1", "Namespace"),
    "nodes": ("/api/v1/nodes", "v1", "Node"),
    "pods": ("/api/v1/pods", "v1", "Pod"),
    "events": ("/api/v1/events", "v1", "Event"),
    "leases.coordination.k8s.io": ("/apis/coordination.k8s.io/v1/leases", "coordination.k8s.io/v1", "Lease"),
}
"""By key of the store: path, version and kind."""
FOR_DRIVERS: Mapping[str, tuple[str, str, str]] = {
    f"{plural}.resource.k8s.io": (f"/apis/resource.k8s.io/v1/{plural}", "resource.k8s.io/v1", kind)
    for plural, kind in (("resourceslices", "ResourceSlice"), ("resourceclaims", "ResourceClaim"))
}
"""What simulated DRA drivers need besides. A server before 1.34 does not have it."""
AGAIN_AFTER_S = 1.0
_Named = tuple[str, str, str]


class Mirror(ApiServer):
    """See the module. `begin` once `remote` answers, `end` before it is closed. `followed`: as `FOLLOWED`."""

    def __init__(
        self,
        clock: Dispatcher,
        options: Options,
        remote: Remote,
        followed: Mapping[str, tuple[str, str, str]] = FOLLOWED,
    ) -> None:
        super().__init__(clock, options)
        self._remote = remote
        self._followed = followed
        self._versions: dict[_Named, str] = {}
        """The resourceVersion that the real server has given each object."""
        self._sending: asyncio.Queue[ApiRequest] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Read all there is; then follow it. Raises RemoteError."""
        versions = [await self._read(key) for key in self._followed]
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._follow(key, version)) for key, version in zip(self._followed, versions, strict=True)
        ]
        self._tasks.append(loop.create_task(self._send()))

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def handle(self, request: ApiRequest) -> Answer:
        answer = super().handle(request)
        if request.method != "GET" and not (isinstance(answer, JsonAnswer) and answer.code >= 400):
            self._sending.put_nowait(request)
        return answer

    # --- from the real server -----------------------------------------------------------------------------------------

    async def _follow(self, key: str, version: str) -> None:
        path, _, _ = self._followed[key]
        while True:
            with suppress(RemoteError):
                async for kind, value in self._remote.changes(path, version):
                    self._take(key, kind, value)
            while True:
                await leave_to_others(AGAIN_AFTER_S)
                with suppress(RemoteError):
                    version = await self._read(key)
                    break

    async def _read(self, key: str) -> str:
        """Read a collection again; returns its version. Raises RemoteError."""
        path, api_version, kind = self._followed[key]
        listed = await self._remote.ask("GET", path)
        with self.lock:
            gone = dict.fromkeys(version.key for version in self.store.of[key].all())
            for value in listed.get("items") or ():
                self._put(key, {"apiVersion": api_version, "kind": kind, **value})
                gone.pop(_key_of(value), None)
            for namespace, name in gone:
                self._remove(key, namespace, name)
        return str(listed["metadata"]["resourceVersion"])

    def _take(self, key: str, kind: str, value: Json) -> None:
        with self.lock:
            if kind in ("ADDED", "MODIFIED"):
                self._put(key, value)
            elif kind == "DELETED":
                self._remove(key, *_key_of(value))

    def _put(self, key: str, value: Json) -> None:
        namespace, name = _key_of(value)
        old = self.store.get(key, namespace, name)
        if old is not None and old.uid != value["metadata"]["uid"]:
            # Another object of the same name, or the real one after the kit's own.
            self._remove(key, namespace, name)
        self._versions[key, namespace, name] = value["metadata"]["resourceVersion"]
        self.store.put(key, value)

    def _remove(self, key: str, namespace: str, name: str) -> None:
        self._versions.pop((key, namespace, name), None)
        with suppress(KeyError):
            self.store.remove(key, namespace, name)

    # --- to the real server -------------------------------------------------------------------------------------------

    async def _send(self) -> None:
        while True:
            request = await self._sending.get()
            key, namespace, name = named_in(request.path)
            try:
                body = self._with_real_version((key, namespace, name), request)
                await self._remote.ask(
                    request.method, request.path, body, query=request.query, content_type=request.content_type
                )
            except RemoteError as error:
                LOG.debug("%s %s: %s", request.method, request.path, error)
                if key in self._followed:
                    asyncio.get_running_loop().call_later(AGAIN_AFTER_S, self._read_soon, key)

    def _read_soon(self, key: str) -> None:
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(asyncio.get_running_loop().create_task(self._read_again(key)))

    async def _read_again(self, key: str) -> None:
        with suppress(RemoteError):
            await self._read(key)

    def _with_real_version(self, named: _Named, request: ApiRequest) -> Json | bytes:
        """The body of a request. The version in it is that of the copy."""
        body = request.body
        if not isinstance(body, dict) or "resourceVersion" not in (body.get("metadata") or {}):
            return body
        metadata: dict[str, Any] = dict(body["metadata"])
        known = self._versions.get(named)
        metadata.pop("resourceVersion")
        return {**body, "metadata": {**metadata, "resourceVersion": known} if known else metadata}


def _key_of(value: Json) -> tuple[str, str]:
    metadata = value["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def named_in(path: str) -> _Named:
    """Key of the collection, namespace and name of the object that a request is about. Pure."""
    _, api, *parts = path.split("/")
    group = parts.pop(0) if api == "apis" else ""
    parts = [*parts[1:], ""]  # without the version
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 3:
        _, namespace, *parts = parts
    return f"{parts[0]}.{group}" if group else parts[0], namespace, parts[1]
