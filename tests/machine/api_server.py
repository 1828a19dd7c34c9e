"""An API server inside a machine, asked from outside.

A machine has no network. So the server listens on the machine's loopback, and each request is an order. It is the
embedded one, and forgets all at a reboot.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.machine.inside.control_plane import NODE
from tests.machine.machine import Machine
from tests.machine.plane import PROGRAM, SERVED_BY
from tests.real.waiting import pass_by

KUBECONFIG = "/etc/kubernetes/kubelet.conf"
JOINED = f"--kubeconfig={KUBECONFIG}"
"""The flag of a node that joins it."""
LOOK_EVERY_S = 2.0
LIMIT_S = 900.0
"""For what pods on a busy machine do. Nothing is judged by it."""
_ASK = """
import json, ssl, sys
from urllib.request import Request, urlopen
from urllib.error import HTTPError

method, path, kind, body = json.load(open(sys.argv[1]))
sent = Request("https://127.0.0.1:6443" + path, method=method, data=None if body is None else json.dumps(body).encode())
sent.add_header("Content-Type", kind)
sent.add_header("Authorization", "Bearer " + open("/run/admin.token").read().strip())
try:
    answer = urlopen(sent, context=ssl._create_unverified_context(), timeout=120)
    print(json.dumps([answer.status, json.loads(answer.read() or b"null")]))
except HTTPError as refused:
    print(json.dumps([refused.code, refused.read().decode()]))
"""
_UNIT = """[Unit]
Description=An API server of tests

[Service]
{service}
Restart=always
RestartSec=1
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
"""


class RefusedError(AssertionError):
    """The server refused a request; the text has its answer."""


class EmbeddedServer:
    """See the module."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._asked = 0

    def begin(self) -> None:
        """Serve, and have a kubeconfig for the node at `KUBECONFIG`."""
        self.machine.put(PROGRAM, SERVED_BY.read_bytes())
        service = (
            f"ExecStart=/opt/prepared/bin/python {PROGRAM} /run/plane\n"
            "ExecStartPost=/bin/sh -c 'until test -s /run/plane/url; do sleep 0.2; done; "
            f"mkdir -p /etc/kubernetes; cp /run/plane/node.conf {KUBECONFIG}; "
            'awk "/token:/ {print \\\\$2}" /run/plane/admin.conf > /run/admin.token\''
        )
        self.machine.put("/etc/systemd/system/api-server.service", _UNIT.format(service=service))
        self.machine.put("/opt/ask.py", _ASK)
        self.machine.run("systemctl daemon-reload; systemctl enable --now api-server")

    def ask(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, kind: str = "application/json"
    ) -> dict[str, Any]:
        """The answer's document. Raises `RefusedError` with the answer of a refusal."""
        self._asked += 1
        held = self.machine.shared / f"asked-{self._asked}.json"
        held.write_text(json.dumps([method, path, kind, body]))
        status, answer = json.loads(self.machine.run(f"python3 /opt/ask.py /host/{held.name}"))
        held.unlink()
        if status >= 300:
            raise RefusedError(f"{method} {path}: {status}: {answer}")
        found: dict[str, Any] = answer
        return found

    # --- pods, in the namespace `default`

    def run(self, *pods: dict[str, Any]) -> None:
        """Create pods that are bound to the node."""
        for pod in pods:
            spec = {"nodeName": NODE, **pod["spec"]}
            document = {**pod, "metadata": {**pod["metadata"], "namespace": "default"}, "spec": spec}
            self.ask("POST", "/api/v1/namespaces/default/pods", document)

    def pod(self, name: str) -> dict[str, Any]:
        return self.ask("GET", f"/api/v1/namespaces/default/pods/{name}")

    def pods(self) -> dict[str, dict[str, Any]]:
        """All of them, by name."""
        items = self.ask("GET", "/api/v1/namespaces/default/pods")["items"]
        return {each["metadata"]["name"]: each for each in items}

    def await_that(self, holds: Callable[[], object], what: str, limit_s: float = LIMIT_S) -> None:
        """Look until it holds."""
        end = time.monotonic() + limit_s
        while not holds():
            if time.monotonic() > end:
                said = {name: each.get("status") for name, each in self.pods().items()}
                raise AssertionError(f"not within {limit_s:g} s: {what}; pods: {json.dumps(said)[-3000:]}")
            pass_by(LOOK_EVERY_S)

    def await_running(self, *names: str) -> None:
        """Return once these pods are Ready."""

        def ready() -> bool:
            found = self.pods()
            failed = [name for name in names if found.get(name, {}).get("status", {}).get("phase") == "Failed"]
            assert not failed, {name: found[name]["status"] for name in failed}
            return all(name in found and condition(found[name], "Ready") == "True" for name in names)

        self.await_that(ready, f"{names} are Ready")

    def await_phase(self, phase: str, *names: str) -> None:
        """Return once these pods are in that phase."""

        def there() -> bool:
            found = self.pods()
            return all(name in found and found[name].get("status", {}).get("phase") == phase for name in names)

        self.await_that(there, f"{names} are {phase}")

    def node(self) -> dict[str, Any]:
        """Its document; empty before it has registered."""
        items = self.ask("GET", "/api/v1/nodes")["items"]
        return next((each for each in items if each["metadata"]["name"] == NODE), {})

    def events(self, name: str) -> list[dict[str, Any]]:
        """Those about an object of this name, in any namespace."""
        items = self.ask("GET", "/api/v1/events")["items"]
        return [each for each in items if each["involvedObject"]["name"] == name]

    def delete(self, *names: str) -> None:
        for name in names:
            self.ask("DELETE", f"/api/v1/namespaces/default/pods/{name}")


def condition(document: dict[str, Any], kind: str) -> str:
    """The status of a condition of a pod or a node; empty without it."""
    found = document.get("status", {}).get("conditions") or []
    return next((str(each["status"]) for each in found if each["type"] == kind), "")
