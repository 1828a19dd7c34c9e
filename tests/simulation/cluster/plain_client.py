"""The API of a cluster as plain JSON over HTTP: what any client does, without one."""

from __future__ import annotations

import json
import ssl
import urllib.request
from typing import Any

from actorlet.testing import Cluster

PATIENCE_S = 120.0
PODS = "/api/v1/namespaces/default/pods"

Json = dict[str, Any]


def trusting(found: Cluster) -> ssl.SSLContext | None:
    """For requests to the server of a cluster, whose authority nobody else knows."""
    path = found.certificate_authority
    return ssl.create_default_context(cafile=path) if path else None


class PlainClient:
    """Of the server of that cluster."""

    def __init__(self, found: Cluster) -> None:
        self._url = found.url
        self._trust = trusting(found)

    def ask(self, method: str, path: str, body: Json | None = None) -> Json:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE_S, context=self._trust) as answer:
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
