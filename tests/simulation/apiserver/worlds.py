"""A server on virtual time, and a client of it."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.kernel import SimulatedDispatcher
from simulation.apiserver.core import Options
from simulation.apiserver.requests.answers import Answer, WatchAnswer
from simulation.apiserver.requests.bodies import JSON
from simulation.apiserver.requests.calls import ADMIN, ApiRequest, ApiUser
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store.store import Version

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
SECOND_NS = 10**9
PODS = "/api/v1/namespaces/default/pods"


class Asked:
    """The answer to one request, as a client reads it."""

    def __init__(self, answer: Answer) -> None:
        assert not isinstance(answer, WatchAnswer)
        self.answer = answer
        self.code = answer.code

    @property
    def value(self) -> Any:
        return msgspec.json.decode(self.answer.body())  # type: ignore[union-attr]  # tests know what they asked

    @property
    def warnings(self) -> tuple[str, ...]:
        return getattr(self.answer, "warnings", ())

    @property
    def message(self) -> str:
        return str(self.value["message"])


class Watched:
    """What a watch has told so far: (type, name, object)."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self.ends: list[Any] = []

    def take(self, kind: str, version: Version) -> None:
        self.events.append((kind, msgspec.json.decode(version.body())))

    @property
    def told(self) -> list[str]:
        return [f"{kind} {value['metadata'].get('name', '')}".strip() for kind, value in self.events]


class Server:
    """`ask` makes one request; `world.run_for` lets time pass."""

    def __init__(self, options: Options | None = None, user: ApiUser = ADMIN) -> None:
        self.world = SimulatedDispatcher(1)
        self.server = ApiServer(self.world, options)
        self.user = user

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = JSON,
        user: ApiUser | None = None,
        user_agent: str = "",
        **query: str,
    ) -> Asked:
        data = b"" if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        pairs = tuple((name.rstrip("_"), value) for name, value in query.items())
        asked = ApiRequest(method, path, pairs, data, content_type, user or self.user, user_agent=user_agent)
        return Asked(self.server.handle(asked))

    def get(self, path: str, **query: str) -> Asked:
        return self.ask("GET", path, None, content_type=JSON, user=None, **query)

    def watch(self, path: str, **query: str) -> Watched:
        pairs = (("watch", "true"), *query.items())
        answer = self.server.handle(ApiRequest("GET", path, pairs, user=self.user))
        assert isinstance(answer, WatchAnswer), answer
        watched = Watched()
        answer.watcher.start(lambda kind, version: watched.take(kind, answer.shape(version)), watched.ends.append)
        return watched

    def make_pod(self, name: str = "web", **more: Any) -> Any:
        answer = self.ask("POST", PODS, pod(name, **more))
        assert answer.code == 201, answer.value
        return answer.value


def typed(item: Any, kind: str, version: str = "v1") -> Any:
    """An item of a list, which says neither its kind nor its version, as the object itself is shown."""
    assert not {"kind", "apiVersion"} & item.keys()
    return {"kind": kind, "apiVersion": version, **item}


def pod(name: str = "web", *, labels: dict[str, str] | None = None, **spec: Any) -> Any:
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}], **spec},
    }
