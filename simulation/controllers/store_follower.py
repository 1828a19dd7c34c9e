"""The base of controllers beside the server: they follow the store, and call it like any client."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from actors.kernel.dispatcher import Dispatcher
from simulation.apiserver.requests.answers import JsonAnswer
from simulation.apiserver.requests.bodies import JSON
from simulation.apiserver.requests.calls import ApiRequest, ApiUser
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import Json
from simulation.apiserver.store.selection import EVERYTHING
from simulation.apiserver.store.store import Sink, Watcher

LOG = logging.getLogger("actorlet.controllers")


class StoreFollower:
    """Follows collections of the store from the beginning.

    `sinks` maps the key of each collection to the receiver of its changes.

    A cut watch leaves a gap, so everything is read again; `forget` is called before. It begins with `start` and ends
    with `stop`; both may be called from any thread. Receivers are called under the lock of the server.
    """

    def __init__(
        self,
        server: ApiServer,
        clock: Dispatcher,
        sinks: Mapping[str, Sink],
        forget: Callable[[], object] = lambda: None,
    ) -> None:
        self._server = server
        self._clock = clock
        self._sinks = sinks
        self._forget = forget
        self._watchers: list[Watcher] = []
        self.life = 0
        """Counts the beginnings and the ends: what was planned in an earlier life is not done."""

    def start(self) -> None:
        with self._server.lock:
            self.stop()
            life = self.life
            self._forget()
            self._watchers = [self._server.store.watch(key, "", EVERYTHING, None) for key in self._sinks]
            for watcher, sink in zip(self._watchers, self._sinks.values(), strict=True):
                watcher.start(sink, lambda _: self._begin_again_soon(life))

    def stop(self) -> None:
        with self._server.lock:
            self.life += 1
            for watcher in self._watchers:
                watcher.end()

    def _begin_again_soon(self, life: int) -> None:
        self._clock.schedule(0, lambda: self._begin_again(life))

    def _begin_again(self, life: int) -> None:
        with self._server.lock:
            if life == self.life:
                self.start()


def ask(
    server: ApiServer, user: ApiUser, method: str, path: str, body: Json | None = None, content_type: str = JSON
) -> str:
    """Call the server; return its refusal, or "" on success. The user `system:NAME` is the program NAME."""
    program = user.name.rpartition(":")[2]
    asked = ApiRequest(method, path, (), b"" if body is None else body, content_type, user, user_agent=program)
    answer = server.handle(asked)
    if not isinstance(answer, JsonAnswer) or answer.code < 400:
        return ""
    LOG.debug("%s %s: %s", method, path, answer)
    return str(answer.value.get("message"))
