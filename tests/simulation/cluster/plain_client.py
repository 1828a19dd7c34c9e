"""The API of a cluster as plain JSON over HTTP: what any client does, without one."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

PATIENCE_S = 120.0
PODS = "/api/v1/namespaces/default/pods"

Json = dict[str, Any]


class PlainClient:
    """Of the server at that URL."""

    def __init__(self, url: str) -> None:
        self._url = url

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            found: Json = json.load(answer)
        return found

    def create_pod(self, name: str, **spec: Any) -> Json:
        container = {"name": "app", "image": "registry.example/app:1", **spec.pop("container", {})}
        return self.ask("POST", PODS, {"metadata": {"name": name}, "spec": {"containers": [container], **spec}})

    def pod(self, name: str) -> Json:
        return self.ask("GET", f"{PODS}/{name}")

    def pods(self) -> dict[str, Json]:
        """Name -> pod."""
        return {pod["metadata"]["name"]: pod for pod in self.ask("GET", PODS)["items"]}

    def delete_pod(self, name: str) -> None:
        self.ask("DELETE", f"{PODS}/{name}")

    def phase(self, name: str) -> str:
        return str(self.pod(name)["status"].get("phase", ""))

    def is_ready(self, name: str) -> bool:
        return condition(self.pod(name), "Ready") == "True"

    def restarts(self, name: str) -> int:
        return int(self.pod(name)["status"]["containerStatuses"][0]["restartCount"])

    def node_is_ready(self, name: str) -> str:
        return condition(self.ask("GET", f"/api/v1/nodes/{name}"), "Ready")


def condition(value: Json, kind: str) -> str:
    """Its status; empty when there is none."""
    conditions = value.get("status", {}).get("conditions", [])
    return next((each["status"] for each in conditions if each["type"] == kind), "")
