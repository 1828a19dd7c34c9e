"""A real API server as the kit itself asks it: in JSON, and as admin. Used on the one loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from config.credentials.kubeconfig import ApiAccess, ClusterAccess, Pem, UserAccess
from runtime.api.connections import NO_ANSWER, ApiConnections
from runtime.api.watch_stream import LineSplitter
from simulation.apiserver.front.tls import Certificate
from simulation.apiserver.requests.bodies import JSON

USER_AGENT = "actorlet"

Json = dict[str, Any]
Query = tuple[tuple[str, str], ...]


class RemoteError(Exception):
    """The server refuses, or does not answer (code 0)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def access_of(url: str, authority: str, shown: Certificate) -> ApiAccess:
    """The access of who shows that certificate. `authority`: the PEM text of the server's."""
    user = UserAccess(client_certificate=Pem(data=shown.certificate), client_key=Pem(data=shown.key))
    return ApiAccess(ClusterAccess(url, Pem(data=authority)), user)


class Remote:
    """See the module."""

    def __init__(self, access: ApiAccess) -> None:
        self._connections = ApiConnections(access, USER_AGENT, environment={})

    async def ask(
        self, method: str, path: str, body: Json | bytes = b"", *, query: Query = (), content_type: str = JSON
    ) -> Json:
        """The answer to a request. Raises RemoteError."""
        text = body if isinstance(body, bytes) else msgspec.json.encode(body)
        try:
            async with self._connections.send(method, path, query, text or None, content_type) as response:
                status, answer = response.status, await response.read()
        except NO_ANSWER as error:
            raise RemoteError(0, str(error) or "no answer") from None
        value = _value(answer)
        if status >= 400:
            raise RemoteError(status, str(value.get("message") or answer.decode(errors="replace")))
        return value

    async def changes(self, path: str, version: str) -> AsyncIterator[tuple[str, Json]]:
        """Each change of a collection after that version: its type and the object. Raises RemoteError."""
        query = (("watch", "true"), ("resourceVersion", version))
        lines = LineSplitter()
        try:
            async with self._connections.send("GET", path, query) as response:
                if response.status != 200:
                    raise RemoteError(response.status, "the watch is refused")
                while piece := await response.piece():
                    for line in lines.feed(piece):
                        event = _value(line)
                        yield event["type"], event["object"]
        except NO_ANSWER as error:
            raise RemoteError(0, str(error) or "the watch is cut") from None

    async def close(self) -> None:
        await self._connections.close()


def _value(text: bytes) -> Json:
    """A JSON object; empty for anything else, such as `ok`."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
