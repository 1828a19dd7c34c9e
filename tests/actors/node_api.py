"""A very small API server: nodes and leases, kept in memory, answering at once, failing or hanging when told to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from actors.kernel import Promise, broken, kept
from runtime.api import ApiCall, ApiError, WatchCall, WatchEvent


class SmallWatch:
    """A watch of one collection."""

    def __init__(self, api: SmallApi, call: WatchCall[Any], on_event: Callable[..., None], on_end: Any) -> None:
        self.call = call
        self._api = api
        self._on_event = on_event
        self._on_end = on_end

    def say(self, event_type: str, plain: dict[str, Any]) -> None:
        value = self._api.read(self.call.kind, plain)
        self._on_event(WatchEvent(event_type, value, plain["metadata"]["resourceVersion"]))

    def break_off(self) -> None:
        self._api.watches.remove(self)
        self._on_end(ApiError(0, "Unreachable", "the connection broke", self.call.verb))

    def close(self) -> None:
        if self in self._api.watches:
            self._api.watches.remove(self)
            self._on_end(None)


class SmallApi:
    """See the module. `writes` are the calls that changed something; `down`: nobody answers; `hangs`: verbs ("patch")
    whose calls are never answered; `refuses`: verbs that are forbidden.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.calls: list[ApiCall[Any]] = []
        self.writes: list[ApiCall[Any]] = []
        self.watches: list[SmallWatch] = []
        self.down = False
        self.hangs: set[str] = set()
        self.hung: list[Promise[Any]] = []
        self.refuses: set[str] = set()
        self._version = 0
        self._uids = 0

    # --- what a person does -----------------------------------------------------------------------------------------

    def put(self, path: str, plain: dict[str, Any]) -> None:
        """Write an object as somebody else would."""
        new = path not in self.objects
        self._store(path, plain)
        self._tell(path, "ADDED" if new else "MODIFIED")

    def delete(self, path: str) -> None:
        """Delete an object as somebody else would."""
        self._version += 1
        self.objects[path]["metadata"]["resourceVersion"] = str(self._version)
        self._tell(path, "DELETED")
        del self.objects[path]

    def cut(self) -> None:
        """Nobody answers any more, and every watch breaks."""
        self.down = True
        for watch in list(self.watches):
            watch.break_off()

    # --- `Api` ------------------------------------------------------------------------------------------------------

    def call(self, call: ApiCall[Any], *, timeout_ns: int | None = None) -> Promise[Any]:
        self.calls.append(call)
        if call.verb.split()[0] in self.hangs:
            self.hung.append(Promise())
            return self.hung[-1]
        try:
            return kept(call.read(json.dumps(self._answer(call)).encode()))
        except ApiError as failure:
            return broken(failure)

    def watch(self, call: WatchCall[Any], on_event: Callable[..., None], on_end: Callable[..., None]) -> SmallWatch:
        watch = SmallWatch(self, call, on_event, on_end)
        if self.down:
            on_end(ApiError(0, "Unreachable", "connection refused", call.verb))
        else:
            self.watches.append(watch)
        return watch

    @staticmethod
    def read(kind: Any, plain: dict[str, Any]) -> Any:
        from config.codec import decode

        return decode(json.dumps(plain).encode(), kind)

    def _answer(self, call: ApiCall[Any]) -> dict[str, Any]:
        if self.down:
            raise ApiError(0, "Unreachable", "connection refused", call.verb)
        if call.verb.split()[0] in self.refuses:
            raise ApiError(403, "Forbidden", "not allowed", call.verb)
        path = call.path.removesuffix("/status")
        body = json.loads(call.body) if call.body else {}
        if call.verb.startswith("list"):
            items = [value for key, value in self.objects.items() if key.startswith(f"{path}/")]
            return {"items": items, "metadata": {"resourceVersion": str(self._version)}}
        if call.method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                raise ApiError(409, "AlreadyExists", "already exists", call.verb)
            self._store(path, body)
            self._tell(path, "ADDED")
        elif path not in self.objects:
            raise ApiError(404, "NotFound", "not found", call.verb)
        elif call.method == "PUT":
            if body["metadata"].get("resourceVersion") != self.objects[path]["metadata"]["resourceVersion"]:
                raise ApiError(409, "Conflict", "the object has been modified", call.verb)
            self._store(path, body)
        elif call.method == "PATCH":
            self._store(path, merged(self.objects[path], body))
            self._tell(path, "MODIFIED")
        if call.method != "GET":
            self.writes.append(call)
        return self.objects[path]

    def _store(self, path: str, plain: dict[str, Any]) -> None:
        self._version += 1
        metadata = {**plain["metadata"], "resourceVersion": str(self._version)}
        if "uid" not in metadata:
            self._uids += 1
            metadata["uid"] = f"uid-{self._uids}"
        self.objects[path] = {**plain, "metadata": metadata}

    def _tell(self, path: str, event_type: str) -> None:
        for watch in list(self.watches):
            if path.startswith(f"{watch.call.path}/"):
                watch.say(event_type, self.objects[path])


def merged(old: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A strategic merge as far as nodes need it: conditions by type, lists that say so replaced, null takes away."""
    new = dict(old)
    for name, value in patch.items():
        if value is None:
            new.pop(name, None)
        elif isinstance(value, dict):
            new[name] = merged(old.get(name, {}), value)
        elif name == "conditions":
            by_type = {condition["type"]: condition for condition in old.get(name, [])}
            new[name] = list(
                {**by_type, **{one["type"]: {**by_type.get(one["type"], {}), **one} for one in value}}.values()
            )
        elif isinstance(value, list):
            new[name] = [item for item in value if not (isinstance(item, dict) and "$patch" in item)]
        else:
            new[name] = value
    return new
