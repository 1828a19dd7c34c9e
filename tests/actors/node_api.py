"""The simulated API server for the actors of one node.

It records calls, and tests make it fail.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from actors.kernel import Dispatcher, Promise, broken
from runtime.api import ApiCall, ApiError, WatchCall
from runtime.io.pending import PendingAnswer, Subscription
from simulation.apiserver.front.in_process import InProcessApi
from simulation.apiserver.requests.answers import NodeAnswer, WatchAnswer
from simulation.apiserver.requests.calls import ADMIN, ApiRequest, ApiUser
from simulation.apiserver.server import ApiServer
from simulation.chance.call_faults import Faults


class NodeApi:
    """See the module.

    `calls` are all that were made, `writes` those that came through and changed something.

    `hangs`: verbs ("patch") whose calls are never answered, and kept in `hung`; `refuses`: verbs that are forbidden.
    """

    def __init__(
        self, dispatcher: Dispatcher, server: ApiServer, user: ApiUser = ADMIN, faults: Faults | None = None
    ) -> None:
        self.server = server
        self.front = InProcessApi(dispatcher, server, user=user, faults=faults)
        self.calls: list[ApiCall[Any]] = []
        self.writes: list[ApiCall[Any]] = []
        self.hangs: set[str] = set()
        self.hung: list[Promise[Any]] = []
        self.refuses: set[str] = set()

    # --- what a person does, and sees -------------------------------------------------------------------------------

    def shown(self, path: str) -> dict[str, Any]:
        """The object as the server has it."""
        return self._admin("GET", path)

    def put(self, path: str, plain: dict[str, Any]) -> None:
        """Create the object, or replace it together with its status."""
        collection, _, _ = path.rpartition("/")
        try:
            known = self.shown(path)
        except ApiError:
            api_version = "/".join(path.split("/")[2:4]) if path.startswith("/apis/") else "v1"
            kind = {"nodes": "Node", "leases": "Lease"}[collection.rpartition("/")[2]]
            self._admin("POST", collection, {"apiVersion": api_version, "kind": kind, **plain})
            return
        metadata = {**plain["metadata"], "resourceVersion": known["metadata"]["resourceVersion"]}
        made = self._admin("PUT", path, {**plain, "metadata": metadata})
        if "status" in plain:
            self._admin("PUT", f"{path}/status", {**made, "status": plain["status"]})

    def delete(self, path: str) -> None:
        """Delete the object."""
        self._admin("DELETE", path)

    def go_down(self) -> None:
        """Nobody answers any more, and every watch breaks."""
        self.front.go_down()

    def come_back(self) -> None:
        """The server can be reached again."""
        self.front.come_back()

    def made(self, verb: str) -> int:
        """How many calls had a verb that begins with this text."""
        return len([call for call in self.calls if call.verb.startswith(verb)])

    # --- `Api` ------------------------------------------------------------------------------------------------------

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> PendingAnswer[Any]:
        self.calls.append(call)
        word = call.verb.split()[0]
        if word in self.hangs:
            self.hung.append(Promise())
            return self.hung[-1]
        if word in self.refuses:
            return broken(ApiError(403, "Forbidden", "not allowed", call.verb))
        answer = self.front.call(call, timeout_ns=timeout_ns)

        def note(done: Promise[Any]) -> None:
            if call.method != "GET" and done.exception() is None:
                self.writes.append(call)

        answer.add_done_callback(note)
        return answer

    def watch(self, call: WatchCall[Any], on_event: Callable[..., None], on_end: Callable[..., None]) -> Subscription:
        return self.front.watch(call, on_event, on_end)

    def _admin(self, method: str, path: str, plain: dict[str, Any] | None = None) -> dict[str, Any]:
        body = b"" if plain is None else json.dumps(plain).encode()
        answer = self.server.handle(ApiRequest(method, path, body=body))
        assert not isinstance(answer, WatchAnswer | NodeAnswer)
        value: dict[str, Any] = json.loads(answer.body())
        if answer.code >= 400:
            raise ApiError(answer.code, value["reason"], value["message"], f"{method} {path}")
        return value
